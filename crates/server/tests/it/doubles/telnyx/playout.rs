//! The audio to be played, in order, with its marks.

use std::collections::VecDeque;

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;

/// The queue of one stream, read 20 ms at a time.
#[derive(Default)]
pub(super) struct Playout(VecDeque<Item>);

enum Item {
    Sound(VecDeque<i16>),
    Mark(String),
}

impl Playout {
    pub(super) fn audio(&mut self, samples: Vec<i16>) {
        self.0.push_back(Item::Sound(samples.into()));
    }

    pub(super) fn mark(&mut self, name: String) {
        self.0.push_back(Item::Mark(name));
    }

    /// Discards queued audio. Returns its marks.
    pub(super) fn clear(&mut self) -> Vec<String> {
        let marks = self.0.drain(..).filter_map(|item| match item {
            Item::Mark(name) => Some(name),
            Item::Sound(_) => None,
        });
        marks.collect()
    }

    /// Returns the next 20 ms, and the marks that were reached.
    pub(super) fn next(&mut self) -> (Frame, Vec<String>) {
        let (mut samples, mut marks) = (Vec::with_capacity(AudioFormat::Narrowband.frame_samples()), Vec::new());
        while let Some(item) = self.0.front_mut() {
            match item {
                Item::Mark(name) => marks.push(std::mem::take(name)),
                Item::Sound(_) if samples.len() == AudioFormat::Narrowband.frame_samples() => break,
                Item::Sound(waiting) => {
                    let count = waiting.len().min(AudioFormat::Narrowband.frame_samples() - samples.len());
                    samples.extend(waiting.drain(..count));
                    if !waiting.is_empty() {
                        continue;
                    }
                }
            }
            self.0.pop_front();
        }
        (Frame::from_slice(AudioFormat::Narrowband, &samples), marks)
    }
}

#[test]
fn marks_come_back_when_what_was_before_them_is_played_or_cleared() {
    let mut playout = Playout::default();
    playout.mark("at once".to_owned());
    assert_eq!(playout.next().1, ["at once"]);
    playout.audio(vec![1; 200]);
    playout.mark("after".to_owned());
    assert_eq!(playout.next().1, Vec::<String>::new());
    assert_eq!(playout.next().1, ["after"]);
    playout.audio(vec![1; 160]);
    playout.mark("cleared".to_owned());
    assert_eq!(playout.clear(), ["cleared"]);
    assert!(playout.next().1.is_empty());
}
