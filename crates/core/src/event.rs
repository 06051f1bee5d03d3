//! Events of a call.
