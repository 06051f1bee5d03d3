//! What the service withstands.

mod queues;
mod schemas;
mod tenants_apart;
mod tools;
