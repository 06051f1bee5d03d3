//! Language tables: phrases of the agent, and words that endpointing, barge-in and voicemail detection look for.
//!
//! One file per language. [`Language::of`] finds the table for an agent's tag. Without one it returns a table without words, so that no caller hears
//! another language: nothing is said that the agent or its model did not write, and turns end by silence alone.

mod de;
mod en;
mod es;
mod fr;
mod hi;
mod it;
mod ja;
mod keys;
mod nl;
mod pt;
mod words;

#[cfg(test)]
mod tests;

pub use en::ENGLISH;
pub use keys::KeyNames;
pub use words::{MachineWords, is_unspaced};

/// Lower-case words, or phrases of words with one space between them.
pub type WordList = &'static [&'static str];

/// The table of one language. Phrases use formal address, because callers are customers.
#[derive(Debug)]
pub struct Language {
    /// BCP 47: the primary subtag, or with a region where that matters; empty for the table without words.
    pub tag: &'static str,
    /// Whether words are separated by spaces.
    pub spaced: bool,
    /// The greeting of agents without one of their own.
    pub greeting: &'static str,
    /// Phrases that the agent says without a request to the model.
    pub phrases: Phrases,
    /// Words of a listener, which alone do not interrupt the agent.
    pub backchannels: WordList,
    /// Words that interrupt the agent, even a single one.
    pub commands: WordList,
    /// Noises that STT transcribes and that are not words.
    pub hesitations: WordList,
    /// Words that do not keep a call open when said during the goodbye.
    pub farewells: WordList,
    /// Thanks and assent, which do not stop what the agent is about to do.
    pub courtesies: WordList,
    /// Complete answers, even without a full stop.
    pub answers: WordList,
    /// Ends of turns that continue, regardless of the punctuation from STT.
    pub always_open: WordList,
    /// Ends of turns that continue, unless STT closes the sentence after them.
    pub open_unless_closed: WordList,
    /// Words that end a whole sentence only in some constructions, in languages that have such words.
    pub stranding: Option<Stranding>,
    /// Verbs that rarely end a whole sentence.
    pub wants_object: WordList,
    /// Words that begin a subordinate clause.
    pub subordinators: WordList,
    /// Beginnings of requests.
    pub requests: WordList,
    /// Words with which the agent asks for a number or a spelling.
    pub asks_number: WordList,
    /// Those of them that ask for a card number.
    pub asks_card: WordList,
    /// Words for digits, and words said among them.
    pub digits: WordList,
    /// Words of one letter, which are not spelling.
    pub one_letter_words: WordList,
    /// How many digits a telephone number has.
    pub phone_digits: usize,
    /// How to recognise a yes-or-no question.
    pub yes_no: YesNo,
    /// Ends of questions without a question mark.
    pub question_endings: WordList,
    /// Words whose dot does not end a sentence, listed without the dot.
    pub abbreviations: WordList,
    /// Whether a number with a dot is an ordinal.
    pub ordinal_dot: bool,
    /// Texts that only recordings say: announcements of networks, and voicemail about its tone.
    pub recordings: WordList,
    /// Texts of voicemail greetings that people who take messages also say.
    pub voicemail: WordList,
    /// Words that identify such a person: they ask, or will take a message themselves.
    pub offers: WordList,
    /// Words with which people ask whether a machine is speaking.
    pub machine_questions: WordList,
}

/// Phrases that the agent says without a request to the model. The most common phrase of each list is first.
#[derive(Clone, Copy, Debug)]
pub struct Phrases {
    /// To a caller who says nothing.
    pub reprompts: WordList,
    /// To a caller whose speech was not recognised.
    pub unclear: WordList,
    /// Fillers that cover a wait.
    pub fillers: WordList,
    /// Fillers for a wait that continues.
    pub still_here: WordList,
    /// Goodbyes.
    pub goodbyes: WordList,
    /// Before the request to the model is retried.
    pub retrying: WordList,
    /// After a response broke off.
    pub lost_thread: WordList,
    /// When the call ends because of a failure.
    pub technical: WordList,
    /// After a failed transfer.
    pub not_put_through: WordList,
    /// When the maximum duration is reached.
    pub time_is_up: WordList,
}

/// How to recognise a yes-or-no question.
#[derive(Clone, Copy, Debug)]
pub enum YesNo {
    /// By its beginning, or by a tag at its end.
    By {
        /// Its first word.
        first: WordList,
        /// Words that may stand before that one.
        after: WordList,
        /// A tag, which is the whole last clause.
        tags: WordList,
    },
    /// It has none of these question words.
    Without(WordList),
}

/// When a sentence may end in a word that otherwise requires another one. STT puts a full stop at every pause, so punctuation alone does not
/// distinguish "What is it for?" from "I'd like to book a table for."
#[derive(Clone, Copy, Debug)]
pub struct Stranding {
    /// Prepositions: the last words of questions, direct or indirect, with a question word.
    pub prepositions: WordList,
    /// The question words.
    pub question_words: WordList,
    /// Auxiliaries: the last words of short answers, after a pronoun.
    pub auxiliaries: WordList,
    /// The pronouns.
    pub pronouns: WordList,
}

/// Tables of all languages, with those for a region before those for the whole language.
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

/// A table without any words.
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
    machine_questions: &[],
};

impl Language {
    /// Returns the table for a BCP 47 tag: that of the tag, else that of its primary subtag, else one without words. Agents that speak any language
    /// (`multi`, or no tag) use the English one.
    #[must_use]
    pub fn of(tag: &str) -> &'static Self {
        let find = |tag: &str| LANGUAGES.iter().find(|language| language.tag.eq_ignore_ascii_case(tag));
        let primary = tag.split('-').next().unwrap_or_default();
        let known = if tag.is_empty() || tag.eq_ignore_ascii_case("multi") { find(ENGLISH.tag) } else { find(tag) };
        known.or_else(|| find(primary)).unwrap_or(&NONE)
    }

    /// Returns whether there is a table for this language.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.tag.is_empty()
    }
}

impl Phrases {
    /// Returns the phrases to play before late TTS audio.
    pub(crate) fn covers(&self) -> impl Iterator<Item = &'static str> {
        self.fillers.first().into_iter().chain(self.still_here.first()).copied()
    }
}
