//! Names that resolve differently between the registration and the attempt.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

use super::peer::Peer;
use super::*;

/// A record of the only name.
#[derive(Clone, Copy, Debug)]
enum Record {
    Address(IpAddr),
    /// An alias of `localhost`.
    Alias,
}

/// The name server's answers to consecutive queries; the last entry is repeated.
type Script = Vec<Vec<Record>>;

/// A name server whose answers must not be cached.
struct NameServer {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

impl NameServer {
    async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("bound");
        let script: Arc<Mutex<Script>> = Arc::default();
        let said = script.clone();
        tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                let reply = reply(&query[..length], &said);
                let _gone = socket.send_to(&reply, from).await;
            }
        });
        Self { address, script }
    }

    /// Sets its answer.
    fn says(&self, addresses: &[&str]) {
        self.says_in_turn(vec![records(addresses)]);
    }

    fn says_in_turn(&self, script: Script) {
        *self.script.lock().expect("no panic") = script;
    }
}

fn records(addresses: &[&str]) -> Vec<Record> {
    let record = |word: &&str| match *word {
        "alias" => Record::Alias,
        address => Record::Address(address.parse().expect("an address")),
    };
    addresses.iter().map(record).collect()
}

/// Returns the answer to a query (RFC 1035 section 4). Queries for IPv4 addresses advance the script.
fn reply(query: &[u8], script: &Mutex<Script>) -> Vec<u8> {
    let kind = u16::from_be_bytes([query[query.len() - 4], query[query.len() - 3]]);
    let mut script = script.lock().expect("no panic");
    let records = script.first().cloned().unwrap_or_default();
    if kind == A && script.len() > 1 {
        script.remove(0);
    }
    let mut reply = query.to_vec();
    reply[2] |= 0x80;
    for record in records {
        let (of, data) = match record {
            Record::Alias => (CNAME, b"\x09localhost\x00".to_vec()),
            Record::Address(IpAddr::V4(address)) => (A, address.octets().to_vec()),
            Record::Address(IpAddr::V6(address)) => (AAAA, address.octets().to_vec()),
        };
        if of == kind || of == CNAME {
            reply[7] += 1;
            reply.extend_from_slice(&[0xc0, 12]);
            reply.extend_from_slice(&of.to_be_bytes());
            reply.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, u8::try_from(data.len()).expect("short")]);
            reply.extend_from_slice(&data);
        }
    }
    reply
}

const PUBLIC: &str = "8.8.8.8";
const REFUSED: &str = "the host cannot be reached: its address is not on the public internet (";

async fn service(names: &NameServer, allow: &str) -> TestService {
    TestService::start_as(standing_clock(), |config| {
        config.dns = Some(names.address);
        config.webhook_allow = allow.parse().expect("networks");
    })
    .await
}

