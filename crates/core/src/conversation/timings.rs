//! The times of a conversation that an agent's configuration does not set.

use std::time::Duration;

/// How long things take and may take. The defaults suit phone lines; [`Timings::default`] is what calls use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Speech that voice activity detection needs before it reports a start: how late `SpeechStarted` is.
    pub vad_onset: Duration,
    /// Silence that it needs before it reports a stop: how late `SpeechStopped` is.
    pub vad_hangover: Duration,
    /// Silence within speech over the agent that does not make two interruptions of it.
    pub same_speech: Duration,
    /// How long after the end of speech the STT may take; then the turn goes on with what there is.
    pub stt: Duration,
    /// Noise shorter than this is nothing to ask the caller to repeat.
    pub unclear_speech: Duration,
    /// How long the agent stays silent after a short noise, to see whether words come of it.
    pub false_interruption: Duration,
    /// A caller who speaks so soon after their turn was taken goes on with it: it was not over.
    pub turn_resumed: Duration,
    /// A single word over the agent that is shorter asks for no response.
    pub long_word: Duration,
    /// Speech of which only backchannels are known interrupts after this long all the same.
    pub long_backchannel: Duration,
    /// Thanks and assent take no longer than this. Until then, voice over an agent that is about to do something does not stop it.
    pub courtesy: Duration,
    /// A backchannel this close to the end of what the agent says is taken as a response to it.
    pub backchannel_boundary: Duration,
    /// How long the model may be silent, before its first word and between words.
    pub model_silence: Duration,
    /// How long a voice may take to go on when it is its turn to be heard, and how long the line may take to play it, where
    /// [`Timings::dead_air`] does not apply.
    pub speech_silence: Duration,
    /// How long a tool may take.
    pub tool: Duration,
    /// Without any audio of the response this long after the turn, a filler is said.
    pub filler: Duration,
    /// The longest silence of the agent while a response is due. A phrase then stands in for a late TTS; a filler
    /// is said [`Timings::voice_start`] before.
    pub dead_air: Duration,
    /// How long a voice needs to be heard.
    pub voice_start: Duration,
    /// In greeting mode `wait`, the agent greets after this much silence.
    pub greeting_wait: Duration,
    /// Kept between the last audio of a goodbye and the hang-up, so that the network delivers it.
    pub goodbye_tail: Duration,
    /// How long a late goodbye is waited for in silence, where no phrase that could cover the wait is cached.
    pub goodbye_silence: Duration,
    /// The longest a goodbye may take before the call is ended anyway.
    pub goodbye_limit: Duration,
    /// How long a machine's beep is awaited; then the message is left anyway.
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
            beep: Duration::from_secs(30),
        }
    }
}
