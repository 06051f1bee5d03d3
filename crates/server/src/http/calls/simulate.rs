//! `POST /v1/simulator/inbound`: calls one of the tenant's numbers from the simulated network.

use std::sync::Arc;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use switchhook_carriers::Simulation;
use switchhook_core::id::{AgentId, CallId, ConnectionId};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_runtime::clock;
use utoipa::ToSchema;

use super::create::over_quota;
use super::resource::CallResource;
use crate::calls::incoming::{self, InboundCall, InboundRefusal};
use crate::calls::setup::Setup;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::Body;
use crate::http::response::WithWarnings;
use crate::store::numbers::NumberRow;
use crate::store::{Store, connections, numbers};

/// A call to simulate.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct SimulateCall {
    /// Number of a simulator connection, with an `inbound_agent_id`.
    #[schema(value_type = String, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$")]
    to: PhoneNumber,
    /// Caller's number. Selects the simulated behaviour, as `to` does for outbound calls.
    #[schema(value_type = String, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$")]
    from: PhoneNumber,
}

/// Simulate an inbound call.
///
/// Calls one of the tenant's numbers from the simulated network. Counts towards the concurrent call limit.
#[utoipa::path(
    post, path = "/simulator/inbound", operation_id = "simulate_inbound_call", tag = "Calls", request_body = SimulateCall,
    responses(
        (status = 201, description = "The call has arrived", body = WithWarnings<CallResource>,
            headers(("Location" = String, description = "URL of what was created"))),
        (status = 409, description = "This node accepts no calls: it lacks the role `calls`, or is stopping", body = ErrorBody),
    )
)]
pub(super) async fn inbound(
    state: HttpState,
    tenant: Tenant,
    Body { value: request, warnings }: Body<SimulateCall>,
) -> Result<Response, ApiError> {
    let Some(calls) = state.calls.as_ref().filter(|_| !state.draining.started()) else {
        let detail = "This node accepts no calls: it lacks the role calls, or is stopping.";
        return Err(ApiError::conflict("no_calls_here", detail));
    };
    let (number, agent, carrier) = simulated_number(&calls.setup, &state.store, &tenant, &request.to).await?;
    let call = CallId::new(state.clock.now(), clock::random());
    let inbound = InboundCall {
        id: call,
        carrier_call_id: carrier.ring(call, &request.from),
        provider: number.provider.clone(),
        number,
        from: request.from.reveal().to_owned(),
        agent,
    };
    let accepted = incoming::accept(calls, inbound).await;
    if !matches!(accepted, Ok(Ok(_))) {
        carrier.cancel(call);
    }
    let row = accepted?.map_err(|refused| match refused {
        InboundRefusal::NoAgent => ApiError::invalid_field("to", "its inbound agent no longer exists"),
        InboundRefusal::Quota(exceeded) => over_quota(exceeded),
    })?;
    let location = format!("/v1/calls/{call}");
    let body = Json(WithWarnings { resource: CallResource::from(row), warnings });
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], body).into_response())
}

/// The number, the agent that answers it, and the simulated network that it belongs to.
async fn simulated_number(
    setup: &Setup,
    store: &Store,
    tenant: &Tenant,
    to: &PhoneNumber,
) -> Result<(NumberRow, AgentId, Arc<dyn Simulation>), ApiError> {
    let mut conn = store.read().await?;
    for number in numbers::by_number(&mut conn, tenant.id, to.reveal()).await? {
        let connection = connections::get(&mut conn, tenant.id, ConnectionId::from_uuid(number.connection_id)).await?;
        let carrier = connection.and_then(|connection| setup.carrier_of(&connection).ok());
        let Some(simulation) = carrier.and_then(|carrier| carrier.simulation.clone()) else { continue };
        let no_agent = || ApiError::invalid_field("to", "has no inbound_agent_id, so no agent would answer");
        let agent = number.inbound_agent_id.ok_or_else(no_agent)?;
        return Ok((number, AgentId::from_uuid(agent), simulation));
    }
    Err(ApiError::invalid_field("to", "is not one of your numbers in a simulator connection"))
}
