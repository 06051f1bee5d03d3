//! Asks one recursive name server for the addresses of a name (RFC 1035, RFC 3596): over UDP, and over TCP when the
//! answer does not fit.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::clock;

/// How long the server may take for one answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// A lost datagram is sent again so often.
const TRIES: usize = 2;
const HEADER: usize = 12;
/// The largest datagram without extensions (RFC 1035 section 4.2.1), and more to be safe.
const DATAGRAM: usize = 4096;

/// Record types.
const A: u16 = 1;
const AAAA: u16 = 28;
const INTERNET: u16 = 1;

/// Bits of the third and fourth byte of a header.
const RESPONSE: u8 = 0x80;
const TRUNCATED: u8 = 0x02;
const RECURSION_DESIRED: u8 = 0x01;
const CODE: u8 = 0x0f;
const NO_SUCH_NAME: u8 = 3;

/// All addresses of `host`, IPv4 first; none when there is no such name.
pub(super) async fn addresses(server: SocketAddr, host: &str) -> io::Result<Vec<IpAddr>> {
    let (v4, v6) = tokio::join!(ask(server, host, A), ask(server, host, AAAA));
    // Half an answer is none: the judge must see every address.
    let (mut addresses, v6) = (v4?, v6?);
    addresses.extend(v6);
    Ok(addresses)
}

async fn ask(server: SocketAddr, host: &str, kind: u16) -> io::Result<Vec<IpAddr>> {
    let query = query(clock::random(), host, kind)?;
    let reply = over_udp(server, &query).await?;
    if reply[2] & TRUNCATED == 0 {
        return read(&reply, &query);
    }
    let reply = timeout(PATIENCE, over_tcp(server, &query)).await??;
    if answers(&reply, &query) { read(&reply, &query) } else { Err(malformed()) }
}

fn malformed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the name server's answer cannot be read")
}

/// A query and nothing else: header, name, type, class.
fn query(id: [u8; 2], host: &str, kind: u16) -> io::Result<Vec<u8>> {
    let unfit = || io::Error::new(ErrorKind::InvalidInput, "not a host name");
    let mut query = vec![id[0], id[1], RECURSION_DESIRED, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in host.strip_suffix('.').unwrap_or(host).split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length)).ok_or_else(unfit)?;
        query.push(length);
        query.extend_from_slice(label.as_bytes());
    }
    query.push(0);
    if query.len() > HEADER + 255 {
        return Err(unfit());
    }
    query.extend_from_slice(&kind.to_be_bytes());
    query.extend_from_slice(&INTERNET.to_be_bytes());
    Ok(query)
}

async fn over_udp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // A new port for each query, so that a forged answer has to guess it and the id.
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    for _ in 0..TRIES {
        socket.send(query).await?;
        if let Ok(reply) = timeout(PATIENCE, reply_to(&socket, query)).await {
            return reply;
        }
    }
    Err(ErrorKind::TimedOut.into())
}

async fn reply_to(socket: &UdpSocket, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; DATAGRAM];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if answers(&buffer[..length], query) {
            buffer.truncate(length);
            return Ok(buffer);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(query.len()).map_err(|_| malformed())?;
    stream.write_all(&[&length.to_be_bytes(), query].concat()).await?;
    let mut reply = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut reply).await?;
    Ok(reply)
}

/// Whether a message is a response to exactly this query.
fn answers(reply: &[u8], query: &[u8]) -> bool {
    let question = query.len() - HEADER;
    reply.len() >= query.len()
        && reply[..2] == query[..2]
        && reply[2] & RESPONSE != 0
        && reply[4..6] == [0, 1]
        && reply[HEADER..][..question].eq_ignore_ascii_case(&query[HEADER..])
}

