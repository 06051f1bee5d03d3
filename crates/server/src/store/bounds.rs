//! How much a tenant may store. Everything that has such a limit is a line of [`BOUNDS`].
//!
//! Bounds are checked under the tenant's lock, under which a count cannot grow.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Row as _};
use switchhook_core::id::TenantId;

use super::{Conn, on, run};

/// A kind of resource whose number is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Agents.
    Agents,
    /// Connections.
    Connections,
    /// Numbers.
    Numbers,
    /// Webhook endpoints.
    Webhooks,
    /// People and invitations.
    People,
    /// API keys that are not revoked.
    ApiKeys,
    /// Bytes of the versions of all agents, those of deleted agents among them as long as calls keep them.
    AgentBytes,
}

/// A limit of what a tenant stores.
#[derive(Debug)]
pub struct Bound {
    /// The kind of resource.
    pub of: Stored,
    /// Its name, in the API and in `tenants.stored_limits`.
    pub name: &'static str,
    /// The limit of tenants without their own.
    pub default: i64,
    /// The option of `switchhook tenant set`.
    pub option: &'static str,
    /// The help of the option.
    pub help: &'static str,
    /// The field of a request that is refused.
    pub field: &'static str,
    /// Why it is refused.
    pub refusal: &'static str,
    /// The tenant's remedy.
    pub remedy: &'static str,
    count: &'static str,
}

/// The limits, in the order of [`Stored`].
pub const BOUNDS: [Bound; 7] = [
    Bound {
        of: Stored::Agents,
        name: "agents",
        default: 500,
        option: "max-agents",
        help: "Agents",
        field: "name",
        refusal: "cannot be created: agent limit reached",
        remedy: "Delete one first",
        count: "SELECT COUNT(*) FROM agents WHERE tenant_id = $1",
    },
    Bound {
        of: Stored::Connections,
        name: "connections",
        default: 200,
        option: "max-connections",
        help: "Connections",
        field: "name",
        refusal: "cannot be created: connection limit reached",
        remedy: "Delete one first",
        count: "SELECT COUNT(*) FROM connections WHERE tenant_id = $1",
    },
    Bound {
        of: Stored::Numbers,
        name: "numbers",
        default: 1_000,
        option: "max-numbers",
        help: "Phone numbers",
        field: "number",
        refusal: "cannot be added: number limit reached",
        remedy: "Delete one first",
        count: "SELECT COUNT(*) FROM numbers WHERE tenant_id = $1",
    },
    Bound {
        of: Stored::Webhooks,
        name: "webhooks",
        default: 20,
        option: "max-webhooks",
        help: "Webhook endpoints",
        field: "url",
        refusal: "cannot be registered: endpoint limit reached",
        remedy: "Delete one first",
        count: "SELECT COUNT(*) FROM webhooks WHERE tenant_id = $1",
    },
    Bound {
        of: Stored::People,
        name: "people",
        default: 200,
        option: "max-people",
        help: "People and invitations",
        field: "email",
        refusal: "cannot be invited: limit of people and invitations reached",
        remedy: "Remove somebody first",
        count: "SELECT COUNT(*) FROM people WHERE tenant_id = $1",
    },
    Bound {
        of: Stored::ApiKeys,
        name: "api_keys",
        default: 500,
        option: "max-api-keys",
        help: "API keys that are not revoked",
        field: "name",
        refusal: "cannot be created: limit of API keys reached",
        remedy: "Revoke one first",
        count: "SELECT COUNT(*) FROM api_keys WHERE tenant_id = $1 AND revoked_at IS NULL",
    },
    Bound {
        of: Stored::AgentBytes,
        name: "agent_bytes",
        default: 256 << 20,
        option: "max-agent-bytes",
        help: "Bytes of the versions of all agents",
        field: "instructions",
        refusal: "cannot be stored: limit of bytes of agent versions reached",
        remedy: "Make agents smaller, or delete some",
        count: "SELECT agent_bytes FROM tenants WHERE id = $1",
    },
];

/// The limits that an operator has set for a tenant, by name.
pub type OwnBounds = BTreeMap<String, i64>;

impl Stored {
    /// Returns its line of [`BOUNDS`].
    #[must_use]
    pub fn bound(self) -> &'static Bound {
        &BOUNDS[self as usize]
    }
}

/// Counts what a tenant has of something.
///
/// # Errors
/// When the database fails.
pub async fn in_use(conn: &mut Conn, tenant: TenantId, of: Stored) -> Result<i64, sqlx::Error> {
    run!(conn, query_scalar.fetch_one, of.bound().count; tenant.uuid())
}

/// Counts what a tenant has of everything, in the order of [`BOUNDS`].
///
/// # Errors
/// When the database fails.
pub async fn all_in_use(conn: &mut Conn, tenant: TenantId) -> Result<[i64; BOUNDS.len()], sqlx::Error> {
    let counts = BOUNDS.each_ref().map(|bound| format!("({})", bound.count)).join(", ");
    let sql = format!("SELECT {counts}");
    on!(conn, |c| {
        let row = sqlx::query(AssertSqlSafe(sql)).bind(tenant.uuid()).fetch_one(c).await?;
        let mut counts = [0; BOUNDS.len()];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = row.try_get(at)?;
        }
        Ok(counts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_bounded_has_its_own_line() {
        for (at, bound) in BOUNDS.iter().enumerate() {
            assert_eq!((bound.of as usize, bound.of.bound().name), (at, bound.name));
        }
    }
}
