//! Scripted failures of providers, and a simulation with random ones.

use std::collections::BTreeMap;

use proptest::prelude::*;
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_media::frame::{CallerAudio, Frame};

use super::*;

fn audio(number: i16) -> SttInput {
    SttInput::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, &[number; 160])))
}

fn number(frame: &CallerAudio) -> i16 {
    frame.0.samples()[0]
}

fn says(segment: u32, text: &str) -> SttEvent {
    SttEvent::Final { segment, text: text.to_owned() }
}

fn dies() -> SttEvent {
    SttEvent::Failed { code: ErrorCode::PipelineError, message: "It broke.".to_owned() }
}

/// Returns the steps as text, without audio.
fn shown(steps: Vec<Step>) -> Vec<String> {
    let show = |step| match step {
        Step::Pass(SttInput::Audio(_)) => None,
        Step::Pass(SttInput::StartAt(segment)) => Some(format!("pass from {segment}")),
        Step::Pass(SttInput::SpeechStarted) => Some("pass start".to_owned()),
        Step::Pass(SttInput::SpeechStopped(segment)) => Some(format!("pass stop {segment}")),
        Step::Open { position } => Some(format!("open {position}")),
        Step::Adopt => Some("adopt".to_owned()),
        Step::Discard => Some("discard".to_owned()),
        Step::LetGo => Some("let go".to_owned()),
        Step::Report(SttEvent::Partial { text }) => Some(format!("~ {text}")),
        Step::Report(SttEvent::Final { segment, text }) => Some(format!("{segment} {text}")),
        Step::Report(SttEvent::EndOfTurn) => Some("judged".to_owned()),
        Step::Report(SttEvent::Failed { code, message }) => Some(format!("{}: {message}", code.as_str())),
    };
    steps.into_iter().filter_map(show).collect()
}

/// Returns a failover whose first STT is open.
fn begun(count: usize, now: Instant) -> SttFailover {
    let mut failover = SttFailover::new(count);
    assert_eq!(shown(failover.begin().into_iter().collect()), ["open 0"]);
    assert_eq!(shown(failover.opened(now)), ["adopt", "pass from 0"]);
    failover
}

/// Returns a failover whose caller has said segment 0, which has no transcript yet.
fn waiting(count: usize, now: Instant) -> SttFailover {
    let mut failover = begun(count, now);
    failover.handle_input(SttInput::SpeechStarted, now);
    failover.handle_input(audio(1), now);
    failover.handle_input(SttInput::SpeechStopped(0), now);
    failover
}

#[test]
fn one_that_fails_hands_over_what_has_no_final_words() {
    let now = Instant::now();
    let mut failover = waiting(2, now);
    failover.handle_event(says(0, "Hello."), now);
    failover.handle_input(SttInput::SpeechStarted, now);
    failover.handle_event(SttEvent::Partial { text: "book".to_owned() }, now);
    failover.handle_input(SttInput::SpeechStopped(1), now);
    assert_eq!(shown(failover.handle_event(dies(), now)), ["let go", "open 1"]);
    assert!(shown(failover.handle_input(SttInput::SpeechStarted, now)).is_empty(), "nobody is there to hear it");
    assert_eq!(shown(failover.opened(now)), ["adopt", "pass from 1", "pass start", "pass stop 1", "pass start"]);
    assert_eq!(shown(failover.handle_event(says(1, "Book a table."), now)), ["1 Book a table."]);
    assert_eq!(shown(failover.handle_event(dies(), now)), ["let go", "pipeline_error: It broke."], "nobody is left");
}

