//! Reruns of a conversation from its inputs.
//!
//! [`Conversation`](crate::conversation::Conversation) is a function of its inputs. An [`InputLog`] keeps them with their times, so that [`rerun()`]
//! yields the same effects. With other settings the agent would have spoken at other times: [`simulate`] keeps the caller's inputs and takes the
//! place of the providers and of playback, at the original speed. [`Figures`] count the results.

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
