//! People who sign in to the dashboard, and those who are invited. A person who belongs to several tenants has a row in each.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::sign_in::Role;
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Tx, columns, execute, run};

/// A row of `people`. It has no `Debug`, which would print personal data.
#[derive(Clone, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct PersonRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub issuer: Option<String>,
    pub subject: Option<String>,
    pub email: Option<String>,
    pub email_verified: bool,
    pub name: Option<String>,
    pub role: String,
    pub created_at: i64,
    pub last_seen_at: Option<i64>,
    pub home: bool,
    pub invitation: Option<Vec<u8>>,
    pub invited_by: Option<Uuid>,
    pub expires_at: Option<i64>,
}

impl PersonRow {
    /// Creates the row of a person who is invited to a tenant, without a link.
    #[must_use]
    pub fn invited(id: PersonId, tenant: TenantId, email: String, role: Role, now: Timestamp) -> Self {
        Self {
            id: id.uuid(),
            tenant_id: tenant.uuid(),
            issuer: None,
            subject: None,
            email: Some(email),
            email_verified: false,
            name: None,
            role: role.as_str().to_owned(),
            created_at: now.as_micros(),
            last_seen_at: None,
            home: false,
            invitation: None,
            invited_by: None,
            expires_at: None,
        }
    }

    /// Returns its id.
    #[must_use]
    pub fn person(&self) -> PersonId {
        PersonId::from_uuid(self.id)
    }

    /// Returns its tenant.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }

    /// Returns whether the person belongs to the tenant, and is not only invited.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.issuer.is_some()
    }

    /// Returns the address that others may take for the person's: one that the identity provider has verified, or that was invited.
    #[must_use]
    pub fn known_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified || !self.is_active())
    }

    /// Returns whether the person is an owner who can act as one.
    #[must_use]
    pub fn is_active_owner(&self) -> bool {
        self.is_active() && self.role == Role::Owner.as_str()
    }
}

/// Returns the person with this identity in the tenant where they were last, an active one if there is any: a sign-in leads there.
///
/// # Errors
/// When the database fails.
pub async fn find_for_sign_in(conn: &mut Conn, issuer: &str, subject: &str) -> Result<Option<PersonRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(people),
        " FROM people WHERE issuer = $1 AND subject = $2 \
        ORDER BY (SELECT active FROM tenants WHERE tenants.id = people.tenant_id) DESC, COALESCE(last_seen_at, 0) DESC, \
        home, id DESC LIMIT 1"
    );
    run!(conn, query_as.fetch_optional, SQL; issuer, subject)
}

/// Inserts a person unless the same identity belongs to the tenant, or has signed in for the first time in between. Returns whether it did.
///
/// # Errors
/// When the database fails.
pub async fn insert(tx: &mut Tx, row: &PersonRow) -> Result<bool, sqlx::Error> {
    const SQL: &str = "INSERT INTO people (id, tenant_id, issuer, subject, email, email_verified, name, role, created_at, \
        last_seen_at, home, invitation, invited_by, expires_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING";
    let done = execute!(tx, SQL;
        row.id, row.tenant_id, &row.issuer, &row.subject, &row.email, row.email_verified, &row.name, &row.role,
        row.created_at, row.last_seen_at, row.home, &row.invitation, row.invited_by, row.expires_at
    )?;
    Ok(done > 0)
}

/// An address as the identity provider has it.
#[derive(Clone, Copy)]
pub struct ProvidedEmail<'a> {
    /// The address.
    pub address: &'a str,
    /// Whether the provider has verified it.
    pub verified: bool,
}

/// Takes over what the identity provider says now, in all tenants of an identity. What it does not say stays, and so does a verified
/// address where it has another, unverified one.
///
/// # Errors
/// When the database fails.
pub async fn update_for_sign_in(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
    email: Option<ProvidedEmail<'_>>,
    name: Option<&str>,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE people SET \
        email = CASE WHEN $4 OR NOT email_verified THEN COALESCE($3, email) ELSE email END, \
        email_verified = CASE WHEN $4 THEN TRUE WHEN email = $3 THEN FALSE ELSE email_verified END, name = COALESCE($5, name) WHERE issuer = $1 AND subject = $2";
    let verified = email.is_some_and(|email| email.verified);
    let address = email.map(|email| email.address);
    execute!(tx, SQL; issuer, subject, address, verified, name).map(drop)
}

/// Records that a person was here; never moves the time backwards.
///
/// # Errors
/// When the database fails.
pub async fn saw(tx: &mut Tx, tenant: TenantId, id: PersonId, now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE people SET last_seen_at = $3 \
        WHERE tenant_id = $1 AND id = $2 AND (last_seen_at IS NULL OR last_seen_at < $3)";
    execute!(tx, SQL; tenant.uuid(), id.uuid(), now.as_micros()).map(drop)
}

/// Returns a page of a tenant's people, newest first.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<PersonRow>, sqlx::Error> {
    const SQL: &str =
        concat!("SELECT ", columns!(people), " FROM people WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &PersonRow| row.id))
}

/// Returns a person.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: PersonId) -> Result<Option<PersonRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(people), " FROM people WHERE tenant_id = $1 AND id = $2");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns whether a person who belongs to the tenant has this address, verified. Invitations do not count.
///
/// # Errors
/// When the database fails.
pub async fn has_email(conn: &mut Conn, tenant: TenantId, email: &str) -> Result<bool, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM people WHERE tenant_id = $1 AND email = $2 AND email_verified = TRUE";
    let found: i64 = run!(conn, query_scalar.fetch_one, SQL; tenant.uuid(), email)?;
    Ok(found > 0)
}

/// Returns whether the tenant would be left without an owner if the person ceased to be one. The answer holds under the tenant's lock.
///
/// # Errors
/// When the database fails.
pub async fn is_last_owner(conn: &mut Conn, person: &PersonRow) -> Result<bool, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM people WHERE tenant_id = $1 AND role = 'owner' AND issuer IS NOT NULL";
    if !person.is_active_owner() {
        return Ok(false);
    }
    let owners: i64 = run!(conn, query_scalar.fetch_one, SQL; person.tenant_id)?;
    Ok(owners == 1)
}

/// Changes a person's role. The open invitations of one who is no longer an owner end.
///
/// # Errors
/// When the database fails.
pub async fn set_role(tx: &mut Tx, tenant: TenantId, id: PersonId, role: Role) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE people SET role = $3 WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid(), role.as_str())?;
    if role != Role::Owner {
        end_invitations_by(tx, tenant, id).await?;
    }
    Ok(())
}

/// Deletes a person with their sessions and the open invitations that they made.
///
/// # Errors
/// When the database fails.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: PersonId) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM people WHERE tenant_id = $1 AND id = $2";
    end_invitations_by(tx, tenant, id).await?;
    execute!(tx, SQL; tenant.uuid(), id.uuid()).map(drop)
}

/// Deletes the open invitations that a person made.
async fn end_invitations_by(tx: &mut Tx, tenant: TenantId, inviter: PersonId) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM people WHERE tenant_id = $1 AND invited_by = $2 AND issuer IS NULL";
    execute!(tx, SQL; tenant.uuid(), inviter.uuid()).map(drop)
}
