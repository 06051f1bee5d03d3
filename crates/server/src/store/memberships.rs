//! The tenants of a person: one row of `people` in each, found by the identity.

use sqlx_macros::FromRow;
use switchhook_core::id::{PersonId, TenantId};
use uuid::Uuid;

use super::{Conn, run};

/// A person's membership in an active tenant.
#[derive(Clone, Debug, FromRow)]
pub struct MembershipRow {
    person_id: Uuid,
    tenant_id: Uuid,
    /// The tenant's name.
    pub tenant_name: String,
    /// The person's role there.
    pub role: String,
    /// When the person was last there.
    pub last_seen_at: Option<i64>,
}

impl MembershipRow {
    /// Returns the person in that tenant.
    #[must_use]
    pub fn person(&self) -> PersonId {
        PersonId::from_uuid(self.person_id)
    }

    /// Returns the tenant.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }
}

/// Returns the active tenants of a person's identity, by name; the identity is taken from the row in one of them.
///
/// # Errors
/// When the database fails.
pub async fn list_for_sign_in(
    conn: &mut Conn,
    tenant: TenantId,
    person: PersonId,
) -> Result<Vec<MembershipRow>, sqlx::Error> {
    const SQL: &str = "SELECT p.id AS person_id, p.tenant_id, t.name AS tenant_name, p.role, p.last_seen_at FROM people me \
        JOIN people p ON p.issuer = me.issuer AND p.subject = me.subject JOIN tenants t ON t.id = p.tenant_id \
        WHERE me.tenant_id = $1 AND me.id = $2 AND t.active = TRUE ORDER BY t.name, t.id";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), person.uuid())
}
