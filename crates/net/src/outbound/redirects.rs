//! Redirects of servers that get a key with each request: models' own servers and gateways.

use reqwest::StatusCode;
use reqwest::redirect::{Action, Attempt, Policy};

/// Maximum redirects per request: servers add or remove a slash.
const MOST: usize = 3;

/// Returns the policy that follows redirects which keep method and body (RFC 9110 sections 15.4.8 and 15.4.9) and stay on the same origin.
/// Any other is the response: elsewhere the address was not checked, and the key may not go there. That is so from `http` to `https`, too,
/// since the key has crossed the network by then, and would before each request.
#[must_use]
pub fn on_same_origin() -> Policy {
    Policy::custom(decide)
}

fn decide(attempt: Attempt<'_>) -> Action {
    let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
    let stays = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps && stays && attempt.previous().len() <= MOST { attempt.follow() } else { attempt.stop() }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::outbound::{ClientSettings, NetworkSettings};

    /// A server that redirects `/STATUS/TARGET` there, and accepts anything else; keeps what it was asked.
    struct Server {
        address: SocketAddr,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Server {
        async fn start() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let (address, asked) = (listener.local_addr().expect("bound"), Arc::<Mutex<Vec<String>>>::default());
            let noted = asked.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    Self::answer(stream, &noted).await;
                }
            });
            Self { address, asked }
        }

        /// Answers one request, whose body is `{}`.
        async fn answer(mut stream: TcpStream, noted: &Mutex<Vec<String>>) {
            let (mut request, mut piece) = (String::new(), [0; 4096]);
            while !request.ends_with("{}") {
                let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
                request.push_str(&String::from_utf8_lossy(&piece[..read]));
            }
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            noted.lock().expect("whole").push(request);
            let head = match path[1..].split_once('/') {
                Some((status @ ("301" | "302" | "303" | "307" | "308"), target)) => {
                    format!("{status} Moved\r\nlocation: {target}")
                }
                _ => "200 OK".to_owned(),
            };
            let answer = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }

        /// Posts with a key. Returns the status and what each server was asked.
        async fn post(&self, path: &str) -> (u16, Vec<String>) {
            let policy = "127.0.0.0/8,http".parse().expect("a policy");
            let settings = ClientSettings::new(&NetworkSettings::default(), &policy).expect("settings");
            let client = settings.builder().redirect(on_same_origin()).build().expect("a client");
            let request = client.post(format!("http://{}{path}", self.address)).bearer_auth("s3cret").body("{}");
            let status = request.send().await.expect("a response").status().as_u16();
            (status, std::mem::take(&mut *self.asked.lock().expect("whole")))
        }
    }

    #[tokio::test]
    async fn redirects_on_the_same_origin_are_followed_with_method_body_and_key() {
        let server = Server::start().await;
        for status in [307, 308] {
            let (ended, asked) = server.post(&format!("/{status}//v1/chat/")).await;
            assert_eq!((ended, asked.len()), (200, 2), "{status}");
            let last = asked[1].to_lowercase();
            assert!(last.starts_with("post /v1/chat/ ") && last.ends_with("{}"), "{last}");
            assert!(last.contains("authorization: bearer s3cret"), "{last}");
        }
        let absolute = format!("/307/http://{}/v1", server.address);
        assert_eq!(server.post(&absolute).await.0, 200);
    }

    #[tokio::test]
    async fn other_redirects_are_the_response_and_the_key_goes_nowhere_else() {
        let (server, other) = (Server::start().await, Server::start().await);
        for (path, status) in [
            ("/301//v1/chat/".to_owned(), 301),
            ("/302//v1/chat/".to_owned(), 302),
            ("/303//v1/chat/".to_owned(), 303),
            (format!("/307/http://{}/v1", other.address), 307),
            (format!("/308/http://localhost:{}/v1", server.address.port()), 308),
            (format!("/308/https://{}/v1", server.address), 308),
            ("/307/ftp://127.0.0.1/".to_owned(), 307),
        ] {
            let (ended, asked) = server.post(&path).await;
            assert_eq!((ended, asked.len()), (status, 1), "{path}");
        }
        assert!(other.asked.lock().expect("whole").is_empty());
    }

    #[tokio::test]
    async fn a_circle_of_redirects_is_left() {
        let server = Server::start().await;
        let circle = "/307//307//307//307//307//v1";
        let (ended, asked) = server.post(circle).await;
        assert_eq!((ended, asked.len()), (307, MOST + 1));
    }
}