#[test]
fn late_provider_stays_if_it_answers_before_the_next_opens() {
    let now = Instant::now();
    let mut failover = waiting(3, now);
    assert_eq!(failover.next_deadline(), Some(now + TRANSCRIPT_TIMEOUT));
    assert!(failover.tick(now + TRANSCRIPT_TIMEOUT / 2).is_empty());
    assert_eq!(shown(failover.tick(now + TRANSCRIPT_TIMEOUT)), ["open 1"]);
    let later = now + TRANSCRIPT_TIMEOUT * 2;
    assert_eq!(shown(failover.handle_event(says(0, "Yes."), later)), ["0 Yes."]);
    assert_eq!(shown(failover.opened(later)), ["discard"]);
    failover.handle_input(SttInput::SpeechStarted, later);
    failover.handle_input(SttInput::SpeechStopped(1), later);
    assert_eq!(shown(failover.tick(later + TRANSCRIPT_TIMEOUT)), ["open 1"], "it can be asked again");
    assert_eq!(
        shown(failover.opened(later + TRANSCRIPT_TIMEOUT)),
        ["adopt", "pass from 1", "pass start", "pass stop 1"]
    );
    assert_eq!(failover.next_deadline(), Some(later + TRANSCRIPT_TIMEOUT * 2), "and has its own time");
}

#[test]
fn who_cannot_be_opened_is_passed_over_and_the_last_error_is_reported() {
    let now = Instant::now();
    let refused = ProviderError::Config { provider: "b", message: "Wrong key.".to_owned() };
    let mut failover = waiting(3, now);
    failover.handle_event(dies(), now);
    assert_eq!(shown(failover.not_opened(&refused)), ["open 2"]);
    assert_eq!(
        shown(failover.not_opened(&refused)),
        ["pipeline_error: b: Wrong key."],
        "it is no wrong setting in mid-call"
    );

    let mut failover = waiting(2, now);
    failover.tick(now + TRANSCRIPT_TIMEOUT);
    assert!(failover.not_opened(&refused).is_empty(), "the first one still runs");
    assert_eq!(shown(failover.handle_event(says(0, "Yes."), now)), ["0 Yes."]);
    assert_eq!(shown(failover.handle_event(dies(), now)), ["let go", "pipeline_error: It broke."]);
}

#[test]
fn a_wrong_key_of_the_first_one_is_a_wrong_setting_unless_another_takes_over() {
    let now = Instant::now();
    let wrong = || SttEvent::Failed { code: ErrorCode::ConfigError, message: "Wrong key.".to_owned() };
    assert_eq!(shown(waiting(1, now).handle_event(wrong(), now)), ["let go", "config_error: Wrong key."]);
    let mut failover = waiting(2, now);
    failover.handle_event(wrong(), now);
    failover.opened(now);
    assert_eq!(shown(failover.handle_event(wrong(), now)), ["let go", "pipeline_error: Wrong key."]);
}

#[test]
fn words_are_reported_in_the_order_of_speech() {
    let now = Instant::now();
    let mut failover = waiting(2, now);
    failover.handle_input(SttInput::SpeechStarted, now);
    failover.handle_input(SttInput::SpeechStopped(1), now);
    assert!(failover.handle_event(says(1, "for two."), now).is_empty());
    assert_eq!(shown(failover.handle_event(says(0, "A table"), now)), ["0 A table", "1 for two."]);
    assert_eq!(shown(failover.handle_event(says(0, ""), now)), ["0 "], "a final may be replaced");
}

#[test]
fn who_speaks_before_a_recogniser_is_open_is_heard_by_the_first_that_opens() {
    let now = Instant::now();
    let mut failover = SttFailover::new(2);
    failover.begin();
    failover.handle_input(SttInput::SpeechStarted, now);
    failover.handle_input(audio(1), now);
    failover.handle_input(SttInput::SpeechStopped(0), now);
    let busy = ProviderError::Failed { provider: "x", message: "busy".to_owned() };
    assert_eq!(shown(failover.not_opened(&busy)), ["open 1"]);
    assert_eq!(shown(failover.opened(now)), ["adopt", "pass from 0", "pass start", "pass stop 0"]);
    assert!(!failover.has_taken_over());
}

#[test]
fn where_none_opens_the_call_learns_why_and_a_wrong_setting_is_one() {
    let wrong = ProviderError::Config { provider: "x", message: "wrong key".to_owned() };
    let mut failover = SttFailover::new(1);
    failover.begin();
    assert_eq!(shown(failover.not_opened(&wrong)), ["config_error: x: wrong key"]);
    let none = shown(SttFailover::new(0).begin().into_iter().collect());
    assert_eq!(none, ["config_error: No speech to text is configured."]);
}

