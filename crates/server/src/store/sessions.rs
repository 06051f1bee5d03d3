//! Sessions of people in the dashboard, and sign-ins that were used. Only hashes of what browsers hold are stored.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::quota::QuotaLimits;
use switchhook_core::sign_in::{IDLE_TIMEOUT, Role, STATE_MAX_AGE, SessionTimes};
use uuid::Uuid;

use super::{Conn, Tx, execute, run, tenants};
use crate::config::Config;

/// Sessions that a person may have at once in a tenant; a sign-in beyond that ends the one that was used least recently.
const KEPT: i64 = 50;

/// The SHA-256 of a session's cookie.
pub type SessionHash = [u8; 32];

/// A session with its person and tenant, to authenticate a request. It has no `Debug`, which would print personal data.
#[derive(Clone, FromRow)]
pub struct SessionRow {
    person_id: Uuid,
    tenant_id: Uuid,
    created_at: i64,
    used_at: i64,
    role: String,
    /// The issuer that vouches for the person's identity.
    pub issuer: Option<String>,
    /// The person's address.
    pub email: Option<String>,
    email_verified: bool,
    /// The person's name.
    pub name: Option<String>,
    /// Whether the tenant is active.
    pub tenant_active: bool,
    rate_per_minute: Option<i64>,
    concurrent_calls: Option<i64>,
    monthly_calls: Option<i64>,
}

impl SessionRow {
    /// Returns the person.
    #[must_use]
    pub fn person(&self) -> PersonId {
        PersonId::from_uuid(self.person_id)
    }

    /// Returns the person's tenant.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }

    /// Returns when it began and was last used.
    #[must_use]
    pub fn times(&self) -> SessionTimes {
        SessionTimes {
            created_at: Timestamp::from_micros(self.created_at),
            used_at: Timestamp::from_micros(self.used_at),
        }
    }

    /// Returns the person's role now. A role of a later version permits only reading.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role.parse().unwrap_or(Role::Viewer)
    }

    /// Returns the address that the identity provider has verified.
    #[must_use]
    pub fn verified_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }

    /// Returns the tenant's limits.
    #[must_use]
    pub fn limits(&self, config: &Config) -> QuotaLimits {
        tenants::limits(config, self.rate_per_minute, self.concurrent_calls, self.monthly_calls)
    }
}

/// Inserts a session that begins `now`.
///
/// # Errors
/// When the database fails.
pub async fn insert(
    tx: &mut Tx,
    tenant: TenantId,
    person: PersonId,
    hash: &SessionHash,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO sessions (hash, tenant_id, person_id, created_at, used_at) VALUES ($1, $2, $3, $4, $4)";
    execute!(tx, SQL; hash.as_slice(), tenant.uuid(), person.uuid(), now.as_micros()).map(drop)
}

/// Returns the session with this hash, of any tenant; it identifies the tenant of a request.
///
/// # Errors
/// When the database fails.
pub async fn find_for_authentication(conn: &mut Conn, hash: &SessionHash) -> Result<Option<SessionRow>, sqlx::Error> {
    const SQL: &str = "SELECT s.person_id, s.tenant_id, s.created_at, s.used_at, p.role, p.issuer, p.email, p.email_verified, p.name, \
        t.active AS tenant_active, t.rate_per_minute, t.concurrent_calls, t.monthly_calls FROM sessions s \
        JOIN people p ON p.id = s.person_id JOIN tenants t ON t.id = s.tenant_id WHERE s.hash = $1";
    run!(conn, query_as.fetch_optional, SQL; hash.as_slice())
}

/// Ends the oldest sessions of a person who has more than [`KEPT`].
///
/// # Errors
/// When the database fails.
pub async fn end_oldest(tx: &mut Tx, person: PersonId) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM sessions WHERE person_id = $1 AND hash NOT IN \
        (SELECT hash FROM sessions WHERE person_id = $1 ORDER BY used_at DESC, hash LIMIT $2)";
    execute!(tx, SQL; person.uuid(), KEPT).map(drop)
}

/// Ends all sessions of an identity.
///
/// # Errors
/// When the database fails.
pub async fn end_of_identity(tx: &mut Tx, issuer: &str, subject: &str) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "DELETE FROM sessions WHERE person_id IN (SELECT id FROM people WHERE issuer = $1 AND subject = $2)";
    execute!(tx, SQL; issuer, subject).map(drop)
}

/// Records that a session was used; never moves the time backwards.
///
/// # Errors
/// When the database fails.
pub async fn touch(tx: &mut Tx, tenant: TenantId, hash: &SessionHash, now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE sessions SET used_at = $3 WHERE hash = $2 AND tenant_id = $1 AND used_at < $3";
    execute!(tx, SQL; tenant.uuid(), hash.as_slice(), now.as_micros()).map(drop)
}

/// Moves a session to another row of its person and gives it a new hash, so that nothing that the old one opened stays open. Its age
/// stays. Returns whether it had not ended.
///
/// # Errors
/// When the database fails; a foreign key violation if that row is gone.
pub async fn move_for_sign_in(
    tx: &mut Tx,
    hash: &SessionHash,
    new: &SessionHash,
    (tenant, person): (TenantId, PersonId),
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    const SQL: &str = "UPDATE sessions SET hash = $2, tenant_id = $3, person_id = $4, used_at = $5 WHERE hash = $1";
    let done = execute!(tx, SQL; hash.as_slice(), new.as_slice(), tenant.uuid(), person.uuid(), now.as_micros())?;
    Ok(done > 0)
}

/// Ends the session with this hash. Knowing the cookie suffices.
///
/// # Errors
/// When the database fails.
pub async fn end_for_sign_in(tx: &mut Tx, hash: &SessionHash) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM sessions WHERE hash = $1";
    execute!(tx, SQL; hash.as_slice()).map(drop)
}

/// Ends a batch of a tenant's sessions. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn end_of_tenant(tx: &mut Tx, tenant: TenantId) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE tenant_id = $1 LIMIT 500)";
    execute!(tx, SQL; tenant.uuid())
}

/// Marks a sign-in as used. Returns whether it was not.
///
/// # Errors
/// When the database fails.
pub async fn use_for_sign_in(tx: &mut Tx, hash: &[u8; 32], now: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str = "INSERT INTO used_sign_ins (hash, used_at) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING";
    let done = execute!(tx, SQL; hash.as_slice(), now.as_micros())?;
    Ok(done > 0)
}

/// Deletes a batch of sessions that have ended, and of used sign-ins whose state has expired. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    // A session past its absolute limit is no longer used, so it becomes idle.
    const SESSIONS: &str = "DELETE FROM sessions WHERE used_at <= $1 AND hash IN \
        (SELECT hash FROM sessions WHERE used_at <= $1 LIMIT 500)";
    const SIGN_INS: &str = "DELETE FROM used_sign_ins WHERE used_at <= $1 AND hash IN \
        (SELECT hash FROM used_sign_ins WHERE used_at <= $1 LIMIT 500)";
    let mut deleted = execute!(tx, SESSIONS; (now - IDLE_TIMEOUT).as_micros())?;
    // A state was begun before it was used, so that it has expired by then.
    deleted += execute!(tx, SIGN_INS; (now - STATE_MAX_AGE).as_micros())?;
    Ok(deleted)
}
