//! Calls over Twilio.

mod calls;
mod inbound;
mod lost;
mod nodes;
mod outcomes;
mod requests;
mod streams;
mod tenants;
mod transfers;
