//! Switchhook: a self-hosted voice calling service in one binary.
//!
//! `ARCHITECTURE.md` has the map. `app` assembles the modules; no module depends on it.

pub mod app;
pub mod apply;
pub mod backup;
pub mod calls;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod exemptions;
pub mod files;
#[cfg(test)]
mod fuzz;
pub mod heartbeats;
pub mod housekeeping;
pub mod http;
pub mod language_models;
pub mod lifecycle;
pub mod listener;
pub mod open_files;
pub mod operator;
pub mod recordings;
pub mod retention;
pub mod rotation;
pub mod sign_in;
mod stderr;
pub mod store;
pub mod talk;
pub mod telemetry;
pub mod wakeups;
pub mod webhooks;
