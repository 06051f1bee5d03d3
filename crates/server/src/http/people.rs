//! `/v1/people`: who may use the tenant's dashboard.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::agent::FieldError;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::sign_in::{
    INVITATION_MAX_AGE, MAX_NEW_INVITATIONS, MAX_OPEN_INVITATIONS, Role, TooManyInvitations, is_email,
};
use switchhook_runtime::clock;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::{Principal, Tenant};
use super::bounds;
use super::error::{ApiError, Conflict};
use super::extract::{self, Body, PathId, UnreadBody};
use super::response::{List, WithWarnings, created};
use super::sign_in::last_owner;
use super::string_enum::string_enum;
use crate::sign_in::attempt::{hash, random_text};
use crate::store::bounds::Stored;
use crate::store::page::PageRequest;
use crate::store::people::{self, PersonRow};
use crate::store::{Conn, Tx, invitations, sessions, tenants};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list, invite)).routes(routes!(show, update, remove))
}

/// What a person may do.
struct RoleName;

impl ToSchema for RoleName {}
impl PartialSchema for RoleName {
    fn schema() -> RefOr<Schema> {
        let description = "`viewer` reads; `member` also changes everything except people, API keys and tenant settings; `owner` does everything.";
        string_enum(description, Role::ALL.map(Role::as_str))
    }
}

/// A person to invite.
#[derive(Debug, Deserialize, ToSchema)]
pub struct InvitePerson {
    /// Address the person signs in with.
    #[schema(max_length = 254, pattern = r"^[^@\s\x00-\x1f\x7f-\x9f]+@[^@\s\x00-\x1f\x7f-\x9f]+$")]
    email: String,
    /// Defaults to `member`.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

impl InvitePerson {
    /// Returns the address with its ASCII letters in lower case, and the role.
    fn checked(self) -> Result<(String, Role), ApiError> {
        let mut errors = Vec::new();
        if !is_email(&self.email) {
            errors.push(FieldError::new("email", "must be an e-mail address"));
        }
        let role = self.role.as_deref().map_or(Ok(Role::Member), parse_role);
        let role = role.map_err(|wrong| errors.push(wrong));
        role.ok()
            .filter(|_| errors.is_empty())
            .map(|role| (self.email.to_ascii_lowercase(), role))
            .ok_or_else(|| ApiError::invalid_fields(errors))
    }
}

/// Changes to a person.
#[derive(Debug, Deserialize, ToSchema)]
pub struct UpdatePerson {
    /// The new role.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

/// A person.
#[derive(Serialize, ToSchema)]
pub struct PersonResource {
    /// Unique id.
    id: Uuid,
    /// Invited address, or the one the identity provider verified; `null` if there is none.
    #[schema(example = "ana@example.com")]
    email: Option<String>,
    /// Name at the identity provider; `null` while only invited.
    name: Option<String>,
    /// What the person may do.
    #[schema(value_type = RoleName, example = "member")]
    role: String,
    /// `invited` until the invitation is accepted.
    status: PersonStatus,
    /// When the invitation expires; `null` if none is open.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// When the person was invited, or created the tenant by signing in.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Last use of the dashboard, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_seen_at: Option<Timestamp>,
}

/// Whether a person belongs to the tenant.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonStatus {
    /// The person belongs to it.
    Active,
    /// The person has not accepted the invitation.
    Invited,
}

impl From<PersonRow> for PersonResource {
    fn from(row: PersonRow) -> Self {
        Self {
            status: if row.is_active() { PersonStatus::Active } else { PersonStatus::Invited },
            email: row.known_email().map(str::to_owned),
            id: row.id,
            expires_at: row.expires_at.map(Timestamp::from_micros),
            name: row.name,
            role: row.role,
            created_at: Timestamp::from_micros(row.created_at),
            last_seen_at: row.last_seen_at.map(Timestamp::from_micros),
        }
    }
}

/// An invited person and the link.
#[derive(Serialize, ToSchema)]
pub struct InvitedPerson {
    #[serde(flatten)]
    person: PersonResource,
    /// Link to accept or decline. Shown only once.
    #[schema(
        format = "uri",
        example = "https://voice.example.com/invitation#NDNjaGFyYWN0ZXJzLXRoYXQtbm9ib2R5LWd1ZXNzZXM"
    )]
    invitation_url: String,
}

