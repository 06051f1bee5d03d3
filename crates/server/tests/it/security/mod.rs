//! What the service withstands.

mod schemas;
mod tenants_apart;
mod tools;
