//! The random source of one leg's faults: the same seed produces the same faults.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use switchhook_core::id::CallId;

#[derive(Debug)]
pub(super) struct FaultRng(StdRng);

impl FaultRng {
    /// Creates the source from the connection's seed; with seed 0, every call has its own.
    pub(super) fn new(seed: u64, call: CallId) -> Self {
        let own = u64::try_from(call.uuid().as_u128() & u128::from(u64::MAX)).unwrap_or(0);
        Self(StdRng::seed_from_u64(if seed == 0 { own } else { seed }))
    }

    /// Returns true with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.random_bool(probability.min(1.0))
    }

    /// Returns a number from 0 to `most`.
    pub(super) fn up_to(&mut self, most: u32) -> u32 {
        self.0.random_range(0..=most)
    }
}
