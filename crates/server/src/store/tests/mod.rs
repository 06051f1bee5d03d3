//! The store on both engines.

mod bodies;
mod columns;
mod group_commit;
mod history;
mod migration;
mod past;
mod pooling;
mod pruning;
mod rate;
mod roles;
mod schema;
mod search;
mod statistics;
mod temporary;
mod tenants;
mod transcript;
mod versions;
