//! Failures of the service's environment: it reports them, does what it still can, and recovers afterwards.

mod clock_set;
mod database;
mod disk_full;
pub(crate) mod gate;
mod locked;
mod log;
mod lost_answer;
mod open_files;
mod refused;
mod second;
mod small_database;
mod stalled;
mod stop;
mod unreadable;
mod warm;

use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, text};

/// Creates a tenant. Returns its client.
pub(crate) fn tenant_of(node: &Node, service: &Process) -> Client {
    let created = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "1000000", "--json"]));
    switchhook_net::install_tls();
    Client::new(service.base.clone(), text(&created["api_key"]["key"]))
}
