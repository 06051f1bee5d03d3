//! Puts numbered chunks of audio in order. A websocket keeps order, but carriers receive the chunks from networks that do not, and
//! some forward them as they arrive.

use std::collections::BTreeMap;

/// Chunks held back for a missing one: 100 ms of ordinary ones. Audio that arrives later than that is too late.
const HELD: usize = 5;

/// Puts chunks in order.
#[derive(Default)]
pub struct ReorderBuffer {
    /// The number of the next chunk; `None` before the first.
    next: Option<u64>,
    held: BTreeMap<u64, Vec<u8>>,
    /// Chunks that came too late, without one in time between them.
    late: Vec<(u64, Vec<u8>)>,
    /// Whether every chunk has the same number, which says nothing.
    uncounted: bool,
}

/// The next item in order. Not `Debug`, which would print audio.
#[derive(PartialEq, Eq)]
pub enum Chunk<'a> {
    /// Audio.
    Audio(&'a [u8]),
    /// The number of chunks that never arrived.
    Lost(u64),
}

impl ReorderBuffer {
    /// Takes a chunk, and releases those that are next in order. Duplicate and late chunks are dropped; one without a number is
    /// released immediately, behind what is held. More late chunks than are ever held, without one in time between them, mean that
    /// the carrier has restarted its numbering, or that its numbers do not count.
    pub fn push(&mut self, chunk: Option<u64>, payload: &[u8], mut release: impl FnMut(Chunk<'_>)) {
        let Some(chunk) = chunk.filter(|_| !self.uncounted) else {
            self.release_held(&mut release);
            return release(Chunk::Audio(payload));
        };
        let mut next = *self.next.get_or_insert(chunk);
        if chunk < next {
            return self.late(chunk, payload, release);
        }
        self.late.clear();
        if chunk == next && self.held.is_empty() {
            self.next = Some(next.saturating_add(1));
            return release(Chunk::Audio(payload));
        }
        self.held.insert(chunk, payload.to_vec());
        if self.held.len() > HELD
            && let Some((&first, _)) = self.held.first_key_value()
        {
            release(Chunk::Lost(first - next));
            next = first;
        }
        while let Some(payload) = self.held.remove(&next) {
            release(Chunk::Audio(&payload));
            next = next.saturating_add(1);
        }
        self.next = Some(next);
    }

    /// Returns the number of the chunk for which others are held back.
    pub fn missing(&self) -> Option<u64> {
        self.next.filter(|_| !self.held.is_empty())
    }

    /// Releases all that is held back. The chunks that are missing in it are lost.
    pub fn release_held(&mut self, mut release: impl FnMut(Chunk<'_>)) {
        while !self.held.is_empty() {
            self.release_next(&mut release);
        }
    }

    /// Gives the missing chunks up, and releases what is held back up to the next that is missing.
    pub fn release_next(&mut self, mut release: impl FnMut(Chunk<'_>)) {
        let mut released = false;
        while let Some(first) = self.held.first_entry() {
            let chunk = *first.key();
            let missing = chunk.saturating_sub(self.next.unwrap_or(chunk));
            if missing > 0 && std::mem::replace(&mut released, true) {
                return;
            }
            if missing > 0 {
                release(Chunk::Lost(missing));
            }
            release(Chunk::Audio(&first.remove()));
            (released, self.next) = (true, Some(chunk.saturating_add(1)));
        }
    }

    /// Takes a late chunk. Releases it and the late ones before it if they show that the numbering has restarted.
    fn late(&mut self, chunk: u64, payload: &[u8], mut release: impl FnMut(Chunk<'_>)) {
        if self.late.iter().any(|(number, audio)| *number == chunk && audio.as_slice() == payload) {
            return;
        }
        self.late.push((chunk, payload.to_vec()));
        if self.late.len() <= HELD {
            return;
        }
        // Those before the new numbering came late in the old one.
        let old = self.late.iter().take_while(|(number, _)| *number > chunk).count();
        self.late.drain(..old);
        if self.late.len() <= HELD {
            return;
        }
        let mut late = std::mem::take(&mut self.late);
        self.uncounted = late.iter().all(|(number, _)| *number == chunk);
        late.sort_by_key(|(number, _)| *number);
        self.next = late.last().map(|(number, _)| number.saturating_add(1));
        let before = std::mem::take(&mut self.held).into_values();
        let late = late.into_iter().map(|(_, payload)| payload);
        before.chain(late).for_each(|payload| release(Chunk::Audio(&payload)));
    }
}

/// Chunks with arbitrary numbers.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let number = |number: u64| number.to_be_bytes().to_vec();
        vec![[1, 2, 4, 3, 9, 10].map(number).to_vec(), [u64::MAX - 1, u64::MAX, 0, 1, 2, 3, 4, 5].map(number).to_vec()]
    },
    read: |messages| {
        let mut order = ReorderBuffer::default();
        let (mut came, mut given) = (0, 0);
        switchhook_fuzz::Read::each(messages, |message| {
            let number = message.first_chunk().copied().map(u64::from_be_bytes).ok_or("it is no number")?;
            came += 1;
            order.push(Some(number), message, |chunk| given += usize::from(matches!(chunk, Chunk::Audio(_))));
            assert!(given <= came && order.held.len() <= HELD + 1 && order.late.len() <= HELD + 1);
            Ok::<_, &str>(1)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn order(chunks: &[u64]) -> String {
        let mut order = ReorderBuffer::default();
        let mut played = Vec::new();
        for &chunk in chunks {
            order.push(Some(chunk), chunk.to_string().as_bytes(), |chunk| {
                played.push(match chunk {
                    Chunk::Audio(payload) => String::from_utf8(payload.to_vec()).expect("a number"),
                    Chunk::Lost(chunks) => format!("-{chunks}"),
                });
            });
        }
        played.join(" ")
    }

    fn audio_of(chunk: &Chunk<'_>) -> Vec<u8> {
        if let Chunk::Audio(audio) = chunk { audio.to_vec() } else { Vec::new() }
    }

    #[test]
    fn chunks_are_reordered_and_deduplicated_within_a_bounded_wait() {
        assert_eq!(order(&[1, 2, 3]), "1 2 3");
        assert_eq!(order(&[7, 8]), "7 8", "a stream may begin anywhere");
        assert_eq!(order(&[1, 3, 2, 4]), "1 2 3 4");
        assert_eq!(order(&[1, 2, 2, 1, 3]), "1 2 3", "twice");
        assert_eq!(order(&[1, 3, 4, 5, 6, 7]), "1", "one that is missing is waited for");
        assert_eq!(order(&[1, 4, 5, 6, 7, 8, 9, 2, 10]), "1 -2 4 5 6 7 8 9 10", "but not longer than this");
    }

    #[test]
    fn a_caller_whose_numbering_restarts_is_still_received() {
        assert_eq!(order(&[500, 501, 1, 2, 3, 4, 5]), "500 501", "they may be late");
        assert_eq!(
            order(&[500, 501, 1, 2, 3, 4, 5, 6, 7, 8]),
            "500 501 1 2 3 4 5 6 7 8",
            "and all of them are released"
        );
        assert_eq!(order(&[500, 501, 503, 0, 1, 2, 3, 4, 5, 6]), "500 501 503 0 1 2 3 4 5 6", "with what was held");
        assert_eq!(order(&[9, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 8, 16]), "9 10 11 12 13 14 15 16", "late ones");
        assert_eq!(order(&[9, 3, 3, 3, 3, 3, 3, 3, 10]), "9 10", "one that is repeated");
        assert_eq!(order(&[u64::MAX, 1, 2, 3, 4, 5, 6, 7]), format!("{} 1 2 3 4 5 6 7", u64::MAX));
    }

    #[test]
    fn a_caller_whose_restarted_numbering_has_gaps_is_still_received() {
        assert_eq!(order(&[500, 501, 1, 3, 4, 6, 7, 9, 10]), "500 501 1 3 4 6 7 9 10");
        assert_eq!(order(&[500, 501, 500, 1, 2, 3, 4, 5, 6, 7]), "500 501 1 2 3 4 5 6 7", "a late one before it");
    }

    #[test]
    fn a_caller_whose_chunks_all_have_one_number_is_heard_whole() {
        let (mut order, mut played) = (ReorderBuffer::default(), Vec::new());
        for audio in 0..20_u8 {
            order.push(Some(1), &[audio], |chunk| played.extend(audio_of(&chunk)));
        }
        assert_eq!(played, (0..20).collect::<Vec<u8>>());
    }

    #[test]
    fn a_piece_without_a_number_does_not_overtake_those_that_are_held() {
        let (mut order, mut played) = (ReorderBuffer::default(), Vec::new());
        for (chunk, audio) in [(Some(1), 1), (Some(3), 3), (None, 4), (Some(5), 5)] {
            order.push(chunk, &[audio], |chunk| played.extend(audio_of(&chunk)));
        }
        assert_eq!(played, [1, 3, 4]);
        assert!(order.missing().is_some(), "5 waits for 4, which came without its number");
        order.release_held(|chunk| played.extend(audio_of(&chunk)));
        assert_eq!(played, [1, 3, 4, 5]);
    }

    #[test]
    fn pieces_without_numbers_are_heard_as_they_come() {
        let mut order = ReorderBuffer::default();
        let mut released = 0;
        for _ in 0..2 {
            order.push(None, &[1], |chunk| released += usize::from(chunk == Chunk::Audio(&[1])));
        }
        assert_eq!(released, 2);
    }
}
