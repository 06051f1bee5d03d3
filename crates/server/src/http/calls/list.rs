//! `GET /v1/calls`.

use std::str::FromStr;

use axum::Json;
use axum::extract::RawQuery;
use serde::Deserialize;
use switchhook_core::Timestamp;
use switchhook_core::call::{Direction, EndReason, ErrorCode, Status};
use switchhook_core::phone_number::{ParsePhoneNumberError, PhoneNumber};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::CallResource;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::Params;
use crate::http::response::{JsonResponse, List};
use crate::store::calls::{self, Filter};
use crate::store::page::PageRequest;

/// Maximum values per filter; each is a separate lookup.
const MAX_FILTER_VALUES: usize = 100;
/// Maximum metadata filters.
pub(in crate::http) const MAX_METADATA_FILTERS: usize = 10;
/// Maximum length of a metadata filter's key and value, in bytes.
const MAX_METADATA_BYTES: usize = 2_048;

/// Filters. Separate several values with commas, or repeat the parameter.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Query {
    /// Status of the call.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Status>>)]
    status: Option<String>,
    /// Direction of the call.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Direction>>)]
    direction: Option<String>,
    /// The agent.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Uuid>>)]
    agent_id: Option<String>,
    /// The tenant's number.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Uuid>>)]
    number_id: Option<String>,
    /// The callee.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Phone>>)]
    to: Option<String>,
    /// The caller.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<Phone>>)]
    from: Option<String>,
    /// Why a call failed.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<ErrorCode>>)]
    error_code: Option<String>,
    /// Why a call ended.
    #[param(style = Form, explode = false, min_items = 1, max_items = 100, value_type = Option<Vec<EndReason>>)]
    end_reason: Option<String>,
    /// Created at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Created before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
}

/// A party of a call in a filter: a number, a SIP address, or `web`.
struct Party;

impl FromStr for Party {
    type Err = ParsePhoneNumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        PhoneNumber::parse_or_web(text).map(|_| Self)
    }
}

/// Phone number, SIP address or `web`. Commas separate values: addresses with a comma cannot be found.
#[derive(ToSchema)]
#[schema(
    max_length = 255,
    pattern = r"^(web|\+[1-9][0-9]{6,14}|sips?:([!-+\x2d-?A-~]+@)?[0-9A-Za-z\[][!-+\x2d-?A-~]*)$",
    example = "+12025550100"
)]
#[expect(dead_code, reason = "describes a PhoneNumber")]
pub(in crate::http) struct Phone(String);

/// List calls.
///
/// The newest come first. Filters take up to 100 values, separated by commas or in repeated parameters.
#[utoipa::path(
    get, path = "/calls", operation_id = "list_calls", tag = "Calls", params(
        Query,
        ("metadata" = Option<BTreeMap<String, String>>, Query, style = DeepObject, explode, nullable = false,
            description = "Calls with this metadata, `metadata[key]=value`; up to 10 keys.", example = json!({"order": "A-17"})),
        PageRequest,
    ),
    responses((status = 200, description = "A page of calls", body = List<CallResource>))
)]
pub(super) async fn list(
    state: HttpState,
    tenant: Tenant,
    Params(query): Params<Query>,
    page: PageRequest,
    RawQuery(raw): RawQuery,
) -> JsonResponse<List<CallResource>> {
    let filter = Filter {
        status: words::<Status>("status", query.status)?,
        direction: words::<Direction>("direction", query.direction)?,
        agent: ids("agent_id", query.agent_id)?,
        number: ids("number_id", query.number_id)?,
        to: words::<Party>("to", query.to)?,
        from: words::<Party>("from", query.from)?,
        error_code: words::<ErrorCode>("error_code", query.error_code)?,
        end_reason: words::<EndReason>("end_reason", query.end_reason)?,
        created_after: query.created_after,
        created_before: query.created_before,
        metadata: metadata(raw.as_deref().unwrap_or_default()),
    };
    check_metadata(&filter.metadata)?;
    let mut conn = state.store.read().await?;
    let page = calls::list(&mut conn, tenant.id, &filter, page).await?;
    Ok(Json(List::of(page, CallResource::from)))
}

/// Parses the comma-separated ids of a filter.
fn ids(name: &str, value: Option<String>) -> Result<Vec<Uuid>, ApiError> {
    let ids = values(name, value)?.into_iter().map(|word| word.parse());
    ids.collect::<Result<_, _>>().map_err(|_| ApiError::invalid_field(name, "must be a UUID"))
}

/// Parses the comma-separated enum values of a filter.
fn words<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    value: Option<String>,
) -> Result<Vec<String>, ApiError> {
    let words = values(name, value)?;
    for word in &words {
        word.parse::<T>().map_err(|error| ApiError::invalid_field(name, error.to_string()))?;
    }
    Ok(words)
}

fn values(name: &str, value: Option<String>) -> Result<Vec<String>, ApiError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let mut words: Vec<String> = value.split(',').map(|word| word.trim().to_owned()).collect();
    if words.len() > MAX_FILTER_VALUES {
        return Err(ApiError::invalid_field(name, format!("must have at most {MAX_FILTER_VALUES} values")));
    }
    words.sort_unstable();
    words.dedup();
    Ok(words)
}

fn check_metadata(pairs: &[(String, String)]) -> Result<(), ApiError> {
    let wrong = |message: String| Err(ApiError::invalid_field("metadata", message));
    if pairs.len() > MAX_METADATA_FILTERS {
        return wrong(format!("must have at most {MAX_METADATA_FILTERS} keys"));
    }
    if pairs.iter().any(|(key, value)| key.len() + value.len() > MAX_METADATA_BYTES) {
        return wrong(format!("must be at most {MAX_METADATA_BYTES} bytes in a filter, key and value together"));
    }
    Ok(())
}

/// `metadata[key]=value` pairs of a query string.
fn metadata(raw: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(raw.as_bytes())
        .filter_map(|(name, value)| {
            let key = name.strip_prefix("metadata[")?.strip_suffix(']')?;
            Some((key.to_owned(), value.into_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_checked_word_by_word_and_metadata_is_read_from_brackets() {
        assert_eq!(
            words::<Status>("status", Some("queued, failed,queued".into())).expect("known"),
            ["failed", "queued"]
        );
        assert!(words::<Status>("status", Some("queued,ringing".into())).is_err());
        let pairs = metadata("limit=2&metadata%5Bcrm%5D=4%202&metadata[x]=y");
        assert_eq!(pairs, [("crm".to_owned(), "4 2".to_owned()), ("x".to_owned(), "y".to_owned())]);
    }
}
