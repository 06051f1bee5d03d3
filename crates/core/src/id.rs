//! Identifiers, one type each, so that a call's id is never used as a tenant's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Timestamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates a UUIDv7 (RFC 9562 section 5.7): the milliseconds of `now`, then `random`. Later ids sort later,
            /// to the millisecond.
            #[must_use]
            pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
                let millis = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }

            /// Wraps a UUID from the database or a path.
            #[must_use]
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// Returns the UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }
    )*};
}

ids! {
    /// A tenant: the isolation unit.
    TenantId,
    /// An API key.
    ApiKeyId,
    /// Credentials and settings of a carrier or provider.
    ConnectionId,
    /// A configured agent.
    AgentId,
    /// A phone number of a tenant.
    NumberId,
    /// A call.
    CallId,
    /// A webhook endpoint.
    WebhookId,
    /// A delivery of one event to one webhook endpoint.
    DeliveryId,
    /// An event of a call.
    EventId,
    /// A client's command to a live call.
    CommandId,
    /// A running process of the service; a new one after each start.
    NodeId,
    /// One HTTP request.
    RequestId,
    /// A person who signs in to the dashboard.
    PersonId,
}
