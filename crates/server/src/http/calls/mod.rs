//! `/v1/calls`: place, list, get and end calls.

mod command;
mod create;
mod decisions;
mod deliveries;
mod dtmf;
mod events;
pub(super) mod followers;
mod hangup;
mod list;
mod listen;
pub(crate) mod recording;
mod resource;
mod say;
mod show;
mod simulate;
mod transcript;
mod transfer;

pub use followers::Followers;
pub(super) use list::{MAX_METADATA_FILTERS, Phone};
pub use resource::CallResource;
pub(super) use resource::CarrierName;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::HttpState;

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(create::create, list::list))
        .routes(routes!(show::show))
        .routes(routes!(hangup::hangup))
        .routes(routes!(say::say))
        .routes(routes!(dtmf::dtmf))
        .routes(routes!(transfer::transfer))
        .routes(routes!(transcript::transcript))
        .routes(routes!(transcript::stream_transcript))
        .routes(routes!(decisions::decisions))
        .routes(routes!(events::events))
        .routes(routes!(events::stream_events))
        .routes(routes!(deliveries::list))
        .routes(routes!(recording::recording))
        .routes(routes!(listen::listen))
        .routes(routes!(simulate::inbound))
}