/// The addresses among the answers. Aliases are in the same message, so the names of the records do not matter.
fn read(reply: &[u8], query: &[u8]) -> io::Result<Vec<IpAddr>> {
    match reply[3] & CODE {
        0 => {}
        NO_SUCH_NAME => return Ok(Vec::new()),
        code => return Err(io::Error::other(format!("the name server answered with error code {code}"))),
    }
    let answers = u16::from_be_bytes([reply[6], reply[7]]);
    let (mut addresses, mut rest) = (Vec::new(), &reply[query.len()..]);
    for _ in 0..answers {
        let (address, after) = record(rest).ok_or_else(malformed)?;
        addresses.extend(address);
        rest = after;
    }
    Ok(addresses)
}

/// One record: its address, if it has one, and what follows it.
fn record(bytes: &[u8]) -> Option<(Option<IpAddr>, &[u8])> {
    let (fixed, rest) = after_name(bytes)?.split_first_chunk::<10>()?;
    let [kind, class, _, _, length] = [0, 2, 4, 6, 8].map(|at| u16::from_be_bytes([fixed[at], fixed[at + 1]]));
    let (data, rest) = rest.split_at_checked(usize::from(length))?;
    let address = match (kind, class) {
        (A, INTERNET) => Some(IpAddr::from(<[u8; 4]>::try_from(data).ok()?)),
        (AAAA, INTERNET) => Some(IpAddr::from(<[u8; 16]>::try_from(data).ok()?)),
        _ => None,
    };
    Some((address, rest))
}

/// What follows a name: labels up to an empty one or a pointer.
fn after_name(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, rest) = bytes.split_first()?;
        match length {
            0 => return Some(rest),
            0xc0.. => return rest.get(1..),
            1..=63 => bytes = rest.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A name server that gives every name these addresses.
    pub(in crate::outbound) async fn server(answers: Vec<IpAddr>) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("bound");
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                let reply = reply(&buffer[..length], &answers);
                let _ = socket.send_to(&reply, from).await;
            }
        });
        address
    }

    fn reply(query: &[u8], answers: &[IpAddr]) -> Vec<u8> {
        let kind = u16::from_be_bytes([query[query.len() - 4], query[query.len() - 3]]);
        let mut records = Vec::new();
        // An alias stands first, as it does for names at large hosts.
        records.extend_from_slice(&[0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xc0, 12]);
        let mut count = 1;
        for answer in answers {
            let data = match answer {
                IpAddr::V4(address) if kind == A => address.octets().to_vec(),
                IpAddr::V6(address) if kind == AAAA => address.octets().to_vec(),
                _ => continue,
            };
            count += 1;
            records.extend_from_slice(&[0xc0, 12]);
            records.extend_from_slice(&kind.to_be_bytes());
            records.extend_from_slice(&[0, 1, 0, 0, 0, 60, 0, u8::try_from(data.len()).expect("short")]);
            records.extend_from_slice(&data);
        }
        let mut reply = query.to_vec();
        reply[2] |= RESPONSE;
        reply[7] = count;
        reply.extend_from_slice(&records);
        reply
    }

    #[tokio::test]
    async fn a_name_server_is_asked_for_both_kinds_of_addresses() {
        let expected: Vec<IpAddr> = vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let server = server(expected.clone()).await;
        assert_eq!(addresses(server, "hooks.example.com").await.expect("an answer"), expected);
        assert!(addresses(server, "two..dots").await.is_err(), "not a name");
    }

    #[test]
    fn what_is_cut_off_or_answers_something_else_is_not_believed() {
        let asked = query([1, 2], "a.example", A).expect("a query");
        let whole = reply(&asked, &["192.0.2.1".parse().unwrap()]);
        assert!(answers(&whole, &asked) && read(&whole, &asked).is_ok());
        for cut in asked.len()..whole.len() {
            assert!(read(&whole[..cut], &asked).is_err(), "{cut} bytes");
        }
        assert!(!answers(&whole, &query([1, 3], "a.example", A).unwrap()), "another id");
        assert!(!answers(&whole, &query([1, 2], "b.example", A).unwrap()), "another name");
        assert!(!answers(&whole, &query([1, 2], "a.example", AAAA).unwrap()), "another type");
        assert!(!answers(&asked, &asked), "a query");
    }
}
