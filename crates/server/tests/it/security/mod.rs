//! What a tenant, a caller or a stranger may send, and what must not come of it. One file for each part of docs/security.md.

mod connections;
mod deactivation;
mod dial_policy;
mod files;
mod keys;
mod limits;
mod listener;
mod queues;
mod schemas;
mod stored;
mod tenants_apart;
mod tools;
