//! Durations of a conversation that an agent's configuration does not set.

use std::time::Duration;

/// Durations and limits. The defaults suit telephone calls; calls use [`Timings::default`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Speech that voice activity detection needs before it reports a start: the delay of `SpeechStarted`.
    pub vad_onset: Duration,
    /// Silence that it needs before it reports a stop: the delay of `SpeechStopped`.
    pub vad_hangover: Duration,
    /// A pause this short within speech over the agent does not split it into two interruptions.
    pub same_speech: Duration,
    /// How long after the end of speech the STT may take; then the turn continues with the words so far.
    pub stt: Duration,
    /// Noise shorter than this is not worth asking the caller to repeat.
    pub unclear_speech: Duration,
    /// How long after a short noise words may still be recognised in it.
    pub false_interruption: Duration,
    /// How long after the reported end of voice over the agent it continues, even if the words are not known yet.
    pub overlap_resume: Duration,
    /// A caller who speaks within this time after the end of their turn continues it: it was not over.
    pub turn_resumed: Duration,
    /// A single word over the agent that is shorter than this needs no response.
    pub long_word: Duration,
    /// Speech with only known backchannels interrupts anyway after this long.
    pub long_backchannel: Duration,
    /// Thanks and assent take no longer than this. Until then, voice over an agent that is about to do something does not stop it.
    pub courtesy: Duration,
    /// A backchannel this close to the end of the agent's speech is taken as a response to it.
    pub backchannel_boundary: Duration,
    /// How long the model may be silent before its first text and between pieces of text.
    pub model_silence: Duration,
    /// How long the TTS may take to continue when its audio is due, and how long playback may stall, where [`Timings::dead_air`] does not apply.
    pub speech_silence: Duration,
    /// How long a tool may take.
    pub tool: Duration,
    /// A filler is said if no audio of the response came this long after the turn.
    pub filler: Duration,
    /// The longest silence of the agent while a response is due. A phrase then replaces a late TTS; a filler is said [`Timings::voice_start`]
    /// earlier.
    pub dead_air: Duration,
    /// How long a TTS needs until its audio is heard.
    pub voice_start: Duration,
    /// In greeting mode `wait`, the silence after which the agent greets.
    pub greeting_wait: Duration,
    /// Wait between the last audio of a goodbye and the hang-up, so that the network delivers it.
    pub goodbye_tail: Duration,
    /// How long to wait in silence for a late goodbye if no phrase that could cover the wait is cached.
    pub goodbye_silence: Duration,
    /// The maximum duration of a goodbye, after which the call ends anyway.
    pub goodbye_limit: Duration,
    /// A machine whose greeting has a pause, into which the agent has spoken, continues within this time.
    pub greeting_pause: Duration,
    /// How long to wait for a machine's beep; then the message is left anyway.
    pub beep: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            vad_onset: Duration::from_millis(64),
            vad_hangover: Duration::from_millis(120),
            same_speech: Duration::from_millis(300),
            stt: Duration::from_millis(2_500),
            unclear_speech: Duration::from_millis(300),
            false_interruption: Duration::from_secs(1),
            overlap_resume: Duration::from_millis(160),
            turn_resumed: Duration::from_millis(1_500),
            long_word: Duration::from_millis(800),
            long_backchannel: Duration::from_millis(1_500),
            courtesy: Duration::from_secs(4),
            backchannel_boundary: Duration::from_secs(1),
            model_silence: Duration::from_secs(10),
            speech_silence: Duration::from_secs(10),
            tool: Duration::from_secs(10),
            filler: Duration::from_secs(2),
            dead_air: Duration::from_millis(2_700),
            voice_start: Duration::from_millis(300),
            greeting_wait: Duration::from_secs(2),
            goodbye_tail: Duration::from_millis(300),
            goodbye_silence: Duration::from_secs(6),
            goodbye_limit: Duration::from_secs(20),
            greeting_pause: Duration::from_secs(2),
            beep: Duration::from_secs(30),
        }
    }
}
