//! Turns an identity into a session: finds the person, or creates a tenant for them, in one transaction. Invitations are ignored here: a
//! person joins a tenant only after agreeing to it.

use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::sign_in::Role;
use switchhook_runtime::clock;

use super::SignInError;
use super::attempt::{hash, random_text};
use super::identity::Identity;
use crate::store::people::{self, PersonRow};
use crate::store::sessions::{self, SessionHash};
use crate::store::tenants::{self, OwnLimits};
use crate::store::{Store, Tx, is_duplicate};

/// Attempts to find or make a person. Another sign-in of the same person may win each of them once.
const ATTEMPTS: usize = 3;

/// The tenant of a person at their first sign-in.
#[derive(Clone, Copy, Debug)]
pub enum Home {
    /// A new tenant for the person.
    New,
    /// This one, as an owner.
    Tenant(TenantId),
}

/// A person's new session. It has no `Debug`, which would print the cookie.
pub struct Entered {
    /// The value of its cookie.
    pub cookie: String,
    /// The tenant that it is in.
    pub tenant: TenantId,
    /// The person there.
    pub person: PersonId,
}

/// Signs a person in and returns their session. Ends the session `before`, which the browser had. Uses up the sign-in whose state has the
/// hash `sign_in`: only a sign-in that succeeds leaves a row, and it counts once.
///
/// # Errors
/// If the person's tenant is deactivated, the sign-in was used before, or the database fails.
pub async fn enter(
    store: &Store,
    identity: &Identity,
    home: Home,
    sign_in: Option<[u8; 32]>,
    before: Option<SessionHash>,
    now: Timestamp,
) -> Result<Entered, SignInError> {
    for _ in 0..ATTEMPTS {
        let mut tx = store.begin().await?;
        if let Some(sign_in) = sign_in
            && !sessions::use_for_sign_in(&mut tx, &sign_in, now).await?
        {
            return Err(SignInError::Replayed);
        }
        let person = match join(&mut tx, identity, home, now).await {
            Ok(Some(person)) => person,
            Ok(None) => continue,
            Err(error) if is_duplicate(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let tenant = tenants::get(&mut tx, person.tenant()).await?;
        if !tenant.is_some_and(|tenant| tenant.active) {
            return Err(SignInError::Deactivated);
        }
        let Identity { issuer, subject, name, .. } = identity;
        people::update_for_sign_in(&mut tx, issuer, subject, identity.provided_email(), name.as_deref()).await?;
        people::saw(&mut tx, person.tenant(), person.person(), now).await?;
        if let Some(before) = before {
            sessions::end_for_sign_in(&mut tx, &before).await?;
        }
        let cookie = random_text();
        sessions::insert(&mut tx, person.tenant(), person.person(), &hash(&cookie), now).await?;
        sessions::end_oldest(&mut tx, person.person()).await?;
        tx.commit().await?;
        return Ok(Entered { cookie, tenant: person.tenant(), person: person.person() });
    }
    Err(sqlx::Error::RowNotFound.into())
}

/// Ends what a person can do who signed in before and is no longer allowed to.
///
/// # Errors
/// When the database fails.
pub async fn shut_out(store: &Store, identity: &Identity) -> Result<(), sqlx::Error> {
    let mut tx = store.begin().await?;
    sessions::end_of_identity(&mut tx, &identity.issuer, &identity.subject).await?;
    tx.commit().await
}

/// Returns the person with this identity, known or new. `None` if another sign-in was faster; then try again.
async fn join(tx: &mut Tx, identity: &Identity, home: Home, now: Timestamp) -> Result<Option<PersonRow>, sqlx::Error> {
    let Identity { issuer, subject, .. } = identity;
    if let Some(person) = people::find_for_sign_in(tx, issuer, subject).await? {
        return Ok(Some(person));
    }
    let tenant = match home {
        Home::Tenant(tenant) => tenant,
        Home::New => {
            let id = TenantId::new(now, clock::random());
            let name = identity.tenant_name();
            tenants::create_for_operator(tx, id, &name, OwnLimits::default(), now).await?.tenant()
        }
    };
    let row = PersonRow {
        issuer: Some(issuer.clone()),
        subject: Some(subject.clone()),
        email: identity.email.clone(),
        email_verified: identity.verified_email().is_some(),
        name: identity.name.clone(),
        home: true,
        ..PersonRow::invited(PersonId::new(now, clock::random()), tenant, String::new(), Role::Owner, now)
    };
    Ok(people::insert(tx, &row).await?.then_some(row))
}
