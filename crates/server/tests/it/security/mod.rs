//! What a tenant, a caller or an unknown client may send, and what must not result from it. One file per part of docs/security.md.

mod connections;
mod database_file;
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
