//! Tests of the service as its users see it: one test binary, with a service for each test.
//!
//! They run on SQLite, or on PostgreSQL when `SWITCHHOOK_TEST_POSTGRES` contains the URL of a server on which databases may
//! be created (`ci/with-postgres.sh` starts one).

mod agent_tools;
mod apply;
mod backup;
mod calls;
mod carriers;
mod chaos;
mod cluster;
mod command_line;
mod control;
mod crash;
mod delivery;
mod demo;
mod documentation;
mod doubles;
mod faults;
mod harness;
mod http;
mod init;
mod instructions;
mod listening;
mod mcp_tools;
mod privacy;
mod providers;
mod replay;
mod security;
mod sign_in;
mod tool_secrets;
mod tools;
mod traffic;
mod validation;
mod verifiers;
mod web_calls;
mod wideband;
