//! Applications: addresses that numbers of the account share.

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::json;

use super::flavour::{Flavour, Prefix};
use super::form::Form;
use super::network::{Application, Network};
use super::placing::{self, Refusal, mistake};
use super::records;
use super::rest::{admit, form, refuse, sid};

pub(super) async fn list(
    State(network): State<Network>,
    Path(account): Path<String>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    if let Some(unknown) = query.unknown(&["FriendlyName", "PageSize", "Page"]) {
        return refuse(&network, &mistake(20001, format!("lists are not narrowed by {unknown}")));
    }
    let wanted = query.one("FriendlyName").ok().flatten();
    let mut found = network.look(|state| state.applications.clone());
    found.retain(|known| wanted.is_none_or(|wanted| wanted == known.name));
    let found: Vec<_> = found.iter().map(|found| records::application(network.flavour, found)).collect();
    records::answer(200, &json!({ "applications": found, "page": 0, "page_size": 50, "next_page_uri": null }))
}

pub(super) async fn show(
    State(network): State<Network>,
    Path((account, application)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    let found = sid(&network, &application, "AP")
        .map(|sid| network.look(|state| state.applications.iter().find(|known| known.sid == sid).cloned()));
    match found {
        Ok(Some(found)) => records::answer(200, &records::application(network.flavour, &found)),
        Ok(None) => records::refusal(network.flavour, 404, 20404, "The requested application was not found"),
        Err(refusal) => refuse(&network, &refusal),
    }
}

pub(super) async fn create(
    State(network): State<Network>,
    Path(account): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(refused) = admit(&network, &headers, &account) {
        return *refused;
    }
    match form(&headers, &body).and_then(|form| read(&network, &form)) {
        Ok(made) => {
            network.with(|state| state.applications.push(made.clone()));
            records::answer(network.flavour.created(), &records::application(network.flavour, &made))
        }
        Err(refusal) => refuse(&network, &refusal),
    }
}

fn read(network: &Network, form: &Form) -> Result<Application, Refusal> {
    let known = ["FriendlyName", "VoiceUrl", "VoiceMethod", "StatusCallback", "StatusCallbackMethod"];
    if let Some(unknown) = form.unknown(&known) {
        return Err(mistake(0, format!("an application has no {unknown}")));
    }
    let name = form.one("FriendlyName").ok().flatten().filter(|name| !name.is_empty() && name.len() <= 64);
    Ok(Application {
        sid: network.flavour.id(Prefix::Application),
        name: name.ok_or_else(|| mistake(20001, "FriendlyName is missing or too long"))?.to_owned(),
        voice_url: placing::address(form, "VoiceUrl")?.unwrap_or_default(),
        status_callback: placing::address(form, "StatusCallback")?.unwrap_or_default(),
    })
}

/// The application that a change of a number names. Its field and that of the trunk take ids alone: nothing clears them.
pub(super) fn named(network: &Network, form: &Form) -> Result<Option<String>, Refusal> {
    let pattern = |text: &str, prefix: &str| match network.flavour {
        Flavour::Twilio => text
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())),
        Flavour::SignalWire => uuid::Uuid::try_parse(text).is_ok(),
    };
    for (field, prefix) in [("VoiceApplicationSid", "AP"), ("TrunkSid", "TK")] {
        if let Some(wrong) = form.all(field).into_iter().find(|text| !pattern(text, prefix)) {
            return Err(mistake(20001, format!("{field} does not match its pattern: «{wrong}»")));
        }
    }
    let Some(named) = form.one("VoiceApplicationSid").ok().flatten() else { return Ok(None) };
    let exists = network.look(|state| state.applications.iter().any(|known| known.sid == named));
    if exists { Ok(Some(named.to_owned())) } else { Err(mistake(21218, format!("no application {named}"))) }
}
