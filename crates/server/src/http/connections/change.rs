//! Validates connections and applies patches to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use switchhook_carriers::registry;
use switchhook_core::agent::FieldError;
use switchhook_core::header::is_framing;
use switchhook_core::id::TenantId;
use switchhook_core::private::Credentials;
use switchhook_core::webhook::{AddressPolicy, UrlRefusal, entered_url, judge_url};
use switchhook_net::outbound::ws::http_address;
use url::Url;

use super::CreateConnection;
use super::credentials::{self, MASK};
use crate::catalogue::{CATALOGUE, CatalogueEntry};
use crate::http::HttpState;
use crate::http::error::ApiError;
use crate::http::extract::{self, Body, Parsed, check_name};
use crate::http::merge_patch;
use crate::http::unknown_query::alike;
use crate::store::connections::ConnectionRow;
use crate::talk::tools::secrets;

/// Maximum size of the settings, in bytes of JSON.
const MAX_SETTINGS: usize = 16 * 1024;
const MAX_CONCURRENT: i64 = 100_000;

/// Parses and validates a whole connection.
///
/// # Errors
/// 422 with the invalid fields.
pub(crate) fn read(json: &[u8], addresses: &AddressPolicy) -> Result<Parsed<CreateConnection>, ApiError> {
    let misshapen = extract::arrays_for_objects(json, &json!({ "limits": {} }));
    if !misshapen.is_empty() {
        return Err(ApiError::invalid_fields(misshapen));
    }
    let mut body = extract::parse_part::<CreateConnection>(json, &[])?;
    body.value.settings.retain(|_, setting| !setting.is_null());
    if let Some(Value::String(url)) = body.value.settings.get_mut("base_url")
        && let Ok(entered) = entered_url(url)
    {
        *url = entered;
    }
    credentials::trim(&mut body.value.credentials);
    let errors = check(&body.value, addresses);
    if errors.is_empty() { Ok(body) } else { Err(ApiError::invalid_fields(errors)) }
}

/// Removes the settings that the provider does not have. Returns a warning for each.
pub(super) fn remove_unknown(provider: &str, settings: &mut Map<String, Value>) -> Vec<String> {
    let unknown = unknown_settings(provider, settings);
    let warning = |(name, near): &(String, Option<&str>)| match near {
        Some(near) => format!("Unknown field settings.{name} was ignored. Did you mean settings.{near}?"),
        None => format!("Unknown field settings.{name} was ignored."),
    };
    let warnings = unknown.iter().map(warning).collect();
    unknown.iter().for_each(|(name, _)| drop(settings.remove(name)));
    warnings
}

/// The settings that the provider does not have, each with the one that was probably meant.
pub(crate) fn unknown_settings(provider: &str, settings: &Map<String, Value>) -> Vec<(String, Option<&'static str>)> {
    let Some(known) = CatalogueEntry::named(provider).and_then(|entry| entry.settings.as_ref()) else {
        return Vec::new();
    };
    let unknown = settings.keys().filter(|name| !known.contains(name.as_str()));
    unknown.map(|name| (name.clone(), alike(name, known.iter().copied()))).collect()
}

fn check(request: &CreateConnection, addresses: &AddressPolicy) -> Vec<FieldError> {
    let mut errors: Vec<_> = check_name("name", &request.name).into_iter().collect();
    match CatalogueEntry::named(&request.provider) {
        Some(provider) => errors.extend(credentials::missing(provider, request.credentials.reveal())),
        None => {
            let known: Vec<_> = CATALOGUE.iter().map(|provider| provider.name).collect();
            errors.push(FieldError::new("provider", format!("must be one of: {}", known.join(", "))));
        }
    }
    errors.extend(credentials::bad(request));
    errors.extend(large_settings(&request.settings));
    errors.extend(bad_base_url(&request.settings, addresses));
    errors.extend(framing_headers(&request.settings));
    if request.provider == secrets::PROVIDER && errors.is_empty() {
        errors.extend(bad_for_tools(request));
    }
    if let Some(carrier) = registry::kind(&request.provider) {
        let wrong = (carrier.check_settings)(&request.settings).err();
        errors.extend(wrong.map(|error| FieldError::new(error.path, extract::in_our_words(&error.message))));
    }
    if request.limits.max_concurrent.is_some_and(|calls| !(1..=MAX_CONCURRENT).contains(&calls)) {
        errors.push(FieldError::new("limits.max_concurrent", format!("must be from 1 to {MAX_CONCURRENT}")));
    }
    errors
}

