//! `POST /auth/invitation…`, `/auth/tenant` and `/auth/leave`: signed-in people join, switch and leave tenants.
//!
//! The token of an invitation comes in the body, so that it does not appear in logs of addresses. Only a POST of our own page reads it.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::sign_in::ABSOLUTE_LIFETIME;

use super::cookies;
use crate::http::HttpState;
use crate::http::audit;
use crate::http::auth::{self, session};
use crate::http::error::ApiError;
use crate::http::extract::Body;
use crate::http::rate_limit;
use crate::sign_in::membership::{self, MAX_TENANTS_OF_PERSON, MembershipError, Visitor};

/// The only request here that changes nothing.
pub(super) const SHOW: &str = "/auth/invitation";

/// The contents of a link.
#[derive(Deserialize)]
pub(super) struct Link {
    token: String,
}

/// The tenant to move to.
#[derive(Deserialize)]
pub(super) struct Destination {
    id: TenantId,
}

/// The invitation to accept.
#[derive(Serialize)]
struct InvitationResource {
    tenant: InvitingTenant,
    role: String,
    /// The address that was invited.
    email: String,
    /// The person who made it; `None` if a program did, or if the person is gone.
    invited_by: Option<Inviter>,
    expires_at: Timestamp,
}

#[derive(Serialize)]
struct InvitingTenant {
    name: String,
}

#[derive(Serialize)]
struct Inviter {
    name: Option<String>,
    /// The verified address.
    email: Option<String>,
}

/// Says who invites to what. It is a POST, because the token must not be in an address.
pub(super) async fn show(
    state: HttpState,
    visitor: Visitor,
    Body { value: link, .. }: Body<Link>,
) -> Result<Response, ApiError> {
    let mut conn = state.store.read().await?;
    let found = membership::invitation(&mut conn, &visitor, &link.token, state.clock.now()).await?;
    let (email, expires_at) = (found.terms().email.to_owned(), found.expires_at());
    let (name, address) = (found.inviter_name, found.inviter_email);
    let invited_by = (name.is_some() || address.is_some()).then_some(Inviter { name, email: address });
    let tenant = InvitingTenant { name: found.tenant_name };
    Ok(Json(InvitationResource { tenant, role: found.role, email, invited_by, expires_at }).into_response())
}

/// Joins the tenant, and moves the session there.
pub(super) async fn accept(
    state: HttpState,
    visitor: Visitor,
    Body { value: link, .. }: Body<Link>,
) -> Result<Response, ApiError> {
    let (cookie, tenant) = membership::accept(&state.store, &visitor, &link.token, state.clock.now()).await?;
    audit::note_other_tenant(tenant);
    Ok(moved(Some(&cookie)))
}

/// Ends the invitation.
pub(super) async fn decline(
    state: HttpState,
    visitor: Visitor,
    Body { value: link, .. }: Body<Link>,
) -> Result<StatusCode, ApiError> {
    let tenant = membership::decline(&state.store, &visitor, &link.token, state.clock.now()).await?;
    audit::note_other_tenant(tenant);
    Ok(StatusCode::NO_CONTENT)
}

/// Moves the session to another tenant of the person.
pub(super) async fn switch(
    state: HttpState,
    visitor: Visitor,
    Body { value: to, .. }: Body<Destination>,
) -> Result<Response, ApiError> {
    let cookie = membership::switch(&state.store, &visitor, to.id, state.clock.now()).await?;
    audit::note_other_tenant(to.id);
    Ok(moved(Some(&cookie)))
}

/// Leaves the session's tenant.
pub(super) async fn leave(state: HttpState, visitor: Visitor) -> Result<Response, ApiError> {
    let cookie = membership::leave(&state.store, &visitor, state.clock.now()).await?;
    Ok(moved(cookie.as_deref()))
}

/// The signed-in person. The request counts as use of the session.
impl FromRequestParts<HttpState> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, ApiError> {
        session::check_origin(state, &parts.headers)?;
        let from = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip());
        let cookie = cookies::session(&parts.headers).ok_or_else(signed_out)?;
        let (hash, session) = session::find(state, from, &cookie).await?.ok_or_else(signed_out)?;
        if !session.tenant_active {
            return Err(auth::deactivated());
        }
        if parts.uri.path() == SHOW {
            rate_limit::admit_page(state, session.tenant(), session.person())?;
        } else {
            rate_limit::admit_change_of_page(state, &session).await?;
        }
        Ok(Self { hash, session })
    }
}

/// 204 with the session's new cookie, or without a session.
fn moved(cookie: Option<&str>) -> Response {
    let header = cookie.map_or_else(cookies::delete_session, |cookie| cookies::set_session(cookie, ABSOLUTE_LIFETIME));
    (StatusCode::NO_CONTENT, [(SET_COOKIE, header)]).into_response()
}

fn signed_out() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "Nobody is signed in. Open /auth/login to sign in.")
}

impl From<MembershipError> for ApiError {
    fn from(error: MembershipError) -> Self {
        match error {
            MembershipError::Database(error) => error.into(),
            MembershipError::SignedOut => signed_out(),
            MembershipError::NoMember => Self::not_found("tenant"),
            MembershipError::LastOwner => last_owner(),
            MembershipError::Ended => {
                let detail = "This invitation is not valid: it was used, declined or revoked, or has expired. Ask whoever sent the \
                    link for a new one.";
                Self::new(StatusCode::NOT_FOUND, "invitation_ended", detail)
            }
            MembershipError::AnotherAddress => {
                let detail = "This invitation is for another e-mail address than the verified one that you are signed in with. Sign \
                    out, open the link again, and sign in with the address that was invited.";
                Self::new(StatusCode::FORBIDDEN, "invitation_for_another", detail)
            }
            MembershipError::AlreadyMember => {
                Self::conflict("already_member", "You belong to the tenant of this invitation already.")
            }
            MembershipError::TooManyTenants => {
                let detail =
                    format!("You belong to {MAX_TENANTS_OF_PERSON} tenants, as many as a person may. Leave one first.");
                Self::conflict("too_many_tenants", detail)
            }
        }
    }
}

/// The error for taking away the only owner who can sign in.
pub(in crate::http) fn last_owner() -> ApiError {
    ApiError::conflict("last_owner", "This is the tenant's last owner. Make somebody else an owner first.")
}