#[test]
fn of_a_speech_that_is_too_long_the_words_so_far_stand() {
    let now = Instant::now();
    let mut failover = begun(2, now);
    failover.handle_input(SttInput::SpeechStarted, now);
    (0..600).for_each(|number| drop(failover.handle_input(audio(number), now)));
    failover.handle_event(SttEvent::Partial { text: "a long story".to_owned() }, now);
    failover.handle_event(dies(), now);
    assert_eq!(shown(failover.opened(now)), ["adopt", "pass from 0", "pass start"]);
    let more = SttEvent::Partial { text: "that".to_owned() };
    assert_eq!(shown(failover.handle_event(more, now)), ["~ a long story that"]);
    failover.handle_input(SttInput::SpeechStopped(0), now);
    assert_eq!(shown(failover.handle_event(says(0, "that ends."), now)), ["0 a long story that ends."]);
}

#[test]
fn fallback_does_not_replace_words_already_reported() {
    let now = Instant::now();
    let mut failover = begun(2, now);
    failover.handle_input(SttInput::SpeechStarted, now);
    assert_eq!(shown(failover.handle_event(says(0, "Yes."), now)), ["0 Yes."]);
    failover.handle_event(dies(), now);
    failover.opened(now);
    assert_eq!(shown(failover.handle_input(SttInput::SpeechStopped(0), now)), ["pass stop 0"]);
    assert!(failover.handle_event(says(0, ""), now).is_empty());
}

/// The behaviour of an STT. Times are in frames.
#[derive(Clone, Debug)]
struct Outcome {
    /// When the opening ends, and whether it succeeds.
    opens_after: u32,
    opens: bool,
    dies_after: Option<u32>,
    /// The delays of its responses, one per segment in turn.
    answers_after: Vec<u32>,
    /// Whether it reports what it has heard before we signal the end of speech.
    judges: bool,
}

fn fate(good: bool) -> impl Strategy<Value = Outcome> {
    let slow = if good { Just(0_u32).boxed() } else { prop_oneof![3 => Just(0_u32), 1 => Just(150)].boxed() };
    let answers_after = proptest::collection::vec((0..40_u32, slow).prop_map(|(few, slow)| few + slow), 1..4);
    let dies_after = if good { Just(None).boxed() } else { proptest::option::of(0..300_u32).boxed() };
    (0..50_u32, any::<bool>(), dies_after, answers_after, any::<bool>()).prop_map(
        move |(opens_after, opens, dies_after, answers_after, judges)| Outcome {
            opens_after,
            opens: opens || good,
            dies_after,
            answers_after,
            judges,
        },
    )
}

/// An STT that transcribes the numbers of the frames that are not silent.
struct TestStt {
    fate: Outcome,
    age: u32,
    answered: usize,
    words: Vec<i16>,
    quiet: u32,
    started: bool,
    next: u32,
    /// Its pending events, and when they are due.
    answers: Vec<(u32, SttEvent)>,
}

impl TestStt {
    fn send(&mut self, input: &SttInput) {
        match input {
            SttInput::StartAt(segment) => self.next = *segment,
            SttInput::Audio(frame) if number(frame) == 0 => {
                self.quiet += 1;
                if self.fate.judges && self.quiet == 8 && !self.words.is_empty() {
                    self.answer(self.next, 0);
                }
            }
            SttInput::Audio(frame) => {
                self.quiet = 0;
                self.words.push(number(frame));
            }
            SttInput::SpeechStarted => self.started = true,
            SttInput::SpeechStopped(segment) => {
                assert!(std::mem::take(&mut self.started), "{segment} ends without a beginning");
                if !self.fate.judges || *segment >= self.next || !self.words.is_empty() {
                    let after = self.fate.answers_after[self.answered % self.fate.answers_after.len()];
                    self.answered += 1;
                    let segment = if self.fate.judges { self.next.max(*segment) } else { *segment };
                    self.answer(segment, after);
                }
            }
        }
    }

