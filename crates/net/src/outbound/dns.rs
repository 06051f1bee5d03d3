//! Looks names up at one configured recursive name server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};

/// How long the server may take to respond.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
const RETRIES: usize = 1;

/// Creates a resolver that queries `server` over UDP, and over TCP when the response does not fit. It caches nothing: a name is checked
/// by its current addresses.
pub(super) fn resolver(server: SocketAddr) -> Result<TokioResolver, NetError> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    let server = NameServerConfig::new(server.ip(), true, connections.into());
    let config = ResolverConfig::from_name_servers(vec![server]);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.timeout = QUERY_TIMEOUT;
    options.attempts = RETRIES;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    // Every server understands a query without extensions; what does not fit its response comes over TCP.
    options.edns0 = false;
    builder.build()
}

/// Returns all addresses of `host`, IPv4 first; none when there is no such name.
pub(super) async fn addresses(resolver: &TokioResolver, host: &str) -> io::Result<Vec<IpAddr>> {
    let mut name = Name::from_ascii(host).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    name.set_fqdn(true);
    let (v4, v6) = tokio::join!(lookup(resolver, &name, RecordType::A), lookup(resolver, &name, RecordType::AAAA));
    // A partial response is not usable: every address must be checked.
    let (mut addresses, v6) = (v4?, v6?);
    addresses.extend(v6);
    Ok(addresses)
}

async fn lookup(resolver: &TokioResolver, name: &Name, kind: RecordType) -> io::Result<Vec<IpAddr>> {
    match resolver.lookup(name.clone(), kind).await {
        Ok(found) => Ok(found.answers().iter().filter_map(|record| address(&record.data)).collect()),
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn address(data: &RData) -> Option<IpAddr> {
    match data {
        RData::A(address) => Some(address.0.into()),
        RData::AAAA(address) => Some(address.0.into()),
        _ => None,
    }
}

/// Returns whether the server reports that the name has no such record.
fn is_absent(error: &NetError) -> bool {
    let absent = [ResponseCode::NoError, ResponseCode::NXDomain];
    matches!(error, NetError::Dns(DnsError::NoRecordsFound(none)) if absent.contains(&none.response_code))
}

#[cfg(test)]
pub(super) mod tests {
    use tokio::net::UdpSocket;

    use super::*;

    const RESPONSE: u8 = 0x80;
    const A: u16 = 1;
    const AAAA: u16 = 28;

    /// Starts a name server that resolves every name to these addresses.
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
        // An alias comes first, as for names at large hosts.
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
        let resolver = resolver(server(expected.clone()).await).expect("a resolver");
        assert_eq!(addresses(&resolver, "hooks.example.com").await.expect("a response"), expected);
        assert!(addresses(&resolver, "two..dots").await.is_err(), "not a name");
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_not_an_error_and_a_failing_server_is() {
        let empty = resolver(server(Vec::new()).await).expect("a resolver");
        assert_eq!(addresses(&empty, "hooks.example.com").await.expect("a response"), Vec::<IpAddr>::new());
        let unused = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let failing = resolver(unused).expect("a resolver");
        assert!(addresses(&failing, "hooks.example.com").await.is_err());
    }
}
