//! Rules of webhook delivery.
