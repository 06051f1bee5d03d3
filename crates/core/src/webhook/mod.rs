//! Rules of webhook delivery.
//!
//! An *endpoint* is a customer's URL with a [`SigningSecret`] and an [`EventFilter`]. Each event that matches the filter becomes
//! a *delivery* to that endpoint, which gets up to eight *attempts* on a [`Schedule`]. [`judge_url`] checks the URL at
//! registration, and [`AddressPolicy::judge`] the address of every connection.

mod address;
mod filter;
mod schedule;
pub mod share;
mod signature;
mod url_policy;

pub use self::address::{AddressPolicy, Destination, Exemption, ParsePolicyError, Refusal};
pub use self::filter::{EventFilter, UnknownEvent};
pub use self::schedule::{MAX_ATTEMPTS, Schedule, WrongNumberOfDelays, is_success, retry_after};
pub use self::signature::{DEFAULT_TOLERANCE, MalformedSecret, SigningSecret, VerifyError, verify};
pub use self::url_policy::{UrlRefusal, depends_on_exemptions, entered_url, judge_address, judge_url};
