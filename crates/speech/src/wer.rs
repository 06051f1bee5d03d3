//! Measures recognition: the word error rate.

use super::normalise::normalise;

/// The errors in a number of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordErrors {
    /// Words that were replaced, left out or inserted.
    pub errors: usize,
    /// Words that were spoken.
    pub words: usize,
}

impl WordErrors {
    /// Compares the recognised text with the spoken one. Case, punctuation and the spelling of numbers do not count: "7:30 pm" is "seven thirty
    /// p.m.".
    #[must_use]
    pub fn between(said: &str, heard: &str) -> Self {
        let (said, heard) = (words(said), words(heard));
        // The Levenshtein distance, one row at a time.
        let mut row: Vec<usize> = (0..=heard.len()).collect();
        for (index, word) in said.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], index + 1);
            for (column, other) in heard.iter().enumerate() {
                let replaced = diagonal + usize::from(word != other);
                diagonal = row[column + 1];
                row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
            }
        }
        Self { errors: row[heard.len()], words: said.len() }
    }

    /// Returns the errors per word.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    pub fn rate(self) -> f64 {
        self.errors as f64 / self.words.max(1) as f64
    }
}

impl std::ops::AddAssign for WordErrors {
    fn add_assign(&mut self, other: Self) {
        self.errors += other.errors;
        self.words += other.words;
    }
}

/// Returns the words of a text in one spelling.
fn words(text: &str) -> Vec<String> {
    let spoken: Vec<String> = normalise(text).into_iter().map(|unit| unit.spoken.to_lowercase()).collect();
    let words = spoken.iter().flat_map(|spoken| spoken.split(|c: char| !(c.is_alphanumeric() || c == '\'')));
    let words = words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty());
    let alike = |word: &str| match word {
        "oh" | "o" => vec!["zero".to_owned()],
        "goodbye" => vec!["good".to_owned(), "bye".to_owned()],
        "okay" => vec!["ok".to_owned()],
        "am" | "pm" => word.chars().map(String::from).collect(),
        "missus" => vec!["mrs".to_owned()],
        "mister" => vec!["mr".to_owned()],
        word => vec![word.to_owned()],
    };
    words.flat_map(alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_count_not_how_they_are_spelled() {
        let table = [
            ("Seven thirty p.m., please!", "7:30 pm please", 0, 5),
            ("Four one five, five five five, oh one four two.", "415-555-0142", 0, 10),
            ("S, M, I, T, H", "S-M-I-T-H", 0, 5),
            ("one two three", "one three", 1, 3),
            ("one two three", "one two to three", 1, 3),
            ("one two three", "", 3, 3),
        ];
        for (said, heard, errors, words) in table {
            assert_eq!(WordErrors::between(said, heard), WordErrors { errors, words }, "{said} / {heard}");
        }
    }
}