/// Invite a person.
///
/// Only this response contains the link, valid for seven days and one acceptance. The person signs in with this address, verified by the
/// identity provider, to accept or decline. A new invitation revokes the earlier link. Limits per tenant: 100 open invitations, 20 new ones an
/// hour.
#[utoipa::path(
    post, path = "/people", operation_id = "invite_person", tag = "People", request_body = InvitePerson,
    responses(
        (status = 201, description = "The person, with the link shown only once", body = WithWarnings<InvitedPerson>,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
async fn invite(
    state: HttpState,
    tenant: Tenant,
    Body { value, warnings }: Body<InvitePerson>,
) -> Result<Response, ApiError> {
    let (email, role) = value.checked()?;
    let now = state.clock.now();
    let (id, token) = (PersonId::new(now, clock::random()), random_text());
    let mut tx = state.store.begin().await?;
    make_room(&mut tx, tenant.id, &email, now).await?;
    let row = PersonRow {
        invitation: Some(hash(&token).to_vec()),
        invited_by: inviter(&mut tx, tenant).await?,
        expires_at: Some((now + INVITATION_MAX_AGE).as_micros()),
        ..PersonRow::invited(id, tenant.id, email, role, now)
    };
    people::insert(&mut tx, &row).await?;
    invitations::record(&mut tx, tenant.id, id, now).await?;
    tx.commit().await?;
    // Browsers do not send the fragment after the #.
    let invitation_url = format!("{}/invitation#{token}", state.addresses.public_url());
    Ok(created(&format!("/v1/people/{id}"), InvitedPerson { person: row.into(), invitation_url }, warnings))
}

/// Ends an earlier invitation of the address, and checks that there may be another one.
async fn make_room(tx: &mut Tx, tenant: TenantId, email: &str, now: Timestamp) -> Result<(), ApiError> {
    // Without the lock, two invitations of one address would both be open.
    bounds::lock(tx, tenant).await?;
    if people::has_email(tx, tenant, email).await? {
        return Err(ApiError::conflict(
            "email_taken",
            "Somebody with this e-mail address already belongs to the tenant.",
        ));
    }
    invitations::end_of_address(tx, tenant, email).await?;
    bounds::lock_for_one_more(tx, tenant, Stored::People).await?;
    invitations::count(tx, tenant, now).await?.admit(now).map_err(too_many)
}

/// Returns the person who asks; `None` for a program.
async fn inviter(conn: &mut Conn, tenant: Tenant) -> Result<Option<Uuid>, sqlx::Error> {
    let Principal::Session(hash) = tenant.principal else { return Ok(None) };
    let session = sessions::find_for_authentication(conn, &hash).await?;
    Ok(session.map(|session| session.person().uuid()))
}

fn too_many(reached: TooManyInvitations) -> ApiError {
    match reached {
        TooManyInvitations::Open => {
            let message = format!(
                "cannot be invited: limit of {MAX_OPEN_INVITATIONS} open invitations reached. Remove one first, or wait until some \
                 are accepted or expire"
            );
            ApiError::invalid_field("email", message)
        }
        TooManyInvitations::New { retry_after_seconds } => {
            let detail = format!(
                "Too many invitations: {MAX_NEW_INVITATIONS} in an hour are allowed. Try again in {retry_after_seconds} s."
            );
            ApiError::too_many("invitation_rate_limit", detail, retry_after_seconds)
        }
    }
}

/// Returns whether a valid body sets the role to `null`, which elsewhere means the default.
fn has_null_role(json: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(json).is_ok_and(|fields| fields.get("role") == Some(&Value::Null))
}

fn parse_role(role: &str) -> Result<Role, FieldError> {
    role.parse().map_err(|wrong: switchhook_core::sign_in::UnknownRole| FieldError::new("role", wrong.to_string()))
}

/// List people.
///
/// The newest come first, including invited ones.
#[utoipa::path(
    get, path = "/people", operation_id = "list_people", tag = "People", params(PageRequest),
    responses(
        (status = 200, description = "A page of people", body = List<PersonResource>),
    )
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> Result<Json<List<PersonResource>>, ApiError> {
    let mut conn = state.store.read().await?;
    let page = people::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, PersonResource::from)))
}

