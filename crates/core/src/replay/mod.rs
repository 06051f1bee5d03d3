//! A conversation once more, from what happened to it.
//!
//! [`Conversation`](crate::conversation::Conversation) is a function of its inputs. An [`InputLog`] keeps them with their times, so that
//! [`rerun()`] comes to the same effects. With other settings the agent would have spoken at other times: [`simulate`] keeps the caller as
//! they were and answers the conversation in place of the providers and the line, as fast as they were. [`Figures`] count the
//! results.

mod comparison;
mod figures;
mod log;
mod masking;
mod providers;
mod rerun;
mod simulation;

#[cfg(test)]
mod tests;

pub use self::comparison::{Comparison, NotComparable};
pub use self::figures::Figures;
pub use self::log::{Header, InputLog, InputLogWriter, LogError, TurnStrategy};
pub use self::rerun::{Rerun, rerun};
pub use self::simulation::simulate;
