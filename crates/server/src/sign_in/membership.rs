//! Changes of a signed-in person's memberships: accepting an invitation, switching to another tenant, leaving one.
//!
//! Each change of a session's tenant sets a new cookie.

use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::sign_in::NotAnswerable;

use super::attempt::{hash, is_random_text, random_text};
use crate::store::invitations::{self, InvitationRow};
use crate::store::memberships::{self, MembershipRow};
use crate::store::people::{self, PersonRow};
use crate::store::sessions::{self, SessionHash, SessionRow};
use crate::store::{Conn, Store, Tx, is_duplicate, is_foreign_key, tenants};

/// The most tenants that a person may belong to. Two owners who invite each other, leave and sign in again would otherwise make tenants
/// without end.
pub const MAX_TENANTS_OF_PERSON: usize = 20;

/// Why the change failed.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The invitation does not exist, or no longer.
    #[error("the invitation has ended")]
    Ended,
    /// It is for another address than the person's verified one.
    #[error("the invitation is for another address")]
    AnotherAddress,
    /// The person belongs to its tenant.
    #[error("the person belongs to the tenant already")]
    AlreadyMember,
    /// The person belongs to as many tenants as they may.
    #[error("the person belongs to {MAX_TENANTS_OF_PERSON} tenants")]
    TooManyTenants,
    /// The person does not belong to the tenant.
    #[error("the person does not belong to the tenant")]
    NoMember,
    /// The tenant would be left without an owner.
    #[error("the person is the tenant's last owner")]
    LastOwner,
    /// The session has ended in between.
    #[error("the session has ended")]
    SignedOut,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A signed-in person.
pub struct Visitor {
    /// Their session's hash.
    pub hash: SessionHash,
    /// Their session.
    pub session: SessionRow,
}

/// Returns the invitation of a link's token, if this person may answer it.
///
/// # Errors
/// If not; when the database fails.
pub async fn invitation(
    conn: &mut Conn,
    visitor: &Visitor,
    token: &str,
    now: Timestamp,
) -> Result<InvitationRow, MembershipError> {
    if !is_random_text(token) {
        return Err(MembershipError::Ended);
    }
    let found = invitations::find_for_answer(conn, &hash(token)).await?.ok_or(MembershipError::Ended)?;
    found.terms().check(visitor.session.verified_email(), now).map_err(|reason| match reason {
        NotAnswerable::Ended => MembershipError::Ended,
        NotAnswerable::AnotherAddress => MembershipError::AnotherAddress,
    })?;
    let tenants = tenants_of(conn, visitor).await?;
    if tenants.iter().any(|membership| membership.tenant() == found.tenant()) {
        return Err(MembershipError::AlreadyMember);
    }
    if tenants.len() >= MAX_TENANTS_OF_PERSON { Err(MembershipError::TooManyTenants) } else { Ok(found) }
}

/// Accepts an invitation and moves the session to its tenant. Returns the new cookie and the tenant.
///
/// # Errors
/// As [`invitation`]; if another answer was faster.
pub async fn accept(
    store: &Store,
    visitor: &Visitor,
    token: &str,
    now: Timestamp,
) -> Result<(String, TenantId), MembershipError> {
    let mut tx = store.begin().await?;
    let found = invitation(&mut tx, visitor, token, now).await?;
    let me = row_of(&mut tx, visitor).await?;
    let accepted = invitations::accept_for_sign_in(&mut tx, &hash(token), &me).await;
    if !accepted.map_err(|error| if is_duplicate(&error) { MembershipError::AlreadyMember } else { error.into() })? {
        return Err(MembershipError::Ended);
    }
    let cookie = move_to(&mut tx, visitor, found.tenant(), found.person(), now).await?;
    tx.commit().await?;
    Ok((cookie, found.tenant()))
}

/// Declines an invitation, which ends it. Returns its tenant.
///
/// # Errors
/// As [`accept`].
pub async fn decline(
    store: &Store,
    visitor: &Visitor,
    token: &str,
    now: Timestamp,
) -> Result<TenantId, MembershipError> {
    let mut tx = store.begin().await?;
    let found = invitation(&mut tx, visitor, token, now).await?;
    if !invitations::decline_for_sign_in(&mut tx, &hash(token)).await? {
        return Err(MembershipError::Ended);
    }
    tx.commit().await?;
    Ok(found.tenant())
}

/// Moves the session to another tenant of its person. Returns the new cookie.
///
/// # Errors
/// If the person does not belong to it, or it is deactivated; when the database fails.
pub async fn switch(
    store: &Store,
    visitor: &Visitor,
    tenant: TenantId,
    now: Timestamp,
) -> Result<String, MembershipError> {
    let mut tx = store.begin().await?;
    let all = tenants_of(&mut tx, visitor).await?;
    let there = all.iter().find(|membership| membership.tenant() == tenant).ok_or(MembershipError::NoMember)?;
    let cookie = move_to(&mut tx, visitor, tenant, there.person(), now).await?;
    tx.commit().await?;
    Ok(cookie)
}

/// Leaves the session's tenant. Its other sessions there end; this one moves to the tenant where the person was last, and ends if there is
/// none. Returns the new cookie.
///
/// # Errors
/// If the person is the last owner; when the database fails.
pub async fn leave(store: &Store, visitor: &Visitor, now: Timestamp) -> Result<Option<String>, MembershipError> {
    let here = visitor.session.tenant();
    let mut tx = store.begin().await?;
    // Two owners who leave at the same time must not both succeed.
    tenants::lock(&mut tx, here).await?;
    let me = row_of(&mut tx, visitor).await?;
    if people::is_last_owner(&mut tx, &me).await? {
        return Err(MembershipError::LastOwner);
    }
    let mut others = tenants_of(&mut tx, visitor).await?;
    others.retain(|membership| membership.tenant() != here);
    let cookie = match others.iter().max_by_key(|membership| membership.last_seen_at) {
        Some(next) => Some(move_to(&mut tx, visitor, next.tenant(), next.person(), now).await?),
        None => None,
    };
    people::delete(&mut tx, here, me.person()).await?;
    tx.commit().await?;
    Ok(cookie)
}

/// Returns the active tenants of a signed-in person.
///
/// # Errors
/// When the database fails.
pub async fn tenants_of(conn: &mut Conn, visitor: &Visitor) -> Result<Vec<MembershipRow>, sqlx::Error> {
    memberships::list_for_sign_in(conn, visitor.session.tenant(), visitor.session.person()).await
}

async fn row_of(conn: &mut Conn, visitor: &Visitor) -> Result<PersonRow, MembershipError> {
    let row = people::get(conn, visitor.session.tenant(), visitor.session.person()).await?;
    row.ok_or(MembershipError::SignedOut)
}

async fn move_to(
    tx: &mut Tx,
    visitor: &Visitor,
    tenant: TenantId,
    person: PersonId,
    now: Timestamp,
) -> Result<String, MembershipError> {
    let cookie = random_text();
    let moved = sessions::move_for_sign_in(tx, &visitor.hash, &hash(&cookie), (tenant, person), now).await;
    // The person may have been removed there in between.
    if !moved.map_err(|error| if is_foreign_key(&error) { MembershipError::NoMember } else { error.into() })? {
        return Err(MembershipError::SignedOut);
    }
    people::saw(tx, tenant, person, now).await?;
    Ok(cookie)
}
