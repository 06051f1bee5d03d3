//! Sound for Switchhook.
