//! The whole API as a parser: a request of three parts (line, headers, body) is answered, and never with 500.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderName, HeaderValue, Request, Uri};
use serde_json::{Value, json};
use switchhook_carriers::address::Addresses;
use switchhook_fuzz::{Dialogue, Read, Target};
use switchhook_runtime::clock::Clock;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::config::Config;
use crate::http::{HttpState, router};
use crate::operator;
use crate::store::Store;
use crate::store::tenants::OwnLimits;
use crate::wakeups::Wakeups;

pub(super) const FUZZED: Target = Target { file: "crates/server/src/http/mod.rs", seeds, read };

/// As many as a run of hours makes.
const MANY: u32 = 1_000_000;
/// The largest answer: a page of calls, each with its metadata.
const ANSWER: usize = 8 << 20;

static API: LazyLock<Api> = LazyLock::new(Api::new);

struct Api {
    runtime: Runtime,
    router: Router,
    key: String,
    agent: String,
    call: String,
    simulator: String,
    webhook: String,
    _folder: TempDir,
}

impl Api {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (router, key) = runtime.block_on(service(&folder));
        let [agent, call, simulator, webhook] = [const { String::new() }; 4];
        let mut api = Self { runtime, router, key, agent, call, simulator, webhook, _folder: folder };
        api.simulator = api.create("/v1/connections", &json!({ "name": "phone", "provider": "simulator" }));
        api.create("/v1/numbers", &json!({ "number": "+12025550199", "connection_id": api.simulator }));
        api.agent = api.create("/v1/agents", &json!({ "name": "Ava", "instructions": "Book." }));
        api.call = api.create("/v1/calls", &json!({ "agent_id": api.agent, "to": "+12025550100" }));
        api.webhook = api.create("/v1/webhooks", &json!({ "url": "https://1.1.1.1/" }));
        api
    }

    fn create(&self, path: &str, body: &Value) -> String {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", self.key)).body(body.to_string().into());
        let (status, body) = self.answer(request.expect("a request"));
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().expect("an id").to_owned()
    }

    fn answer(&self, request: Request<Body>) -> (u16, Value) {
        self.runtime.block_on(async {
            let answer = self.router.clone().oneshot(request).await.expect("the router never fails");
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            let body = to_bytes(answer.into_body(), ANSWER).await.expect("an answer that ends");
            let is_json =
                headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
            let read = serde_json::from_slice(&body);
            (status, if is_json { read.expect("JSON") } else { Value::Null })
        })
    }
}

async fn service(folder: &TempDir) -> (Router, String) {
    let config = Arc::new(Config::for_tests(folder.path()));
    let store = Store::open(&config.database_url()).await.expect("a database");
    let limits = OwnLimits { rate_per_minute: Some(MANY), concurrent_calls: Some(MANY), monthly_calls: None };
    let made = operator::create_tenant(&store, &config, "Acme", limits).await.expect("a tenant");
    let vault = config.open_vault().expect("a key file");
    let addresses = Addresses::new("http://service.test".to_owned(), &vault);
    let state = HttpState::new(store, Clock::system(), config, vault, Wakeups::default(), addresses);
    (router(state), made.api_key.key)
}