fn large_settings(settings: &Map<String, Value>) -> Option<FieldError> {
    let bytes = serde_json::to_vec(settings).map_or(usize::MAX, |json| json.len());
    let message = || format!("must be at most {MAX_SETTINGS} bytes of JSON, and are {bytes}");
    (bytes > MAX_SETTINGS).then(|| FieldError::new("settings", message()))
}

fn bad_base_url(settings: &Map<String, Value>, addresses: &AddressPolicy) -> Option<FieldError> {
    let wrong = |message: String| Some(FieldError::new("settings.base_url", message));
    let Value::String(url) = settings.get("base_url")? else { return wrong("must be a string".to_owned()) };
    let judged = entered_url(&http_address(url.trim())).and_then(|url| judge_url(&url, addresses));
    match judged {
        Ok(_) => None,
        Err(UrlRefusal::Credentials) => {
            wrong("must not contain a user name or password; put secrets in credentials".to_owned())
        }
        Err(refusal @ (UrlRefusal::Scheme | UrlRefusal::PrivateName | UrlRefusal::Address(_))) => {
            wrong(format!("{refusal}; the operator can allow addresses with SWITCHHOOK_OUTBOUND_ALLOW"))
        }
        Err(refusal) => wrong(refusal.to_string()),
    }
}

/// Rejects headers that frame or route requests.
fn framing_headers(settings: &Map<String, Value>) -> Vec<FieldError> {
    let wrong = |path: String| FieldError::new(path, "frames or routes requests and cannot be set");
    let headers = settings.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers =
        headers.filter(|(name, _)| is_framing(name)).map(|(name, _)| wrong(format!("settings.headers.{name}")));
    let key = settings.get("key_header").and_then(Value::as_str).filter(|name| is_framing(name));
    headers.chain(key.map(|_| wrong("settings.key_header".to_owned()))).collect()
}

/// Credentials of tools are headers, and `base_url` is a URL prefix.
fn bad_for_tools(request: &CreateConnection) -> Vec<FieldError> {
    let headers = secrets::unusable(request.credentials.reveal()).into_iter();
    let headers = headers.map(|(name, words)| FieldError::new(format!("credentials.{name}"), words));
    let url = request.settings.get("base_url").and_then(Value::as_str).map(secrets::base_url);
    let url = url.and_then(Result::err).map(|words| FieldError::new("settings.base_url", words));
    headers.chain(url).collect()
}

/// Returns warnings about a new connection.
pub(crate) fn warnings(row: &ConnectionRow) -> impl Iterator<Item = String> {
    unusable(&row.provider).into_iter().chain(credentials::unused(row)).chain(unbound(row))
}

/// Warns if nothing restricts where the secrets of tools are sent.
pub(super) fn unbound(row: &ConnectionRow) -> Option<String> {
    let unbound = row.provider == secrets::PROVIDER && row.credentials.is_some() && origin(&row.settings)[0].is_none();
    unbound.then(|| "Without settings.base_url the credentials are sent to any URL of a tool.".to_owned())
}

/// Warns if calls cannot use this provider yet.
fn unusable(provider: &str) -> Option<String> {
    let usable = CatalogueEntry::named(provider).is_none_or(|provider| provider.usable);
    (!usable).then(|| format!("This version does not support {provider} yet: calls with it fail as config_error."))
}

/// A row with a patch applied.
pub(super) struct Patched {
    pub(super) row: ConnectionRow,
    /// Whether it differs from the row before.
    pub(super) changed: bool,
    pub(super) warnings: Vec<String>,
}

