//! The store on both engines.

mod group_commit;
mod rate;
mod schema;
mod tenants;
