//! The resources of a tenant.

use switchhook_core::id::TenantId;

use crate::store::agents::AgentRow;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::page::{Page, PageRequest};
use crate::store::webhooks::WebhookRow;
use crate::store::{Conn, agents, connections, numbers, webhooks};

/// Rows of a page.
const PAGE: i64 = 100;

/// The rows of a tenant.
#[derive(Default)]
pub(super) struct Existing {
    pub(super) connections: Vec<ConnectionRow>,
    pub(super) agents: Vec<AgentRow>,
    pub(super) numbers: Vec<NumberRow>,
    pub(super) webhooks: Vec<WebhookRow>,
}

impl Existing {
    /// Reads them.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) async fn load(conn: &mut Conn, tenant: TenantId) -> Result<Self, sqlx::Error> {
        Ok(Self {
            connections: every(async |page| connections::list(conn, tenant, page).await).await?,
            agents: every(async |page| agents::list(conn, tenant, page).await).await?,
            numbers: every(async |page| numbers::list(conn, tenant, page).await).await?,
            webhooks: every(async |page| webhooks::list(conn, tenant, page).await).await?,
        })
    }
}

async fn every<T>(
    mut list: impl AsyncFnMut(PageRequest) -> Result<Page<T>, sqlx::Error>,
) -> Result<Vec<T>, sqlx::Error> {
    let mut rows = Vec::new();
    let mut request = PageRequest::first(PAGE);
    loop {
        let page = list(request).await?;
        rows.extend(page.rows);
        match page.next {
            None => return Ok(rows),
            next => request.cursor = next,
        }
    }
}
