//! Loads what single tenants may reach beyond the configured exemptions.

use std::time::Duration;

use switchhook_net::outbound::Exemptions;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::store::{Store, tenants};

/// Poll interval of exemptions.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Loads `exemptions` from the database.
///
/// # Errors
/// When the database fails; the exemptions stay unchanged.
pub async fn load(exemptions: &Exemptions, store: &Store) -> Result<(), sqlx::Error> {
    let rows = tenants::exemptions_for_node(&mut store.read().await?).await?;
    // Written only by the operator's command, which validates them.
    let parsed = rows.into_iter().filter_map(|(tenant, text)| Some((tenant, text.parse().ok()?)));
    exemptions.replace(parsed.collect());
    Ok(())
}

/// Reloads `exemptions` every few seconds until `stop`.
pub async fn follow(exemptions: Exemptions, store: Store, stop: CancellationToken) {
    let mut looks = tokio::time::interval(POLL_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = load(&exemptions, &store).await {
            tracing::warn!(%error, "could not load the outbound exemptions of tenants; retrying");
        }
    }
}
