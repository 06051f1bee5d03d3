//! A reproducible random source: SplitMix64, which is enough for tests.

#[derive(Clone, Copy)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Returns true once in so many times, on average.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns a position in a list of this length, which is not empty.
    pub(crate) fn position(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("less than the length")
    }

    /// Returns one of these.
    pub(crate) fn any<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.position(of.len())].clone()
    }
}