#[tokio::test]
async fn a_name_that_turns_to_a_private_address_after_the_registration_is_not_connected_to() {
    let names = NameServer::start().await;
    // Only exempt addresses may use plain HTTP.
    let service = service(&names, &format!("{PUBLIC},2606:4700:4700::1111,http")).await;
    let here = Peer::answering("200 OK").await;
    let port = here.address.port();
    let here_too = Peer::start_at(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port)), |_| async {}).await;
    let url = format!("http://hooks.example.com:{port}/");

    names.says(&[PUBLIC]);
    let endpoint = Endpoint::register(&service.client, &url).await;
    for addresses in [
        ["127.0.0.1"].as_slice(),
        &["169.254.169.254"],
        &["168.63.129.16"],
        &["0.0.0.0"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["fd00:ec2::254"],
        &["alias"],
        &["alias", "127.0.0.1"],
        &[PUBLIC, "127.0.0.1"],
        &["127.0.0.1", PUBLIC],
        &[PUBLIC, "::1"],
        &["2606:4700:4700::1111", "::ffff:10.0.0.1"],
    ] {
        names.says(addresses);
        let attempt = endpoint.try_once().await;
        let error = attempt["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(REFUSED) && attempt["state"] == "pending", "{addresses:?}: {attempt}");
        assert_eq!((&attempt["status"], &attempt["number"]), (&Value::Null, &json!(1)), "{addresses:?}");
    }
    names.says(&[]);
    let attempt = endpoint.try_once().await;
    assert_eq!(attempt["error"], "the host name could not be resolved");
    assert_eq!((here.connections(), here_too.connections()), (0, 0));
}

#[tokio::test]
async fn a_name_is_judged_when_it_is_registered_and_one_that_does_not_resolve_is_accepted() {
    let names = NameServer::start().await;
    let service = service(&names, "").await;
    let register = async |name: &str| {
        let (status, answer) = service.client.post("/v1/webhooks", json!({ "url": format!("https://{name}/") })).await;
        (status.as_u16(), answer["errors"][0]["path"].as_str().map(str::to_owned))
    };
    let refused = (422, Some("url".to_owned()));
    let forbidden = [["10.0.0.1"].as_slice(), &[PUBLIC, "127.0.0.1"], &["::1"], &["alias"], &["alias", "127.0.0.1"]];
    for addresses in forbidden {
        names.says(addresses);
        assert_eq!(register("hooks.example.com").await, refused, "{addresses:?}");
    }
    for addresses in [[].as_slice(), &[PUBLIC], &["2606:4700:4700::1111"]] {
        names.says(addresses);
        assert_eq!(register("hooks.example.com").await, (201, None), "{addresses:?}");
    }
    // The address is taken from the URL; the name server is not queried.
    for host in ["127.1", "0x7f.1", "2130706433", "[::ffff:7f00:1]", "①②⑦.0.0.1", "user@10.0.0.1"] {
        assert_eq!(register(host).await, refused, "{host}");
    }
    // A change is checked like a registration.
    names.says(&[PUBLIC]);
    let endpoint = Endpoint::register(&service.client, "https://hooks.example.com/").await;
    names.says(&["192.168.1.1"]);
    let change = json!({ "url": "https://other.example.com/" });
    assert_eq!(endpoint.send(Method::PATCH, change).await, 422);
}

/// 127.0.0.2 stands for a public address here: this machine listens there, and the operator allows it.
#[tokio::test]
async fn an_attempt_resolves_the_name_once_and_connects_to_what_was_judged() {
    let names = NameServer::start().await;
    let service = service(&names, "127.0.0.2/32,http").await;
    let private = Peer::answering("200 OK").await;
    let at = SocketAddr::from(([127, 0, 0, 2], private.address.port()));
    let public = Peer::start_at(at, |mut stream| async move {
        let _asked = super::peer::read(&mut stream).await;
        let answer = b"HTTP/1.1 500 Later\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let _gone = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
    })
    .await;
    names.says(&["127.0.0.2"]);
    let url = format!("http://hooks.example.com:{}/", at.port());
    let endpoint = Endpoint::register(&service.client, &url).await;

    // Checked by the first answer, connected by the second: that is the attack.
    names.says_in_turn(vec![records(&["127.0.0.2"]), records(&["127.0.0.1"])]);
    let delivery = endpoint.test().await;
    let shown = endpoint.after(&delivery, 1).await;
    assert_eq!((&shown["attempt_log"][0]["status"], public.connections()), (&json!(500), 1), "{shown}");

    // The next attempts get the second answer, then a valid one again.
    endpoint.hasten(&delivery).await;
    let shown = endpoint.after(&delivery, 2).await;
    assert!(text(&shown["attempt_log"][1]["error"]).starts_with(REFUSED), "{shown}");
    names.says(&["127.0.0.2"]);
    endpoint.hasten(&delivery).await;
    let shown = endpoint.after(&delivery, 3).await;
    assert_eq!(shown["attempt_log"][2]["status"], 500, "{shown}");
    assert_eq!((public.connections(), private.connections()), (2, 0));
}
