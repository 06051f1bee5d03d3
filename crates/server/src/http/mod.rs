//! The HTTP API. `ls http/` is the API: one file per endpoint or small resource.

pub mod answer;
pub mod error;
pub mod extract;
pub mod request_id;