fn seeds() -> Vec<Dialogue> {
    let Api { agent, call, simulator, webhook, .. } = &*API;
    let tool = json!({
        "type": "http", "name": "book", "description": "Books a table.", "method": "POST", "url": "https://1.1.1.1/tables",
        "parameters": { "type": "object", "properties": { "people": { "type": "integer" } }, "required": ["people"] },
    });
    let agent_body = json!({
        "name": "Reception", "instructions": "You are {{who}}.", "language": "en-US",
        "greeting": { "mode": "speak", "text": "Hello?", "interruptible": true },
        "llm": { "temperature": 0.5, "max_tokens": 300 }, "tts": { "speed": 1.1 },
        "silence": { "reprompt_after_seconds": 8, "max_reprompts": 2, "hangup_after_seconds": 30 },
        "limits": { "max_duration_seconds": 600, "ring_timeout_seconds": 30 },
        "answering_machine": { "mode": "detect", "on_machine": "leave_message", "message": "Call back." },
        "analysis": { "schema": { "type": "object", "properties": { "booked": { "type": "boolean" } } } },
        "privacy": { "redact": ["card_numbers"], "retention_days": 30 }, "variables": { "who": { "default": "Ava" } },
        "tools": [tool], "recording": { "enabled": true },
    });
    let call_body = json!({
        "agent_id": agent, "to": "+12025550100", "from": "+12025550199", "variables": { "who": "Ana", "n": 1.5 },
        "metadata": { "order": "A-17" }, "ring_timeout_seconds": 20, "dry_run": true,
        "overrides": { "greeting": { "text": "Hi" }, "instructions": "Be brief.", "limits": { "max_duration_seconds": 60 } },
    });
    let headers = "content-type: application/json\nidempotency-key: order-7\ntraceparent: \
                   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\nrange: bytes=0-99\nlast-event-id: 3\n\
                   accept-language: en;q=0.8\nif-range: \"x\"\nx-request-id: abc";
    let filters = format!(
        "GET /v1/calls?limit=5&status=queued,failed&direction=outbound&agent_id={agent}&to=%2B12025550100&\
         created_after=2026-01-01T00:00:00Z&metadata%5Border%5D=A-17&cursor={call}"
    );
    let requests = [
        ("POST /v1/agents".to_owned(), agent_body.clone()),
        (format!("PATCH /v1/agents/{agent}"), agent_body),
        ("POST /v1/calls".to_owned(), call_body),
        (format!("POST /v1/calls/{call}/dtmf"), json!({ "digits": "12w#" })),
        (format!("POST /v1/calls/{call}/say"), json!({ "text": "One moment.", "interrupt": true })),
        (format!("POST /v1/calls/{call}/transfer"), json!({ "to": "+12025550101" })),
        (
            "POST /v1/connections".to_owned(),
            json!({
                "name": "o", "provider": "openai", "credentials": { "api_key": "sk-12345678" }, "limits": { "max_concurrent": 3 },
                "settings": { "model": "gpt-5", "timeouts_ms": { "gap": 300 }, "headers": { "x-y": "z" }, "request": { "top_p": 0.5 } },
            }),
        ),
        (
            "POST /v1/numbers".to_owned(),
            json!({ "number": "+12025550198", "connection_id": simulator, "label": "Desk", "inbound_agent_id": agent }),
        ),
        ("POST /v1/api-keys".to_owned(), json!({ "name": "laptop", "expires_in_days": 30 })),
        (filters, Value::Null),
        (format!("GET /v1/calls/{call}/events"), Value::Null),
        (
            format!("GET /v1/webhooks/{webhook}/deliveries?state=failed&event=call.completed&call_id={call}"),
            Value::Null,
        ),
        (format!("PATCH /v1/webhooks/{webhook}"), json!({ "events": ["call.completed"], "enabled": true })),
        ("GET /v1/tenant".to_owned(), Value::Null),
    ];
    let parts = |(line, body): (String, Value)| {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        vec![line.into_bytes(), headers.as_bytes().to_vec(), body]
    };
    requests.map(parts).to_vec()
}

fn read(messages: &[Vec<u8>]) -> Read {
    let mut read = Read::default();
    read.count(request(messages).and_then(|request| {
        let shown = format!("{request:?}");
        let (status, body) = API.answer(request);
        assert!(status != 500 && status != 501 && status != 502, "{status} {body} to {shown}");
        if status >= 400 {
            assert!(body["code"].is_string() && body["detail"].is_string(), "{status} {body} to {shown}");
        }
        // A 409 is fine too: the request was understood, but a queued call cannot do that.
        if status < 400 || status == 409 { Ok(1) } else { Err(format!("{status} {body}").into()) }
    }));
    read
}

/// The request that the parts make, if they make one.
fn request(parts: &[Vec<u8>]) -> Result<Request<Body>, Box<dyn std::error::Error>> {
    let part = |at: usize| parts.get(at).map_or(&[][..], Vec::as_slice);
    let line = std::str::from_utf8(part(0))?;
    let (method, path) = line.split_once(' ').ok_or("no request line")?;
    let mut request = Request::builder().method(method).uri(path.parse::<Uri>()?);
    request = request.header("authorization", format!("Bearer {}", API.key));
    for line in part(1).split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':').ok_or("no header")?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        request = request.header(HeaderName::from_bytes(name)?, HeaderValue::from_bytes(value.trim_ascii())?);
    }
    Ok(request.body(part(2).to_vec().into())?)
}
