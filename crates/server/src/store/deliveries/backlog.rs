//! Endpoints that fail, and what waits for them.

use sqlx_macros::FromRow;
use switchhook_core::id::{TenantId, WebhookId};
use uuid::Uuid;

use crate::store::{Conn, run};

/// Deliveries that are counted.
pub const MOST: i64 = 1_000;

/// An endpoint that fails, or that the service disabled because it did.
#[derive(FromRow)]
pub struct Failing {
    /// Its id.
    pub id: Uuid,
    /// Its URL.
    pub url: String,
    /// Why the service disabled it.
    pub disabled_reason: Option<String>,
    /// The first failure since the last success.
    pub failing_since: Option<i64>,
    /// When it was last changed.
    pub updated_at: i64,
}

/// Returns the endpoints of a tenant that fail.
///
/// # Errors
/// When the database fails.
pub async fn failing(conn: &mut Conn, tenant: TenantId, limit: i64) -> Result<Vec<Failing>, sqlx::Error> {
    const SQL: &str = "SELECT id, url, disabled_reason, failing_since, updated_at FROM webhooks \
        WHERE tenant_id = $1 AND ((enabled = TRUE AND failing_since IS NOT NULL) OR disabled_reason IS NOT NULL) \
        ORDER BY id LIMIT $2";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), limit)
}

/// Counts the deliveries that wait for an endpoint, up to [`MOST`].
///
/// # Errors
/// When the database fails.
pub async fn waiting(conn: &mut Conn, tenant: TenantId, webhook: WebhookId) -> Result<i64, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT COUNT(*) FROM (SELECT 1 FROM deliveries WHERE webhook_id = $1 AND tenant_id = $2 AND ",
        open!(),
        " LIMIT $3) AS waiting"
    );
    run!(conn, query_scalar.fetch_one, SQL; webhook.uuid(), tenant.uuid(), MOST)
}

/// The outcome of a failed attempt.
#[derive(FromRow)]
pub struct FailedAttempt {
    /// The HTTP status of the response.
    pub status: Option<i64>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Returns the outcome of an attempt at the delivery that is tried again next.
///
/// # Errors
/// When the database fails.
pub async fn last_failure(
    conn: &mut Conn,
    tenant: TenantId,
    webhook: WebhookId,
) -> Result<Option<FailedAttempt>, sqlx::Error> {
    const SQL: &str = "SELECT status, error FROM delivery_attempts WHERE delivery_id = (SELECT id FROM deliveries \
        WHERE webhook_id = $1 AND tenant_id = $2 AND state = 'pending' AND attempts > 0 ORDER BY next_attempt_at, id LIMIT 1) \
        ORDER BY number DESC LIMIT 1";
    run!(conn, query_as.fetch_optional, SQL; webhook.uuid(), tenant.uuid())
}
