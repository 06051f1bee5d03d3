//! What depends on the language of a call: phrases of the agent, and words that endpointing, barge-in and voicemail detection look for.
//!
//! One file per language. [`Language::of`] finds the table for an agent's tag; where there is none it gives one without any words, so that
//! no caller hears another language: nothing is said that the agent or its model did not write, and turns end by silence alone.

mod de;
mod en;
mod es;
mod fr;
mod hi;
mod it;
mod ja;
mod nl;
mod pt;
mod words;

#[cfg(test)]
mod tests;

pub use en::ENGLISH;
pub use words::{MachineWords, is_unspaced};

/// Lower-case words, or phrases of words with one space between them.
pub type WordList = &'static [&'static str];

/// The words of one language. Formal address: callers are strangers.
#[derive(Debug)]
pub struct Language {
    /// BCP 47: the primary subtag, or with a region where that matters; empty for the table without words.
    pub tag: &'static str,
    /// Whether words stand apart.
    pub spaced: bool,
    /// Opens calls of agents that have no greeting of their own.
    pub greeting: &'static str,
    /// What the agent says without asking the model.
    pub phrases: Phrases,
    /// What listeners say; it does not interrupt the agent by itself.
    pub backchannels: WordList,
    /// One of these words interrupts, however few are said.
    pub commands: WordList,
    /// Noises that STT writes down and that are not words.
    pub hesitations: WordList,
    /// Words that do not keep a call open when they are said during the goodbye.
    pub farewells: WordList,
    /// Thanks and assent, which do not stop what the agent is about to do.
    pub courtesies: WordList,
    /// Whole answers, finished without a full stop.
    pub answers: WordList,
    /// Ends of turns that go on, whatever punctuation STT puts behind them.
    pub always_open: WordList,
    /// The same, unless STT closes the sentence behind them.
    pub open_unless_closed: WordList,
    /// Words that are the last of a whole sentence in some constructions only, where the language has such.
    pub stranding: Option<Stranding>,
    /// Verbs that a whole sentence seldom ends in.
    pub wants_object: WordList,
    /// Words that begin a clause to which another one belongs.
    pub subordinators: WordList,
    /// Beginnings of requests.
    pub requests: WordList,
    /// Words by which the agent asks for a number.
    pub asks_number: WordList,
    /// Those among them that ask for a card's number.
    pub asks_card: WordList,
    /// Words for digits, and those said among them.
    pub digits: WordList,
    /// Words of one letter, which do not spell anything.
    pub one_letter_words: WordList,
    /// How many digits a telephone number has.
    pub phone_digits: usize,
    /// How a question that is answered by yes or no is known.
    pub yes_no: YesNo,
    /// Ends of questions that have no question mark.
    pub question_endings: WordList,
    /// Words whose dot does not end a sentence, without that dot.
    pub abbreviations: WordList,
    /// Whether a number with a dot is an ordinal.
    pub ordinal_dot: bool,
    /// What only recordings say: announcements of networks, and voicemail about its tone.
    pub recordings: WordList,
    /// What greetings of voicemail say, and people who take messages as well.
    pub voicemail: WordList,
    /// Words by which such a person is known: they ask, or will take it themselves.
    pub offers: WordList,
}

/// What the agent says without asking the model. Each list has its most usual phrase first.
#[derive(Clone, Copy, Debug)]
pub struct Phrases {
    /// To a caller who says nothing.
    pub reprompts: WordList,
    /// To a caller whose words were not recognised.
    pub unclear: WordList,
    /// Covers a wait.
    pub fillers: WordList,
    /// Covers a wait that goes on.
    pub still_here: WordList,
    /// The last words.
    pub goodbyes: WordList,
    /// The model is asked once more.
    pub retrying: WordList,
    /// An answer broke off.
    pub lost_thread: WordList,
    /// The call ends because something failed.
    pub technical: WordList,
    /// A transfer failed.
    pub not_put_through: WordList,
    /// The longest duration is reached.
    pub time_is_up: WordList,
}

/// How a question that is answered by yes or no is known.
#[derive(Clone, Copy, Debug)]
pub enum YesNo {
    /// By its beginning, or by a tag at its end.
    By {
        /// Its first word.
        first: WordList,
        /// Words that may stand before that one.
        after: WordList,
        /// The last clause, as a whole.
        tags: WordList,
    },
    /// It has none of these question words.
    Without(WordList),
}

/// When a sentence may end in a word that otherwise wants another one. STT puts a full stop behind every pause, so that punctuation alone
/// does not tell "What is it for?" from "I'd like to book a table for."
#[derive(Clone, Copy, Debug)]
pub struct Stranding {
    /// Prepositions: the last words of questions, direct or indirect, with a question word.
    pub prepositions: WordList,
    /// Those question words.
    pub question_words: WordList,
    /// Auxiliaries: the last words of short answers, behind a pronoun.
    pub auxiliaries: WordList,
    /// Those pronouns.
    pub pronouns: WordList,
}

/// Regional tables before those of their languages.
static LANGUAGES: &[Language] = &[
    ENGLISH,
    de::GERMAN,
    es::SPANISH,
    fr::FRENCH,
    hi::HINDI,
    it::ITALIAN,
    ja::JAPANESE,
    nl::DUTCH,
    pt::EUROPEAN_PORTUGUESE,
    pt::PORTUGUESE,
];

/// No words at all.
static NONE: Language = Language {
    tag: "",
    spaced: true,
    greeting: "",
    phrases: Phrases {
        reprompts: &[],
        unclear: &[],
        fillers: &[],
        still_here: &[],
        goodbyes: &[],
        retrying: &[],
        lost_thread: &[],
        technical: &[],
        not_put_through: &[],
        time_is_up: &[],
    },
    backchannels: &[],
    commands: &[],
    hesitations: &[],
    farewells: &[],
    courtesies: &[],
    answers: &[],
    always_open: &[],
    open_unless_closed: &[],
    stranding: None,
    wants_object: &[],
    subordinators: &[],
    requests: &[],
    asks_number: &[],
    asks_card: &[],
    digits: &[],
    one_letter_words: &[],
    phone_digits: 0,
    yes_no: YesNo::Without(&[]),
    question_endings: &[],
    abbreviations: &[],
    ordinal_dot: false,
    recordings: &[],
    voicemail: &[],
    offers: &[],
};

impl Language {
    /// The table for a BCP 47 tag: that of the tag, else that of its primary subtag, else one without words. Agents that speak any
    /// language (`multi`, or no tag) use the English one.
    #[must_use]
    pub fn of(tag: &str) -> &'static Self {
        let find = |tag: &str| LANGUAGES.iter().find(|language| language.tag.eq_ignore_ascii_case(tag));
        let primary = tag.split('-').next().unwrap_or_default();
        let known = if tag.is_empty() || tag.eq_ignore_ascii_case("multi") { find(ENGLISH.tag) } else { find(tag) };
        known.or_else(|| find(primary)).unwrap_or(&NONE)
    }

    /// Whether there is a table for this language.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.tag.is_empty()
    }
}

impl Phrases {
    /// Said in front of a voice that is late.
    pub(crate) fn covers(&self) -> impl Iterator<Item = &'static str> {
        self.fillers.first().into_iter().chain(self.still_here.first()).copied()
    }
}
