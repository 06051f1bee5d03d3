//! Fake peers on sockets of this machine. They speak the protocols of real ones, and complain about whatever those would refuse.

pub(crate) mod complaints;
pub(crate) mod telnyx;
pub(crate) mod twilio;
