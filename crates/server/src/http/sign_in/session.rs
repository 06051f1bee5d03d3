//! `GET /auth/session` and `POST /auth/logout`.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::ConnectInfo;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use switchhook_core::Timestamp;
use uuid::Uuid;

use super::cookies;
use crate::http::HttpState;
use crate::http::audit;
use crate::http::auth;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::rate_limit;
use crate::http::request_id;
use crate::http::tenant::{self, TenantResource};
use crate::store::memberships::{self, MembershipRow};
use crate::store::sessions;

/// The signed-in person and their tenant.
#[derive(Serialize)]
struct SessionResource {
    person: Person,
    tenant: TenantResource,
    /// The person's tenants, this one too, by name.
    tenants: Vec<Membership>,
    /// When the session ends unless it is used again.
    expires_at: Timestamp,
    /// How people sign in here.
    sign_in: &'static str,
}

#[derive(Serialize)]
struct Person {
    id: Uuid,
    email: Option<String>,
    /// The person's name; the address if they have none.
    name: Option<String>,
    role: &'static str,
}

/// A tenant that the person may move to.
#[derive(Serialize)]
struct Membership {
    id: Uuid,
    name: String,
    role: String,
}

impl From<MembershipRow> for Membership {
    fn from(row: MembershipRow) -> Self {
        Self { id: row.tenant().uuid(), name: row.tenant_name, role: row.role }
    }
}

/// The response without a session; the page offers the sign-in of `sign_in`.
#[derive(Serialize)]
struct SignedOut {
    #[serde(flatten)]
    error: ErrorBody,
    sign_in: &'static str,
}

pub(super) async fn show(
    state: HttpState,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Some(cookie) = cookies::session(&headers) else { return Ok(signed_out(&state)) };
    let Some((_, session)) = auth::session::find(&state, Some(from.ip()), &cookie).await? else {
        return Ok(signed_out(&state));
    };
    if !session.tenant_active {
        return Err(auth::deactivated());
    }
    rate_limit::admit_page(&state, session.tenant(), session.person())?;
    let person = Person {
        id: session.person().uuid(),
        email: session.email.clone(),
        name: session.name.clone().or_else(|| session.email.clone()),
        role: session.role().as_str(),
    };
    let tenant = tenant::resource(&state, session.tenant()).await?;
    let mut conn = state.store.read().await?;
    let tenants = memberships::list_for_sign_in(&mut conn, session.tenant(), session.person()).await?;
    let tenants = tenants.into_iter().map(Membership::from).collect();
    let expires_at = session.times().ends_at();
    Ok(Json(SessionResource { person, tenant, tenants, expires_at, sign_in: state.sign_in.as_str() }).into_response())
}

fn signed_out(state: &HttpState) -> Response {
    let error =
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "Nobody is signed in. Open /auth/login to sign in.");
    let body = SignedOut { error: error.body(request_id::current()), sign_in: state.sign_in.as_str() };
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], Json(body)).into_response()
}

/// Ends the session on every node. Without one there is nothing to end.
pub(super) async fn logout(
    state: HttpState,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    auth::session::check_origin(&state, &headers)?;
    // Without a session nothing is written.
    if let Some(cookie) = cookies::session(&headers)
        && let Some((hash, session)) = auth::session::look_up(&state, Some(from.ip()), &cookie).await?
    {
        let mut tx = state.store.begin().await?;
        sessions::end_for_sign_in(&mut tx, &hash).await?;
        tx.commit().await?;
        audit::note_person(session.tenant(), session.person());
    }
    let delete: [(_, HeaderValue); 1] = [(SET_COOKIE, cookies::delete_session())];
    Ok((StatusCode::NO_CONTENT, delete).into_response())
}
