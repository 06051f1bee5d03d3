//! What the service withstands.

mod schemas;
