//! The scenario selected by the dialled number. All numbers are reserved for fiction.

/// The behaviour of the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Answers, and a simulated caller talks.
    Talks,
    /// Is busy.
    Busy,
    /// Rings until the ring timeout.
    NoAnswer,
    /// Declines.
    Rejects,
    /// Does not exist.
    InvalidNumber,
    /// Answers and never sends audio.
    NoMedia,
    /// The carrier refuses the credentials.
    RefusesCredentials,
    /// The carrier fails.
    CarrierErrs,
    /// Hangs up in the middle of the agent's sentence.
    HangsUpOnAgent,
    /// Stays silent until the call is hung up.
    Silent,
    /// A voicemail: greeting, beep, then it listens.
    Voicemail,
    /// Ends normally right away.
    EndsAtOnce,
    /// Talks, and meets a language model that never answers.
    ModelNeverAnswers,
}

impl Scenario {
    /// Returns the scenario of this number.
    #[must_use]
    pub(super) fn of(number: &str) -> Self {
        match number {
            "+12025550101" => Self::Busy,
            "+12025550102" => Self::NoAnswer,
            "+12025550103" => Self::Rejects,
            "+12025550104" => Self::InvalidNumber,
            "+12025550105" => Self::NoMedia,
            "+12025550106" => Self::RefusesCredentials,
            "+12025550107" => Self::CarrierErrs,
            "+12025550108" => Self::HangsUpOnAgent,
            "+12025550109" => Self::Silent,
            "+12025550110" => Self::Voicemail,
            "+12025550111" => Self::EndsAtOnce,
            "+12025550112" => Self::ModelNeverAnswers,
            _ => Self::Talks,
        }
    }
}
