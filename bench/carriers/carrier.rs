//! As much of Twilio as a call needs: its REST API, signed reports, a media stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha1::Sha1;
use tokio_util::sync::CancellationToken;

use super::caller::{self, Noticed};

pub(crate) const AUTH_TOKEN: &str = "bench";
/// From the dial to the answer.
const RINGS: Duration = Duration::from_millis(500);

/// The carrier's calls.
pub(crate) struct Carrier {
    turns: u32,
    http: reqwest::Client,
    legs: Mutex<HashMap<String, CancellationToken>>,
    /// The observations of all callers.
    noticed: Mutex<Noticed>,
}

/// A call: where it is reported, and where its audio goes.
struct Leg {
    sid: String,
    report: String,
    media: String,
    token: String,
    end: CancellationToken,
}

impl Carrier {
    pub(crate) fn new(turns: u32) -> Self {
        Self { turns, http: reqwest::Client::new(), legs: Mutex::default(), noticed: Mutex::default() }
    }

    /// Takes the observations of all callers so far.
    pub(crate) fn noticed(&self) -> Noticed {
        std::mem::take(&mut self.noticed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn live(self: Arc<Self>, leg: Leg) -> anyhow::Result<()> {
        tokio::time::sleep(RINGS).await;
        self.report(&leg, "in-progress").await?;
        let signature = sign(&leg.media, &[]);
        let talk = caller::talk(&leg.media, &signature, &leg.sid, &leg.token, self.turns);
        let noticed = tokio::select! {
            noticed = talk => noticed?,
            () = leg.end.cancelled() => Noticed::default(),
        };
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner).add(&noticed);
        self.report(&leg, "completed").await
    }

    async fn report(&self, leg: &Leg, status: &str) -> anyhow::Result<()> {
        let fields = [
            ("AccountSid", caller::ACCOUNT),
            ("CallSid", &leg.sid),
            ("CallStatus", status),
            ("Direction", "outbound-api"),
        ];
        let signature = sign(&leg.report, &fields);
        let request = self.http.post(&leg.report).header("X-Twilio-Signature", signature);
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
    let leg = || -> Option<Leg> {
        let twiml = field("Twiml")?;
        Some(Leg {
            sid: format!("CA{:032x}", rand::random::<u128>()),
            report: field("StatusCallback")?,
            media: attribute(&twiml, "Stream", "url")?,
            token: attribute(&twiml, "Parameter", "value")?,
            end: CancellationToken::new(),
        })
    };
    let Some(leg) = leg() else {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({ "code": 21205, "message": "A field is missing.", "status": 400 })),
        );
    };
    let sid = leg.sid.clone();
    carrier.legs.lock().unwrap_or_else(PoisonError::into_inner).insert(sid.clone(), leg.end.clone());
    let live = carrier.live(leg);
    tokio::spawn(async move {
        if let Err(error) = live.await {
            eprintln!("A call of the carrier failed: {error:#}");
        }
    });
    (StatusCode::CREATED, Json(json!({ "sid": sid, "status": "queued", "queue_time": "0" })))
}

async fn change(State(carrier): State<Arc<Carrier>>, Path((_, call)): Path<(String, String)>) -> Json<Value> {
    let sid = call.trim_end_matches(".json");
    if let Some(end) = carrier.legs.lock().unwrap_or_else(PoisonError::into_inner).remove(sid) {
        end.cancel();
    }
    Json(json!({ "sid": sid, "status": "completed" }))
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