/// Get a person.
///
/// Returns a member or an open invitation.
#[utoipa::path(
    get, path = "/people/{id}", operation_id = "show_person", tag = "People", params(("id" = Uuid, Path, description = "The person")),
    responses(
        (status = 200, description = "The person", body = PersonResource),
    )
)]
async fn show(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<PersonId>,
) -> Result<Json<PersonResource>, ApiError> {
    let mut conn = state.store.read().await?;
    Ok(Json(people::get(&mut conn, tenant.id, id).await?.ok_or_else(not_found)?.into()))
}

fn not_found() -> ApiError {
    ApiError::not_found("person")
}

/// Change a person's role.
///
/// The role applies from their next request on.
#[utoipa::path(
    patch, path = "/people/{id}", operation_id = "update_person", tag = "People", request_body = UpdatePerson,
    params(("id" = Uuid, Path, description = "The person")),
    responses(
        (status = 200, description = "The updated person", body = WithWarnings<PersonResource>),
        Conflict,
    )
)]
async fn update(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<PersonId>,
    body: UnreadBody,
) -> Result<Json<WithWarnings<PersonResource>>, ApiError> {
    people::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(not_found)?;
    let json = body.bytes().await?;
    let Body { value, warnings } = extract::parse::<UpdatePerson>(&json)?;
    if has_null_role(&json) {
        return Err(ApiError::invalid_field("role", "must be a role: there is no default to go back to"));
    }
    let role = value.role.as_deref().map(parse_role).transpose();
    let role = role.map_err(|wrong| ApiError::invalid_fields(vec![wrong]))?;
    let (mut tx, mut row) = locked(&state, tenant, id).await?;
    if let Some(role) = role {
        if role != Role::Owner {
            keep_an_owner(&mut tx, &row).await?;
        }
        people::set_role(&mut tx, tenant.id, id, role).await?;
        row.role = role.as_str().to_owned();
    }
    tx.commit().await?;
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

/// Remove a person.
///
/// Their sessions in the tenant end at once; an invitation is revoked.
#[utoipa::path(
    delete, path = "/people/{id}", operation_id = "remove_person", tag = "People", params(("id" = Uuid, Path, description = "The person")),
    responses(
        (status = 204, description = "Removed"),
        Conflict,
    )
)]
async fn remove(state: HttpState, tenant: Tenant, PathId(id): PathId<PersonId>) -> Result<StatusCode, ApiError> {
    let (mut tx, row) = locked(&state, tenant, id).await?;
    keep_an_owner(&mut tx, &row).await?;
    people::delete(&mut tx, tenant.id, id).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns a person under the tenant's lock: two owners who remove each other must not both succeed.
async fn locked(state: &HttpState, tenant: Tenant, id: PersonId) -> Result<(Tx, PersonRow), ApiError> {
    let mut tx = state.store.begin().await?;
    tenants::lock(&mut tx, tenant.id).await?;
    let row = people::get(&mut tx, tenant.id, id).await?.ok_or_else(not_found)?;
    Ok((tx, row))
}

/// Refuses to take away the only owner who can sign in.
async fn keep_an_owner(tx: &mut Tx, row: &PersonRow) -> Result<(), ApiError> {
    if people::is_last_owner(tx, row).await? { Err(last_owner()) } else { Ok(()) }
}
