//! DTMF keys in a caller's turn, after a mark written by the turn engine.

use super::{Found, Redact};
use crate::dtmf::is_key;

/// The mark before the keys in a caller's turn: `My number is [keys] 1234`.
pub const KEYS_MARK: &str = "[keys]";

/// Returns the inputs of a turn.
pub fn pressed_in(text: &str) -> Vec<String> {
    places(text).into_iter().flat_map(|place| text[place].split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(super) fn find(text: &str) -> Vec<Found> {
    places(text).into_iter().map(|place| (place, Redact::Dtmf)).collect()
}

/// Finds the inputs after each mark.
fn places(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut places = Vec::new();
    for (at, mark) in text.match_indices(KEYS_MARK) {
        let start = at + mark.len() + 1;
        let Some(behind) = text.get(start..).filter(|_| text[..start].ends_with(' ')) else { continue };
        let mut length = 0;
        for word in behind.split_inclusive(' ') {
            let keys = word.trim_end_matches(' ');
            if keys.is_empty() || !keys.chars().all(is_key) {
                break;
            }
            length += word.len();
        }
        let keys = behind[..length].trim_end_matches(' ');
        if !keys.is_empty() {
            places.push(start..start + keys.len());
        }
    }
    places
}
