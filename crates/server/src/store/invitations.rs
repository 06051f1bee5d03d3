//! Invitations to a tenant: rows of `people` without an identity. Only the hash of a link's token is stored.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::sign_in::{EXPIRED_INVITATION_KEPT, INVITATION_WINDOW, Invitation, Invitations};
use uuid::Uuid;

use super::people::PersonRow;
use super::{Conn, Tx, execute, run};

/// The SHA-256 of a link's token.
pub type InvitationHash = [u8; 32];

/// An open invitation with its tenant and who made it. It has no `Debug`, which would print personal data.
#[derive(FromRow)]
pub struct InvitationRow {
    id: Uuid,
    tenant_id: Uuid,
    /// The tenant's name.
    pub tenant_name: String,
    email: Option<String>,
    /// The role that it gives.
    pub role: String,
    expires_at: Option<i64>,
    /// The name of who made it.
    pub inviter_name: Option<String>,
    /// The address of who made it, if the identity provider has verified it.
    pub inviter_email: Option<String>,
}

impl InvitationRow {
    /// Returns the row that becomes the person's.
    #[must_use]
    pub fn person(&self) -> PersonId {
        PersonId::from_uuid(self.id)
    }

    /// Returns the tenant.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }

    /// Returns when it ends.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(self.expires_at.unwrap_or_default())
    }

    /// Returns what an answer depends on.
    #[must_use]
    pub fn terms(&self) -> Invitation<'_> {
        Invitation { email: self.email.as_deref().unwrap_or_default(), expires_at: self.expires_at() }
    }
}

/// Returns the invitation with this hash to an active tenant, expired or not.
///
/// # Errors
/// When the database fails.
pub async fn find_for_answer(conn: &mut Conn, hash: &InvitationHash) -> Result<Option<InvitationRow>, sqlx::Error> {
    const SQL: &str = "SELECT p.id, p.tenant_id, t.name AS tenant_name, p.email, p.role, p.expires_at, \
        i.name AS inviter_name, CASE WHEN i.email_verified THEN i.email END AS inviter_email \
        FROM people p JOIN tenants t ON t.id = p.tenant_id \
        LEFT JOIN people i ON i.id = p.invited_by AND i.tenant_id = p.tenant_id \
        WHERE p.invitation = $1 AND t.active = TRUE";
    run!(conn, query_as.fetch_optional, SQL; hash.as_slice())
}

/// Gives an invitation the identity, address and name of a person. Returns whether it was still open.
///
/// # Errors
/// When the database fails; a duplicate if the person belongs to the tenant already.
pub async fn accept_for_sign_in(tx: &mut Tx, hash: &InvitationHash, person: &PersonRow) -> Result<bool, sqlx::Error> {
    const SQL: &str = "UPDATE people SET issuer = $2, subject = $3, email = $4, email_verified = $5, name = $6, \
        invitation = NULL, expires_at = NULL WHERE invitation = $1 AND issuer IS NULL";
    let PersonRow { issuer, subject, email, email_verified, name, .. } = person;
    let done = execute!(tx, SQL; hash.as_slice(), issuer, subject, email, email_verified, name)?;
    Ok(done > 0)
}

/// Deletes the invitation with this hash. Returns whether it was open.
///
/// # Errors
/// When the database fails.
pub async fn decline_for_sign_in(tx: &mut Tx, hash: &InvitationHash) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM people WHERE invitation = $1 AND issuer IS NULL";
    let done = execute!(tx, SQL; hash.as_slice())?;
    Ok(done > 0)
}

/// Deletes a tenant's invitation of this address.
///
/// # Errors
/// When the database fails.
pub async fn end_of_address(tx: &mut Tx, tenant: TenantId, email: &str) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM people WHERE tenant_id = $1 AND email = $2 AND issuer IS NULL";
    execute!(tx, SQL; tenant.uuid(), email).map(drop)
}

/// Counts a tenant's invitations.
///
/// # Errors
/// When the database fails.
pub async fn count(conn: &mut Conn, tenant: TenantId, now: Timestamp) -> Result<Invitations, sqlx::Error> {
    const OPEN: &str = "SELECT COUNT(*) FROM people WHERE tenant_id = $1 AND issuer IS NULL AND expires_at > $2";
    const MADE: &str = "SELECT COUNT(*), MIN(made_at) FROM made_invitations WHERE tenant_id = $1 AND made_at > $2";
    let open: i64 = run!(conn, query_scalar.fetch_one, OPEN; tenant.uuid(), now.as_micros())?;
    let since = (now - INVITATION_WINDOW).as_micros();
    let (made, oldest): (i64, Option<i64>) = run!(conn, query_as.fetch_one, MADE; tenant.uuid(), since)?;
    Ok(Invitations { open, made, oldest_made_at: oldest.map(Timestamp::from_micros) })
}

/// Records an invitation by a tenant, and deletes the records of more than an hour ago.
///
/// # Errors
/// When the database fails.
pub async fn record(tx: &mut Tx, tenant: TenantId, person: PersonId, now: Timestamp) -> Result<(), sqlx::Error> {
    const FORGET: &str = "DELETE FROM made_invitations WHERE tenant_id = $1 AND made_at <= $2";
    const RECORD: &str = "INSERT INTO made_invitations (person_id, tenant_id, made_at) VALUES ($1, $2, $3)";
    execute!(tx, FORGET; tenant.uuid(), (now - INVITATION_WINDOW).as_micros())?;
    execute!(tx, RECORD; person.uuid(), tenant.uuid(), now.as_micros()).map(drop)
}

/// Deletes a batch of invitations that expired long ago. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    // A person who has accepted has no `expires_at`.
    const SQL: &str = "DELETE FROM people WHERE expires_at <= $1 AND id IN \
        (SELECT id FROM people WHERE expires_at <= $1 LIMIT 500)";
    execute!(tx, SQL; (now - EXPIRED_INVITATION_KEPT).as_micros())
}
