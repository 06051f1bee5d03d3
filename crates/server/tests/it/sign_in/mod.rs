//! The dashboard's sign-in, as browsers meet it.

mod browser;
mod first;
mod floods;
mod listening;
mod local;
mod nodes;
mod pages;
mod people;
mod refusals;
mod sessions;
mod viewers;

use switchhook::config::Config;
use switchhook::store::tenants;
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use self::browser::Browser;
use crate::doubles::oidc::Oidc;
use crate::harness::TestService;

/// When clocks that are moved by hand begin.
fn morning() -> Clock {
    Clock::manual(Timestamp::parse("2026-11-21T09:00:00Z").expect("a date"))
}

/// A service whose people sign in at a provider of its own.
async fn with_provider(clock: Clock, change: impl FnOnce(&mut Config)) -> (TestService, Oidc) {
    let oidc = Oidc::start(&clock).await;
    let settings = oidc.settings();
    let service = TestService::start_as(clock, |config| {
        config.oidc = Some(settings);
        change(config);
    })
    .await;
    (service, oidc)
}

fn browser(service: &TestService) -> Browser {
    Browser::new(&service.client.base)
}

/// The names of all tenants, without that of the test itself.
async fn tenant_names(service: &TestService) -> Vec<String> {
    let mut conn = service.store().read().await.expect("a connection");
    let rows = tenants::list_for_operator(&mut conn).await.expect("tenants");
    rows.into_iter().map(|row| row.name).filter(|name| name != "test").collect()
}
