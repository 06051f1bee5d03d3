//! The arithmetic of the request rate.
