//! Which addresses requests reach and, above all, which they do not.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_compression::tokio::bufread::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
use switchhook_core::id::TenantId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::*;

/// Longer than any working test takes.
const LONG: Duration = Duration::from_secs(60);

/// Answers every connection with `answer`, and counts the connections.
async fn listener(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer).await;
                // Held open: a body without an end must not delay the client beyond its deadline.
                let _ = stream.read(&mut [0; 4096]).await;
            });
        }
    });
    (address, connections)
}

fn client(allow: &str, dns: Option<SocketAddr>, deadline: Duration) -> Client {
    let network = NetworkSettings { dns, extra_ca: None };
    Client::new(&network, &allow.parse().expect("a policy"), deadline).expect("a client")
}

async fn post(client: &Client, url: &str) -> Result<Answer, SendError> {
    client.post(url, HeaderMap::new(), b"{}".to_vec()).await
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_in_every_notation() {
    let client = client("192.0.2.0/24,http", None, LONG);
    for host in [
        "127.0.0.1",
        "2130706433",
        "10.0.0.1",
        "169.254.169.254",
        "168.63.129.16",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "0.0.0.0",
    ] {
        let refused = post(&client, &format!("http://{host}/")).await.expect_err(host);
        assert!(matches!(refused, SendError::Url(UrlRefusal::Address(_))), "{host}: {refused:?}");
    }
    assert_eq!(post(&client, "http://localhost/").await.expect_err("local"), SendError::Url(UrlRefusal::PrivateName));
}

#[tokio::test]
async fn a_name_is_refused_for_one_forbidden_address_among_good_ones() {
    let (address, connections) = listener(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let url = format!("http://hooks.example.com:{}/", address.port());
    for forbidden in ["127.0.0.1", "169.254.169.254", "10.1.2.3", "::1", "::ffff:127.0.0.1", "fe80::1"] {
        let forbidden: IpAddr = forbidden.parse().expect("an address");
        let names = dns::tests::server(vec!["8.8.8.8".parse().expect("an address"), forbidden]).await;
        let refused = post(&client("8.8.8.8,http", Some(names), LONG), &url).await.expect_err("forbidden");
        assert!(matches!(refused, SendError::Refused(_)), "{forbidden}: {refused:?}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0, "nothing was even connected to");

    let names = dns::tests::server(vec!["127.0.0.1".parse().expect("an address")]).await;
    let answer = post(&client("127.0.0.0/8,http", Some(names), LONG), &url).await.expect("the operator allows it");
    assert_eq!((answer.status, connections.load(Ordering::SeqCst)), (200, 1));

    let empty = dns::tests::server(Vec::new()).await;
    assert_eq!(
        post(&client("192.0.2.0/24,http", Some(empty), LONG), &url).await.expect_err("no address"),
        SendError::Unknown
    );
}

#[tokio::test]
async fn redirects_are_answers_and_are_not_followed() {
    let (elsewhere, reached) = listener(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let answer =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{elsewhere}/\r\ncontent-length: 0\r\n\r\n");
    let (address, _) = listener(answer.leak().as_bytes()).await;
    let answer = post(&client("127.0.0.0/8,http", None, LONG), &format!("http://{address}/")).await.expect("an answer");
    assert_eq!((answer.status, reached.load(Ordering::SeqCst)), (307, 0));
}

#[tokio::test(start_paused = true)]
async fn the_status_counts_even_when_the_body_never_ends_and_silence_is_a_timeout() {
    let short = Duration::from_millis(300);
    let client = client("127.0.0.0/8,http", None, short);
    let (endless, _) = listener(b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 100\r\n\r\nwait\0").await;
    let answer = post(&client, &format!("http://{endless}/")).await.expect("a status");
    assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("7")));
    assert_eq!(answer.excerpt, "wait\u{fffd}", "no database takes a NUL in text");

    let (silent, _) = listener(b"").await;
    assert_eq!(post(&client, &format!("http://{silent}/")).await.expect_err("silence"), SendError::Timeout(short));

    // Bound, so that no other test gets the port, and not listening.
    let gone = tokio::net::TcpSocket::new_v4().expect("a socket");
    gone.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let gone_url = format!("http://{}/", gone.local_addr().expect("bound"));
    let refused = post(&client, &gone_url).await.expect_err("the port is closed");
    assert!(matches!(&refused, SendError::Connect(words) if words.contains("refused")), "{refused:?}");
}

#[tokio::test]
async fn no_more_than_the_limit_of_an_answer_is_read() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1048576\r\n\r\n".as_slice();
    let (address, _) = listener([head, &[b'x'; READ_LIMIT]].concat().leak()).await;
    let patient = client("127.0.0.0/8,http", None, LONG * 100);
    let url = format!("http://{address}/");
    // Reading further would block: the rest never arrives.
    let answer = tokio::time::timeout(LONG, post(&patient, &url)).await.expect("it stops").expect("a status");
    assert_eq!((answer.status, answer.excerpt.len()), (200, EXCERPT));
}

#[tokio::test]
async fn a_request_is_framed_by_the_client_whatever_headers_were_stored() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.expect("answered");
        String::from_utf8_lossy(&request[..read]).to_ascii_lowercase()
    });
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-length", "1"),
        ("transfer-encoding", "chunked"),
        ("host", "elsewhere.example"),
        ("proxy-authorization", "a"),
        ("x-own", "kept"),
    ] {
        headers.insert(name, value.parse().expect("a value"));
    }
    let request = Request { method: Method::POST, url, headers, body: Some(b"{\"day\":1}".to_vec()) };
    client("127.0.0.0/8,http", None, LONG).ask(request, LONG).await.unwrap_or_else(|error| panic!("{error}"));
    let request = server.await.expect("no panic");
    assert!(request.contains("x-own: kept") && request.contains("content-length: 9"), "{request}");
    for absent in ["chunked", "elsewhere.example", "proxy-authorization", "content-length: 1\r"] {
        assert!(!request.contains(absent), "{absent}: {request}");
    }
}

