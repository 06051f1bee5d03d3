//! Audio to play, in order, and the marks between.

use std::collections::VecDeque;

/// Bytes of 20 ms of G.711.
const FRAME: usize = 160;
/// More than ten minutes of waiting audio is thrown away.
const MOST: usize = 8_000 * 600;

/// The queue of one stream. Pure: it is asked for 20 ms at a time.
#[derive(Debug, Default)]
pub(crate) struct Playout {
    queue: VecDeque<Item>,
    waiting: usize,
}

#[derive(Debug)]
enum Item {
    Sound(VecDeque<u8>),
    Mark(String),
}

impl Playout {
    /// Whether there was room.
    pub(crate) fn audio(&mut self, bytes: Vec<u8>) -> bool {
        if self.waiting + bytes.len() > MOST {
            return false;
        }
        self.waiting += bytes.len();
        self.queue.push_back(Item::Sound(bytes.into()));
        true
    }

    pub(crate) fn mark(&mut self, name: String) {
        self.queue.push_back(Item::Mark(name));
    }

    /// Throws away what waits; the marks among it come back.
    pub(crate) fn clear(&mut self) -> Vec<String> {
        self.waiting = 0;
        self.queue.drain(..).filter_map(|item| if let Item::Mark(name) = item { Some(name) } else { None }).collect()
    }

    /// The next 20 ms, padded with silence, or nothing when nothing waits; and the marks before and inside.
    pub(crate) fn next(&mut self) -> (Option<Vec<u8>>, Vec<String>) {
        let (mut frame, mut marks) = (Vec::new(), Vec::new());
        while let Some(item) = self.queue.front_mut() {
            match item {
                Item::Mark(name) => {
                    marks.push(std::mem::take(name));
                    self.queue.pop_front();
                }
                Item::Sound(_) if frame.len() == FRAME => break,
                Item::Sound(bytes) => {
                    let count = bytes.len().min(FRAME - frame.len());
                    frame.extend(bytes.drain(..count));
                    self.waiting -= count;
                    if bytes.is_empty() {
                        self.queue.pop_front();
                    }
                }
            }
        }
        if frame.is_empty() {
            return (None, marks);
        }
        frame.resize(FRAME, 0xff);
        (Some(frame), marks)
    }
}

#[test]
fn marks_come_back_when_what_was_before_them_is_played_or_cleared() {
    let mut playout = Playout::default();
    playout.mark("at once".to_owned());
    assert_eq!(playout.next(), (None, vec!["at once".to_owned()]));
    assert!(playout.audio(vec![1; 200]));
    playout.mark("after".to_owned());
    assert_eq!(playout.next(), (Some(vec![1; 160]), Vec::new()));
    let (frame, marks) = playout.next();
    assert_eq!((frame.map(|frame| frame[39..41].to_vec()), marks), (Some(vec![1, 0xff]), vec!["after".to_owned()]));
    assert!(playout.audio(vec![1; 160]));
    playout.mark("pending".to_owned());
    assert_eq!(playout.clear(), ["pending"]);
    assert_eq!(playout.next(), (None, Vec::new()));
    assert!(!playout.audio(vec![1; MOST + 1]), "more than ten minutes");
}
