//! A set of positions in a segment.

use uuid::Uuid;

use super::SEGMENT;

const WORDS: usize = SEGMENT.div_ceil(64);
/// Size of a stored bitmap. Positions take two bytes each and are stored as a list while that is smaller.
const BITMAP: usize = WORDS * 8;

/// Positions in a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions([u64; WORDS]);

impl Positions {
    /// Parses stored positions. Ignores positions outside a segment.
    pub(super) fn read(stored: &[u8]) -> Self {
        let mut positions = Self::default();
        if stored.len() == BITMAP {
            for (word, bytes) in positions.0.iter_mut().zip(stored.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        } else {
            for bytes in stored.as_chunks::<2>().0 {
                positions.insert(usize::from(u16::from_le_bytes(*bytes)));
            }
        }
        positions
    }

    /// Returns the bytes to store.
    pub(super) fn stored(&self) -> Vec<u8> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        if usize::try_from(count).unwrap_or(SEGMENT) * 2 < BITMAP {
            self.iter().flat_map(|position| u16::try_from(position).unwrap_or(u16::MAX).to_le_bytes()).collect()
        } else {
            self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
        }
    }

    /// Adds a position.
    pub(super) fn insert(&mut self, position: usize) {
        if let Some(word) = self.0.get_mut(position / 64) {
            *word |= 1 << (position % 64);
        }
    }

    /// Adds all of `others`.
    pub(super) fn add(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(word, other)| *word |= other);
    }

    /// Intersects with `others`. Returns whether any are left.
    pub(super) fn keep(&mut self, others: &Self) -> bool {
        self.0.iter_mut().zip(others.0).for_each(|(word, other)| *word &= other);
        self.0.iter().any(|word| *word != 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..SEGMENT).filter(|position| self.0[position / 64] & (1 << (position % 64)) != 0)
    }

    /// Returns the ids at these positions.
    pub(super) fn of(&self, ids: &[Uuid]) -> impl Iterator<Item = Uuid> {
        self.iter().filter_map(|position| ids.get(position).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(positions: &[usize]) -> Positions {
        let mut set = Positions::default();
        positions.iter().for_each(|position| set.insert(*position));
        set
    }

    #[test]
    fn few_positions_are_stored_one_by_one_and_many_as_a_bitmap() {
        for (step, bytes) in [(SEGMENT, 2), (100, 22), (8, BITMAP), (1, BITMAP)] {
            let set = of(&(0..SEGMENT).step_by(step).collect::<Vec<_>>());
            assert_eq!((set.stored().len(), Positions::read(&set.stored())), (bytes, set), "every {step}");
        }
        assert_eq!(Positions::read(&u16::MAX.to_le_bytes()), Positions::default(), "not in a segment");
    }

    #[test]
    fn sets_are_united_and_intersected() {
        let mut set = of(&[1, 64, 900]);
        set.add(&of(&[2]));
        assert!(set.keep(&of(&[2, 3, 900])));
        assert_eq!(set, of(&[2, 900]));
        assert!(!set.keep(&of(&[5])));
        let ids = [Uuid::from_u128(7), Uuid::from_u128(8)];
        assert_eq!(of(&[1, 5]).of(&ids).collect::<Vec<_>>(), [ids[1]]);
    }
}
