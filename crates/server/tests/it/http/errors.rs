//! Every way to fail is answered in one shape.

use crate::harness::TestService;

use super::{RawAnswer, send_raw};

/// A request, with the status and code of its response.
struct Case {
    name: &'static str,
    request: Vec<u8>,
    status: u16,
    code: &'static str,
}

/// A request with the key; `more` are further header lines.
fn with_key(key: &str, line: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("{line} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\n{more}");
    let length = if more.contains("Content-Length") || more.contains("Transfer-Encoding") {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    [head.as_bytes(), length.as_bytes(), b"\r\n", body].concat()
}

fn without_key(line: &str, more: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\nHost: test\r\n{more}\r\n").into_bytes()
}

const JSON: &str = "Content-Type: application/json\r\n";
const UNKNOWN: &str = "0198c6a0-0000-7000-8000-000000000000";

fn chunked(bytes: usize) -> Vec<u8> {
    let mut body = format!("{bytes:x}\r\n").into_bytes();
    body.resize(body.len() + bytes, b' ');
    body.extend(b"\r\n0\r\n\r\n");
    body
}

fn check(name: &str, answer: &RawAnswer, status: u16, code: &str) {
    let shown = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(answer.status, status, "{name}: {shown}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
    let body = answer.json();
    let fields: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(fields, ["code", "detail", "errors", "request_id", "status", "title", "type"], "{name}");
    assert_eq!((body["status"].as_u64(), body["code"].as_str()), (Some(status.into()), Some(code)), "{name}: {shown}");
    assert!(body["detail"].as_str().is_some_and(|text| text.len() > 10), "{name}: {shown}");
    assert_eq!(body["request_id"].as_str(), answer.header("x-request-id"), "{name}");
    assert_eq!(answer.header("www-authenticate"), (status == 401).then_some("Bearer"), "{name}");
    assert!(answer.header("allow").is_some() || status != 405, "{name}");
}

#[tokio::test]
async fn every_way_to_fail_has_the_same_shape_and_the_first_reason_in_the_fixed_order_wins() {
    let (service, agent) = TestService::ready().await;
    let (key, base) = (service.client.key.as_str(), service.client.base.as_str());
    let keyed = |line: &str, more: &str, body: &[u8]| with_key(key, line, more, body);
    let known = format!("PATCH /v1/agents/{}", agent.id);
    let unknown = format!("PATCH /v1/agents/{UNKNOWN}");
    let large = "Content-Length: 2000000\r\n";
    let chunks = "Transfer-Encoding: chunked\r\n";
    let nested = format!(r#"{{"name":"x","more":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let two_keys = format!("Authorization: Bearer {key}\r\n");
    let case = |name, request, status, code| Case { name, request, status, code };
    let not_found = |name, request| case(name, request, 404, "not_found");
    let invalid = |name, request| case(name, request, 422, "invalid_request");
    let unauthorized = |name, request| case(name, request, 401, "unauthorized");
    let cases = [
        // 401 comes first.
        not_found("nothing there", without_key("GET /auth/nowhere", "")),
        unauthorized("no key", without_key("GET /v1/calls", "")),
        unauthorized("no key, and nothing there", without_key("GET /v1/nowhere", "")),
        unauthorized("no key, and the root", without_key("GET /v1", "")),
        unauthorized("no key, and the root with a slash", without_key("GET /v1/", "")),
        unauthorized("no key, and the wrong method", without_key("DELETE /v1/calls", "")),
        unauthorized("no key, and a large body", without_key("POST /v1/agents", large)),
        unauthorized("another scheme", without_key("GET /v1/calls", "Authorization: Basic dTpw\r\n")),
        unauthorized("a scheme alone", without_key("GET /v1/calls", "Authorization: Bearer\r\n")),
        unauthorized("no key of ours", without_key("GET /v1/calls", "Authorization: Bearer x y\r\n")),
        unauthorized("two keys", with_key(key, "GET /v1/calls", &two_keys, b"")),
        unauthorized(
            "bytes that are no text",
            b"GET /v1/calls HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \xff\xfe\r\n\r\n".to_vec(),
        ),
        // Then 404 and 405.
        not_found("nothing there, with a key", keyed("GET /v1/nowhere", "", b"")),
        not_found("the root", keyed("GET /v1", "", b"")),
        not_found("the root with a slash", keyed("GET /v1/", "", b"")),
        not_found("no id", keyed("GET /v1/calls/nonsense", "", b"")),
        not_found("an id that nothing has", keyed(&format!("GET /v1/calls/{UNKNOWN}"), "", b"")),
        not_found("an id that is no text", keyed("GET /v1/calls/%ff%fe", "", b"")),
        not_found("an id with U+0000", keyed("GET /v1/calls/%00", "", b"")),
        not_found("nothing there, large body", keyed("POST /v1/nowhere", large, b"")),
        not_found("an id that nothing has, large body", keyed(&unknown, large, b"")),
        not_found("an id that nothing has, large body in chunks", keyed(&unknown, chunks, &chunked(2_000_000))),
        not_found("an id that nothing has, bad body", keyed(&unknown, JSON, b"nonsense")),
        case("a method that is not taken", keyed("DELETE /v1/calls", "", b""), 405, "method_not_allowed"),
        case("OPTIONS", keyed("OPTIONS /v1/calls", "", b""), 405, "method_not_allowed"),
        case("a method nobody knows", keyed("FLY /v1/calls", "", b""), 405, "method_not_allowed"),
        case("a method that is not taken outside", without_key("POST /healthz", ""), 405, "method_not_allowed"),
        case("wrong method, large body", keyed("PUT /v1/agents", large, b""), 405, "method_not_allowed"),
        // Then 413 and 422.
        case("a large body", keyed("POST /v1/agents", &format!("{JSON}{large}"), b""), 413, "body_too_large"),
        case("a large body, changed", keyed(&known, &format!("{JSON}{large}"), b""), 413, "body_too_large"),
        case(
            "a large body in chunks",
            keyed("POST /v1/agents", &format!("{JSON}{chunks}"), &chunked(2_000_000)),
            413,
            "body_too_large",
        ),
        invalid("no body", keyed("POST /v1/agents", "", b"")),
        invalid("no JSON", keyed("POST /v1/agents", JSON, b"nonsense")),
        invalid("half of it", keyed("POST /v1/agents", JSON, br#"{"name":"#)),
        invalid("no object", keyed("POST /v1/agents", JSON, b"[]")),
        invalid("another type", keyed("POST /v1/agents", "Content-Type: text/plain\r\n", b"{}")),
        invalid("two types", keyed("POST /v1/agents", &format!("{JSON}{JSON}"), b"{}")),
        invalid("a body that is no text", keyed("POST /v1/api-keys", JSON, b"{\"name\":\"\xff\"}")),
        invalid("an unknown field that is no text", keyed("POST /v1/api-keys", JSON, b"{\"x\":\"\xff\"}")),
        invalid("half a character", keyed("POST /v1/api-keys", JSON, br#"{"name":"\ud800"}"#)),
        invalid("U+0000", keyed("POST /v1/api-keys", JSON, br#"{"name":"a\u0000"}"#)),
        invalid("a field twice", keyed("POST /v1/api-keys", JSON, br#"{"name":"a","name":"b"}"#)),
        invalid("a number beyond all", keyed("POST /v1/api-keys", JSON, br#"{"expires_in_days":1e999}"#)),
        invalid("a number too large", keyed("POST /v1/api-keys", JSON, br#"{"expires_in_days":18446744073709551617}"#)),
        invalid("a hundred thousand levels", keyed("POST /v1/agents", JSON, nested.as_bytes())),
        invalid("the same, patched", keyed(&known, JSON, nested.as_bytes())),
        invalid("the same, as a call", keyed("POST /v1/calls", JSON, nested.as_bytes())),
        invalid("two idempotency keys", keyed("POST /v1/calls", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", b"{}")),
        invalid("an idempotency key with a space", keyed("POST /v1/calls", "Idempotency-Key: a b\r\n", b"{}")),
        invalid("a limit of nothing", keyed("GET /v1/calls?limit=0", "", b"")),
        invalid("a limit too large", keyed("GET /v1/calls?limit=99999999999999999999", "", b"")),
        invalid("two limits", keyed("GET /v1/calls?limit=1&limit=2", "", b"")),
        invalid("a cursor that is none", keyed("GET /v1/agents?cursor=nonsense", "", b"")),
        invalid("a filter that is no text", keyed("GET /v1/calls?to=%ff", "", b"")),
        invalid("a filter with U+0000", keyed("GET /v1/calls?metadata[a]=%00", "", b"")),
        invalid("a word that is none", keyed("GET /v1/calls?status=ringing", "", b"")),
    ];
    for Case { name, request, status, code } in cases {
        let answer = send_raw(base, &request).await;
        check(name, &answer, status, code);
        let counted = request.windows(key.len()).any(|window| window == key.as_bytes()) && status != 401;
        assert_eq!(answer.header("ratelimit").is_some(), counted, "{name}");
    }
    service.stop().await;
}

#[tokio::test]
async fn allow_names_the_methods_that_an_address_takes() {
    let service = TestService::start().await;
    let key = &service.client.key;
    for (line, allowed) in [
        ("PUT /v1/agents", vec!["GET", "HEAD", "POST"]),
        (&format!("POST /v1/agents/{UNKNOWN}"), vec!["DELETE", "GET", "HEAD", "PATCH"]),
        (&format!("GET /v1/calls/{UNKNOWN}/hangup"), vec!["POST"]),
        ("POST /metrics", vec!["GET", "HEAD"]),
    ] {
        let answer = send_raw(&service.client.base, &with_key(key, line, "", b"")).await;
        let mut methods: Vec<_> = answer.header("allow").expect("Allow").split(',').map(str::trim).collect();
        methods.sort_unstable();
        assert_eq!((answer.status, methods), (405, allowed), "{line}");
    }
}

#[tokio::test]
async fn response_without_a_body_has_a_request_id_that_the_client_cannot_choose() {
    let service = TestService::start().await;
    let sent = "X-Request-Id: chosen\r\n";
    let head = send_raw(&service.client.base, &with_key(&service.client.key, "HEAD /v1/tenant", sent, b"")).await;
    assert_eq!(head.status, 200);
    assert!(head.header("x-request-id").is_some_and(|id| id.len() == 36), "{:?}", head.headers);
}

#[tokio::test]
async fn what_is_no_number_of_this_world_makes_another_request() {
    let (service, agent) = TestService::ready().await;
    let place = async |number: &str| {
        let body = format!(r#"{{"agent_id":"{}","to":"+12025550111","metadata":{{"n":{number}}}}}"#, agent.id);
        let more = format!("{JSON}Idempotency-Key: large\r\n");
        let request = with_key(&service.client.key, "POST /v1/calls", &more, body.as_bytes());
        send_raw(&service.client.base, &request).await
    };
    let first = place("18446744073709551617.5").await;
    let again = place("18446744073709551617.5").await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((again.header("idempotent-replayed"), &again.body), (Some("true"), &first.body));
    assert_eq!(place("18446744073709551618.5").await.json()["code"], "idempotency_key_reused");
    service.stop().await;
}

#[tokio::test]
async fn a_body_and_a_header_that_cannot_be_read_are_told_where() {
    let service = TestService::start().await;
    let send = async |more: &str, body: &[u8]| {
        let request = with_key(&service.client.key, "POST /v1/calls", &format!("{JSON}{more}"), body);
        send_raw(&service.client.base, &request).await.json()
    };
    assert_eq!(send("", b"nonsense").await["detail"], "The body is not JSON: line 1, column 2.");
    assert_eq!(
        send("", b"{\n\"to\":").await["detail"],
        "The body is not JSON: it ends too early, at line 2, column 5."
    );
    assert_eq!(send("", br#"{"to":"web","to":"web"}"#).await["errors"][0]["path"], "to");
    for (keys, message) in [
        ("Idempotency-Key: a b\r\n", "must have 1 to 255 visible ASCII characters and no spaces"),
        ("Idempotency-Key: a\r\nIdempotency-Key: b\r\n", "must be sent once"),
    ] {
        let refused = send(keys, b"{}").await;
        let error = &refused["errors"][0];
        assert_eq!((&error["path"], &error["message"]), (&"Idempotency-Key".into(), &message.into()), "{refused}");
    }
    service.stop().await;
}
