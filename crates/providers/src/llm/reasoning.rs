//! Removes reasoning (`<think>…</think>`) from streamed text: it is not spoken.

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";

/// Takes reasoning out of a text that comes in pieces, however the marks are cut.
#[derive(Default)]
pub(super) struct ReasoningFilter {
    inside: bool,
    /// What may turn out to be the beginning of a mark.
    held: String,
}

impl ReasoningFilter {
    /// What of the text so far can be spoken now.
    pub(super) fn spoken(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut spoken = String::new();
        loop {
            let mark = if self.inside { CLOSES } else { OPENS };
            let found = self.held.find(mark);
            let ready = found.unwrap_or_else(|| self.held.len() - beginning_at_end(&self.held, mark));
            if !self.inside {
                spoken.push_str(&self.held[..ready]);
            }
            match found {
                Some(at) => drop(self.held.drain(..at + mark.len())),
                None => {
                    self.held.drain(..ready);
                    return spoken;
                }
            }
            self.inside = !self.inside;
        }
    }

    /// What was held back, once nothing follows.
    pub(super) fn rest(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.inside { String::new() } else { held }
    }
}

/// How many bytes at the end of `text` could be the beginning of `mark`.
fn beginning_at_end(text: &str, mark: &str) -> usize {
    (1..mark.len()).rev().find(|length| text.ends_with(&mark[..*length])).unwrap_or(0)
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || switchhook_fuzz::texts(&[&[r##"<thi"##, r##"nk>Hm</thi"##, r##"nk>Yes: a<b. "##, r##"Bye <thi"##]]),
    read: |messages| {
        let mut reasoning = ReasoningFilter::default();
        let mut read = switchhook_fuzz::Read::each_text(messages, |text| Ok::<_, ()>(reasoning.spoken(text).len()));
        read.given += reasoning.rest().len();
        read
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_left_out_however_it_is_cut() {
        let text = "<think>3 < 4\u{e9}</thin></think>Yes: a<b. <think>more</think>Bye <thi";
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for step in 1..places.len() {
            let mut reasoning = ReasoningFilter::default();
            let mut spoken = String::new();
            let cuts: Vec<usize> = places.iter().copied().step_by(step).chain([text.len()]).collect();
            for cut in cuts.windows(2) {
                spoken.push_str(&reasoning.spoken(&text[cut[0]..cut[1]]));
            }
            spoken.push_str(&reasoning.rest());
            assert_eq!(spoken, "Yes: a<b. Bye <thi", "in pieces of {step} characters");
        }
    }
}
