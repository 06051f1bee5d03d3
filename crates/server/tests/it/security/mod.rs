//! What the service withstands.

mod schemas;
mod tools;
