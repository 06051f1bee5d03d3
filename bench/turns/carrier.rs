//! As much of Twilio as a call needs: its REST API, signed reports, a media stream. Who placed the call takes it over here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha1::Sha1;
use tokio::sync::oneshot;

pub(crate) const ACCOUNT: &str = "AC00000000000000000000000000000001";
pub(crate) const AUTH_TOKEN: &str = "bench";

/// The carrier's side of a call: where it is reported, and where its audio goes.
pub(crate) struct Leg {
    pub(crate) sid: String,
    report: String,
    pub(crate) media: String,
    pub(crate) token: String,
}

/// The workers that wait for a call to be dialled, by the called number.
#[derive(Default)]
pub(crate) struct Carrier {
    expected: Mutex<HashMap<String, oneshot::Sender<Leg>>>,
}

impl Carrier {
    /// The call to a number, once it is dialled.
    pub(crate) fn expect(&self, number: &str) -> oneshot::Receiver<Leg> {
        let (sender, receiver) = oneshot::channel();
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).insert(number.to_owned(), sender);
        receiver
    }
}

impl Leg {
    pub(crate) fn signature(&self) -> String {
        sign(&self.media, &[])
    }

    pub(crate) async fn report(&self, http: &reqwest::Client, status: &str) -> anyhow::Result<()> {
        let fields =
            [("AccountSid", ACCOUNT), ("CallSid", &self.sid), ("CallStatus", status), ("Direction", "outbound-api")];
        let signature = sign(&self.report, &fields);
        let request = http.post(&self.report).header("X-Twilio-Signature", signature);
        let body: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let answer = request.header("Content-Type", "application/x-www-form-urlencoded").body(body).send().await?;
        anyhow::ensure!(answer.status().is_success(), "a report of {status} was answered {}", answer.status());
        Ok(())
    }
}

pub(crate) fn router(carrier: Arc<Carrier>) -> axum::Router {
    axum::Router::new()
        .route("/2010-04-01/Accounts/{account}/Calls.json", post(create))
        .route("/2010-04-01/Accounts/{account}/Calls/{call}", post(change))
        .with_state(carrier)
}

async fn create(
    State(carrier): State<Arc<Carrier>>,
    Form(form): Form<Vec<(String, String)>>,
) -> (StatusCode, Json<Value>) {
    let field = |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
    let sid = format!("CA{:032x}", rand::random::<u128>());
    let leg = || -> Option<Leg> {
        let twiml = field("Twiml")?;
        Some(Leg {
            sid: sid.clone(),
            report: field("StatusCallback")?,
            media: attribute(&twiml, "Stream", "url")?,
            token: attribute(&twiml, "Parameter", "value")?,
        })
    };
    let (Some(leg), Some(to)) = (leg(), field("To")) else {
        let error = json!({ "code": 21205, "message": "A field is missing.", "status": 400 });
        return (StatusCode::BAD_REQUEST, Json(error));
    };
    if let Some(expected) = carrier.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&to) {
        // The waiting worker may have given up.
        let _ = expected.send(leg);
    }
    (StatusCode::CREATED, Json(json!({ "sid": sid, "status": "queued", "queue_time": "0" })))
}

/// Ignores a hang-up: the caller hangs up without being asked to.
async fn change(Path((_, call)): Path<(String, String)>) -> Json<Value> {
    Json(json!({ "sid": call.trim_end_matches(".json"), "status": "completed" }))
}

/// An attribute of an element in a document that the service made.
fn attribute(xml: &str, element: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{element} "))?;
    let (tag, _) = rest.split_once('>')?;
    let (_, value) = tag.split_once(&format!("{name}=\""))?;
    Some(value.split_once('"')?.0.replace("&amp;", "&"))
}

/// As Twilio signs: HMAC-SHA1 of the address and the sorted fields.
fn sign(url: &str, fields: &[(&str, &str)]) -> String {
    let mut fields = fields.to_vec();
    fields.sort_unstable();
    let mut mac = Hmac::<Sha1>::new_from_slice(AUTH_TOKEN.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(url.as_bytes());
    for (name, value) in fields {
        mac.update(name.as_bytes());
        mac.update(value.as_bytes());
    }
    STANDARD.encode(mac.finalize().into_bytes())
}
