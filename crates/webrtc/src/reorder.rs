//! Reorders packets of the person's audio. Its only real-time consumer is STT, so packets in order are passed on at once without a jitter buffer;
//! only a gap causes a wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for a missing packet.
const MISSING_PACKET_TIMEOUT: Duration = Duration::from_millis(60);
/// The maximum number of packets queued after a missing one.
const MAX_PACKETS: usize = 8;
/// The maximum number of lost packets in a row to conceal: 100 ms. A longer gap is cut out.
const CONCEALED: u64 = 5;

/// The extended sequence number of a packet, which does not wrap.
type Number = u64;

/// The next item of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A packet.
    Packet(Arc<[u8]>),
    /// A lost packet, with the one after it, which may repeat a part of it.
    Lost(Option<Arc<[u8]>>),
}

/// Puts packets into order. Pure: time is an argument.
#[derive(Debug, Default)]
pub(crate) struct Reorder {
    /// The number that is due; `None` before the first packet.
    due: Option<Number>,
    /// Packets, and when they arrived.
    waiting: BTreeMap<Number, (Instant, Arc<[u8]>)>,
}

impl Reorder {
    /// Adds a packet. A late or duplicate one is dropped.
    pub(crate) fn push(&mut self, number: Number, packet: Arc<[u8]>, now: Instant) {
        let due = *self.due.get_or_insert(number);
        if number >= due {
            self.waiting.entry(number).or_insert((now, packet));
        }
    }

    /// Returns the next item that is due at `now`, if any.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        let due = self.due?;
        let (&first, (came, _)) = self.waiting.first_key_value()?;
        if first > due {
            let is_over = now.saturating_duration_since(*came) >= MISSING_PACKET_TIMEOUT;
            if !is_over && self.waiting.len() < MAX_PACKETS {
                return None;
            }
            if first - due <= CONCEALED {
                self.due = Some(due.saturating_add(1));
                let behind = self.waiting.get(&due.saturating_add(1)).map(|(_, packet)| packet.clone());
                return Some(Next::Lost(behind));
            }
        }
        let (_, packet) = self.waiting.remove(&first)?;
        self.due = Some(first.saturating_add(1));
        Some(Next::Packet(packet))
    }

    /// Returns when to give up a missing packet.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        let (_, (came, _)) = self.waiting.first_key_value()?;
        Some(*came + MISSING_PACKET_TIMEOUT)
    }

    /// Resets the state.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Fuzzes packets with any numbers, 20 ms apart.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let number = |number: u64| number.to_be_bytes().to_vec();
        vec![[10, 11, 13, 12, 14, 20].map(number).to_vec(), [u64::MAX - 1, u64::MAX, 0, 60_000].map(number).to_vec()]
    },
    read: |messages| {
        let (mut reorder, mut now) = (Reorder::default(), Instant::now());
        switchhook_fuzz::Read::each(messages, |message| {
            let number = message.first_chunk().copied().map(u64::from_be_bytes).ok_or("it is no number")?;
            reorder.push(number, message.into(), now);
            now += Duration::from_millis(20);
            let given = std::iter::from_fn(|| reorder.next(now)).count();
            // Queued packets, and concealment for the gaps between them.
            assert!(given <= MAX_PACKETS * (1 + usize::try_from(CONCEALED).unwrap_or(usize::MAX)), "{given}");
            assert!(reorder.waiting.len() <= MAX_PACKETS);
            Ok::<_, &str>(given)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64) -> Arc<[u8]> {
        Arc::from(number.to_be_bytes())
    }

    /// Returns everything that is due by `now`, with a lost packet as `None`.
    fn drain(reorder: &mut Reorder, now: Instant) -> Vec<Option<u64>> {
        let number = |next| match next {
            Next::Packet(bytes) => Some(u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"))),
            Next::Lost(_) => None,
        };
        std::iter::from_fn(|| reorder.next(now).map(number)).collect()
    }

    #[test]
    fn packets_in_order_do_not_wait_and_others_are_brought_into_order() {
        let (mut reorder, now) = (Reorder::default(), Instant::now());
        for number in [10, 11] {
            reorder.push(number, packet(number), now);
            assert_eq!(drain(&mut reorder, now), [Some(number)]);
        }
        for number in [13, 14, 11, 12, 13] {
            reorder.push(number, packet(number), now);
        }
        assert_eq!(drain(&mut reorder, now), [12, 13, 14].map(Some), "those that come late or twice are dropped");
        assert_eq!((reorder.next(now), reorder.wakes_at()), (None, None));
    }

    #[test]
    fn a_missing_packet_is_waited_for_and_then_lost() {
        let (mut reorder, start) = (Reorder::default(), Instant::now());
        reorder.push(1, packet(1), start);
        reorder.push(3, packet(3), start);
        assert_eq!(drain(&mut reorder, start), [Some(1)]);
        let given_up = reorder.wakes_at().expect("it waits");
        assert_eq!(drain(&mut reorder, given_up - Duration::from_millis(1)), []);
        assert_eq!(reorder.next(given_up), Some(Next::Lost(Some(packet(3)))), "the next one may repeat it");
        assert_eq!(drain(&mut reorder, given_up), [Some(3)]);
        reorder.push(2, packet(2), given_up);
        assert_eq!(drain(&mut reorder, given_up), [], "too late");
    }

    #[test]
    fn each_gap_is_waited_for_and_a_long_one_is_cut_out() {
        let (mut reorder, start) = (Reorder::default(), Instant::now());
        for (number, ms) in [(1, 0), (3, 0), (5, 20)] {
            reorder.push(number, packet(number), start + Duration::from_millis(ms));
        }
        assert_eq!(drain(&mut reorder, start + MISSING_PACKET_TIMEOUT), [Some(1), None, Some(3)]);
        let later = start + MISSING_PACKET_TIMEOUT + Duration::from_millis(20);
        assert_eq!(drain(&mut reorder, later), [None, Some(5)]);
        reorder.push(5_000, packet(5_000), later);
        assert_eq!(drain(&mut reorder, later), []);
        assert_eq!(drain(&mut reorder, later + MISSING_PACKET_TIMEOUT), [Some(5_000)]);
    }

    #[test]
    fn numbers_of_any_size_come_to_an_end() {
        let (mut reorder, now) = (Reorder::default(), Instant::now());
        for number in [u64::MAX - 1, u64::MAX, u64::MAX, 0] {
            reorder.push(number, packet(number), now);
        }
        assert_eq!(drain(&mut reorder, now), [u64::MAX - 1, u64::MAX].map(Some));
        assert_eq!(reorder.next(now + MISSING_PACKET_TIMEOUT), None);
    }

    #[test]
    fn no_more_packets_wait_than_there_is_room_for() {
        let (mut reorder, now) = (Reorder::default(), Instant::now());
        reorder.push(1, packet(1), now);
        for number in 3..=10 {
            reorder.push(number, packet(number), now);
        }
        let given = drain(&mut reorder, now);
        assert_eq!(given[..3], [Some(1), None, Some(3)], "a full queue waits no longer");
        assert_eq!(given.len(), 10);
    }
}