    fn answer(&mut self, segment: u32, after: u32) {
        self.next = segment + 1;
        let words: Vec<String> = self.words.drain(..).map(|word| word.to_string()).collect();
        self.answers.push((self.age + after, says(segment, &words.join(" "))));
    }

    fn says(&mut self) -> Vec<SttEvent> {
        self.age += 1;
        if self.fate.dies_after.is_some_and(|after| after < self.age) {
            return vec![dies()];
        }
        let age = self.age;
        self.answers.extract_if(.., |(at, _)| *at < age).map(|(_, event)| event).collect()
    }
}

/// A failover with the providers around it.
struct World {
    failover: SttFailover,
    fates: Vec<Outcome>,
    now: Instant,
    running: Option<TestStt>,
    /// When the opening ends, and of which provider.
    opening: Option<(Instant, usize)>,
    opened: Option<TestStt>,
    finals: BTreeMap<u32, String>,
}

impl World {
    fn new(fates: Vec<Outcome>) -> Self {
        let (failover, now) = (SttFailover::new(fates.len()), Instant::now());
        let mut world =
            Self { failover, fates, now, running: None, opening: None, opened: None, finals: BTreeMap::new() };
        let first = world.failover.begin();
        world.take(first.into_iter().collect());
        world
    }

    fn stt(fate: Outcome) -> TestStt {
        TestStt { fate, age: 0, answered: 0, words: Vec::new(), quiet: 0, started: false, next: 0, answers: Vec::new() }
    }

    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Pass(input) => self.running.as_mut().expect("somebody runs").send(&input),
                Step::Open { position } => {
                    let frames = self.fates[position].opens_after;
                    self.opening = Some((self.now + FRAME_DURATION * frames, position));
                }
                Step::Adopt => self.running = self.opened.take(),
                Step::Discard => self.opened = None,
                Step::LetGo => self.running = None,
                Step::Report(SttEvent::Final { segment, text }) => drop(self.finals.insert(segment, text)),
                Step::Report(_) => panic!("the last one is good"),
            }
        }
    }

    fn send(&mut self, input: SttInput) {
        let steps = self.failover.handle_input(input, self.now);
        self.take(steps);
    }

    /// Sends 20 ms of the caller, and runs what happens meanwhile.
    fn hear(&mut self, number: i16) {
        self.now += FRAME_DURATION;
        self.send(audio(number));
        for event in self.running.as_mut().map(TestStt::says).unwrap_or_default() {
            let steps = self.failover.handle_event(event, self.now);
            self.take(steps);
        }
        if let Some((_, position)) = self.opening.take_if(|(at, _)| *at <= self.now) {
            let fate = self.fates[position].clone();
            let steps = if fate.opens {
                self.opened = Some(Self::stt(fate));
                self.failover.opened(self.now)
            } else {
                self.failover.not_opened(&ProviderError::Failed { provider: "x", message: "No.".to_owned() })
            };
            self.take(steps);
        }
        if self.failover.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            let steps = self.failover.tick(self.now);
            self.take(steps);
        }
    }
}

proptest! {
    #[test]
    fn no_word_is_lost_or_doubled_whatever_fails_when(
        bad in proptest::collection::vec(fate(false), 0..3),
        good in fate(true),
        speeches in proptest::collection::vec((12..60_u32, 6..40_i16), 1..6),
    ) {
        let mut world = World::new(bad.into_iter().chain([good]).collect());
        let mut word = 0;
        for (segment, (silence, length)) in (0..).zip(speeches) {
            (0..silence).for_each(|_| world.hear(0));
            for at in 0..length {
                // Voice activity is detected after 80 ms, and its end after 200.
                if at == 4 {
                    world.send(SttInput::SpeechStarted);
                }
                word += 1;
                world.hear(word);
            }
            (0..10).for_each(|_| world.hear(0));
            world.send(SttInput::SpeechStopped(segment));
        }
        (0..700).for_each(|_| world.hear(0));
        let said: Vec<String> = (1..=word).map(|word| word.to_string()).collect();
        let texts = world.finals.values().filter(|text| !text.is_empty()).cloned();
        prop_assert_eq!(texts.collect::<Vec<_>>().join(" "), said.join(" "));
    }
}