/// Applies a patch to a row.
pub(super) fn apply(mut row: ConnectionRow, patch: &[u8], state: &HttpState) -> Result<Patched, ApiError> {
    let mut patch = extract::parse_object(patch)?;
    if patch.get("provider").is_some_and(|provider| *provider != row.provider) {
        return Err(ApiError::invalid_field("provider", "cannot be changed: create another connection"));
    }
    keep_masked(&mut patch, &row.hints.0);
    let sent_again = named_credentials(&patch);
    let secrets = row.open(&state.vault).map_err(anyhow::Error::from)?;
    let mut whole = writable(&row, secrets.reveal());
    merge_patch::merge(&mut whole, patch, &[]);
    let whole = serde_json::to_vec(&whole).map_err(anyhow::Error::from)?;
    let Body { value: mut request, mut warnings } =
        read(&whole, &state.addresses_of(TenantId::from_uuid(row.tenant_id)))?.into();
    let all_sent_again = request.credentials.reveal().keys().all(|name| sent_again.contains(name));
    if !all_sent_again && goes_elsewhere(&row.settings, &request.settings) {
        let message = "must all be sent again in a request that changes settings.base_url, space or host";
        return Err(ApiError::invalid_field("credentials", message));
    }
    warnings.extend(remove_unknown(&request.provider, &mut request.settings));
    let same_credentials = request.credentials.reveal() == secrets.reveal();
    let same_limits = request.limits.max_concurrent == row.max_concurrent;
    if same_credentials && same_limits && request.name == row.name && request.settings == row.settings.0 {
        return Ok(Patched { row, changed: false, warnings });
    }
    replace(&mut row, request, state);
    Ok(Patched { row, changed: true, warnings })
}

/// Makes a connection what a request says.
pub(crate) fn replace(row: &mut ConnectionRow, request: CreateConnection, state: &HttpState) {
    row.seal(&state.vault, &request.credentials);
    row.name = request.name;
    row.settings.0 = request.settings;
    row.max_concurrent = request.limits.max_concurrent;
    row.updated_at = merge_patch::newer(row.updated_at, state.clock.now());
}

/// Returns whether other settings send credentials to another address, which must not receive the stored ones.
pub(crate) fn goes_elsewhere(before: &Map<String, Value>, after: &Map<String, Value>) -> bool {
    origin(before) != origin(after)
}

/// Returns the settings that determine where credentials are sent.
fn origin(settings: &Map<String, Value>) -> [Option<String>; 3] {
    ["base_url", "space", "host"].map(|name| {
        let text = settings.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())?;
        let url = Url::parse(&http_address(text)).ok().filter(|_| name == "base_url");
        Some(url.map_or_else(|| text.to_ascii_lowercase(), |url| url.origin().ascii_serialization()))
    })
}

/// Returns the credentials that a patch sets or removes.
fn named_credentials(patch: &Map<String, Value>) -> BTreeSet<String> {
    let credentials = patch.get("credentials").and_then(Value::as_object);
    credentials.into_iter().flat_map(Map::keys).cloned().collect()
}

/// A masked credential sent back unchanged keeps the stored one.
fn keep_masked(patch: &mut Map<String, Value>, hints: &BTreeMap<String, String>) {
    if let Some(Value::Object(credentials)) = patch.get_mut("credentials") {
        credentials.retain(|name, value| {
            let masked = hints.get(name).map(|hint| format!("{MASK}{hint}"));
            masked.as_deref() != value.as_str() || masked.is_none()
        });
    }
}

fn writable(row: &ConnectionRow, secrets: &Credentials) -> Map<String, Value> {
    let whole = json!({
        "name": row.name,
        "provider": row.provider,
        "settings": row.settings.0,
        "credentials": secrets,
        "limits": { "max_concurrent": row.max_concurrent },
    });
    match whole {
        Value::Object(whole) => whole,
        _ => unreachable!("json! builds an object"),
    }
}