#[tokio::test]
async fn an_exemption_for_a_port_opens_that_port_alone_and_no_public_host() {
    let (address, connections) = listener(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let (other, reached) = listener(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let names = dns::tests::server(vec!["127.0.0.1".parse().expect("an address")]).await;
    let allow = format!("127.0.0.1:{},http", address.port());
    let client = client(&allow, Some(names), LONG);
    for host in ["hooks.example.com", "127.0.0.1"] {
        let answer = post(&client, &format!("http://{host}:{}/", address.port())).await.expect(host);
        assert_eq!(answer.status, 200);
        // Tries the second port with the client of the first one already built.
        post(&client, &format!("http://{host}:{}/", other.port())).await.expect_err(host);
        post(&client, &format!("https://{host}:{}/", other.port())).await.expect_err(host);
    }
    assert_eq!((connections.load(Ordering::SeqCst), reached.load(Ordering::SeqCst)), (2, 0));

    let public = dns::tests::server(vec!["8.8.8.8".parse().expect("an address")]).await;
    let client = self::client(&allow, Some(public), LONG);
    let refused = post(&client, "http://hooks.example.com/").await.expect_err("plain HTTP to a public host");
    assert_eq!(refused, SendError::Url(UrlRefusal::Scheme));
    let refused = post(&client, "https://hooks.example.com:22/").await.expect_err("a port of another service");
    assert_eq!(refused, SendError::Url(UrlRefusal::Port));
}

#[tokio::test]
async fn what_one_tenant_may_reach_another_may_not() {
    let (address, connections) = listener(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let (tenant, other) = (TenantId::from_uuid(Uuid::from_u128(1)), TenantId::from_uuid(Uuid::from_u128(2)));
    let settings = ClientSettings::new(&NetworkSettings::default(), &AddressPolicy::default()).expect("settings");
    let exemptions = Exemptions::default();
    let clients = PerTenant::new(exemptions.clone(), move |more| settings.clone().with(more).client(LONG));
    let clients = clients.expect("clients");
    let url = format!("http://{address}/");
    post(&clients.of(tenant), &url).await.expect_err("nothing is exempt");
    exemptions.set(tenant, format!("{address},http").parse().expect("a policy"));
    assert_eq!(post(&clients.of(tenant), &url).await.expect("exempt").status, 200);
    post(&clients.of(other), &url).await.expect_err("not for this one");
    exemptions.set(tenant, AddressPolicy::default());
    post(&clients.of(tenant), &url).await.expect_err("the operator took it back");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

/// Returns the answer with these headers and this body.
async fn page(head: &str, body: &[u8]) -> Result<Page, SendError> {
    let head = format!("HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n", body.len());
    let (address, _) = listener([head.as_bytes(), body].concat().leak()).await;
    let request =
        Request { method: Method::GET, url: format!("http://{address}/"), headers: HeaderMap::new(), body: None };
    client("127.0.0.0/8,http", None, LONG).ask(request, LONG).await
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

/// Packs a body with these encodings in turn.
async fn packed(body: &[u8], encodings: &[&str]) -> Vec<u8> {
    let mut body = body.to_vec();
    for encoding in encodings {
        let mut out = Vec::new();
        let read = match *encoding {
            "gzip" => GzipEncoder::new(body.as_slice()).read_to_end(&mut out).await,
            "deflate" => ZlibEncoder::new(body.as_slice()).read_to_end(&mut out).await,
            "raw deflate" => DeflateEncoder::new(body.as_slice()).read_to_end(&mut out).await,
            "br" => BrotliEncoder::new(body.as_slice()).read_to_end(&mut out).await,
            "zstd" => ZstdEncoder::new(body.as_slice()).read_to_end(&mut out).await,
            other => unreachable!("{other}"),
        };
        read.expect("packed");
        body = out;
    }
    body
}

#[tokio::test]
async fn a_compressed_answer_is_read_whatever_it_was_compressed_with() {
    let json = "{\"name\":\"Müller\"}";
    for (headers, encodings) in [
        (&["gzip"][..], &["gzip"][..]),
        (&["deflate"], &["deflate"]),
        (&["deflate"], &["raw deflate"]),
        (&["br"], &["br"]),
        (&["zstd"], &["zstd"]),
        (&["x-gzip"], &["gzip"]),
        (&["GZIP"], &["gzip"]),
        (&["Br"], &["br"]),
        (&["gzip, br"], &["gzip", "br"]),
        (&["Gzip ,identity,ZSTD"], &["gzip", "zstd"]),
        (&["gzip", "br"], &["gzip", "br"]),
        (&["deflate, gzip, br, zstd"], &["deflate", "gzip", "br", "zstd"]),
        (&["identity"], &[]),
        (&["Identity", ""], &[]),
        (&["utf-8"], &[]),
    ] {
        let head: String = headers.iter().map(|value| format!("Content-Encoding: {value}\r\n")).collect();
        let page = page(&head, &packed(json.as_bytes(), encodings).await).await;
        let page = page.unwrap_or_else(|error| panic!("{headers:?}: {error}"));
        assert_eq!((page.text().as_str(), page.whole), (json, true), "{headers:?}");
    }
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let empty = page(&format!("content-encoding: {encoding}\r\n"), b"").await.expect("an answer");
        assert_eq!((empty.body.len(), empty.whole), (0, true), "{encoding}");
    }
    let two_members = [packed(b"{\"name\":", &["gzip"]).await, packed(b"1}", &["gzip"]).await].concat();
    assert_eq!(page("content-encoding: gzip\r\n", &two_members).await.expect("an answer").text(), "{\"name\":1}");
    let latin = page("content-type: text/plain; charset=iso-8859-1\r\n", &[b'M', 0xfc]).await.expect("an answer");
    assert_eq!(latin.text(), "Mü");
}

#[tokio::test]
async fn an_answer_that_cannot_be_unpacked_is_an_error_with_the_reason() {
    let broken = page("content-encoding: gzip\r\n", b"M").await;
    assert!(matches!(broken, Err(SendError::Broken(_))));
    let cut = packed(&[b'x'; 1000], &["gzip"]).await;
    let cut = page("content-encoding: gzip\r\n", &cut[..cut.len() - 9]).await;
    assert!(matches!(cut, Err(SendError::Broken(_))));
    for (encoding, reason) in [
        ("compress", "it is encoded as \"compress\", and only gzip, deflate, br, zstd can be read"),
        ("gzip, Exi", "it is encoded as \"Exi\", and only gzip, deflate, br, zstd can be read"),
        ("br, br, br, br, br", "it is encoded 5 times, and at most 4 are read"),
    ] {
        let refused = page(&format!("content-encoding: {encoding}\r\n"), b"{}").await.err();
        assert_eq!(refused, Some(SendError::Broken(reason.to_owned())), "{encoding}");
    }
}

#[tokio::test]
async fn the_deadline_covers_a_compressed_answer() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: X-GZIP\r\ncontent-length: 100\r\n\r\n".as_slice();
    let (address, _) = listener([head, &packed(b"wait", &["gzip"]).await[..12]].concat().leak()).await;
    let short = Duration::from_millis(300);
    let request =
        Request { method: Method::GET, url: format!("http://{address}/"), headers: HeaderMap::new(), body: None };
    let late = client("127.0.0.0/8,http", None, LONG).ask(request, short).await.err();
    assert_eq!(late, Some(SendError::Timeout(short)));
}

#[tokio::test]
async fn the_limit_is_of_what_was_unpacked() {
    // 16 MiB of zeros in 27 bytes.
    let bomb = from_hex("cbffff3ff82700e2b14020f7fe2ffffffff04f00c4611180eefd1f");
    let page = page("content-encoding: br\r\n", &bomb).await.expect("an answer");
    assert_eq!((page.body.len(), page.whole), (READ_LIMIT, false));
    let twice = packed(&[0; 16 * 1024 * 1024], &["gzip", "zstd"]).await;
    let page = self::page("content-encoding: gzip, zstd\r\n", &twice).await.expect("an answer");
    assert_eq!((page.body.len(), page.whole), (READ_LIMIT, false));
    // The name of the packed file is 17 MiB long: nearly no byte reaches the reader.
    let file = packed(b"{}", &["gzip"]).await;
    let name = [&[b'a'; 17 * 1024 * 1024][..], &[0]].concat();
    let named = [&[0x1f, 0x8b, 8, 8], &file[4..10], &name, &file[10..]].concat();
    let nothing = packed(&named, &["zstd"]).await;
    let endless = self::page("content-encoding: gzip, zstd\r\n", &nothing).await.err();
    assert_eq!(endless, Some(SendError::Broken("it unpacks to too many bytes".to_owned())));
}
