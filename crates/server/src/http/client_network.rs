//! The network that a request comes from.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use crate::listener::network;

/// The client's IPv4 address or IPv6 /64 network, as the socket has it; nothing without a socket. Behind a proxy it is the proxy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientNetwork(pub Option<IpAddr>);

impl ClientNetwork {
    pub(super) fn of(parts: &Parts) -> Self {
        Self(parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| network(address.ip())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientNetwork {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}
