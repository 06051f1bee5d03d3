//! Requests to the LLM, and saying its responses.
//!
//! Everything from the LLM carries the number of its request. Anything for a request other than the current one is too late and is dropped.

use std::time::Duration;

use serde_json::{Value, json};

use super::Cascade;
use super::caller_turn::FinishedTurn;
use super::messages::CascadeEffect;
use super::sentences::SentenceSplitter;
use crate::Timestamp;
use crate::conversation::dialogue::{Dialogue, ENDED_BEFORE_TRANSFER};
use crate::conversation::effect::End;
use crate::conversation::history::{Message, Role};
use crate::conversation::playback::Kind;
use crate::conversation::response_deadline::ResponseDeadline;
use crate::conversation::tool_call::ToolCall;
use crate::conversation::tools::{END_CALL, NOT_TRANSFERRED, Returned};
use crate::language::is_unspaced;

/// Instructs the model to respond again after a response that cannot be spoken.
const NO_WORDS: &str = "Your last response had no words, so the caller heard nothing. Answer in words, unless you mean to wait in \
     silence.";

/// A request to the LLM.
pub(super) struct CompletionRequest {
    /// The number of the request.
    pub(super) turn: u32,
    /// The kind of utterance as which its response is said.
    pub(super) kind: Kind,
    /// The caller's text in the request, if their turn may still continue.
    pub(super) early: Option<String>,
    pub(super) stage: LlmStage,
    sentences: SentenceSplitter,
    /// Sentences to say once the turn is over.
    held: Vec<String>,
    /// Whether any of the response was queued for the caller.
    pub(super) said: bool,
    /// Whether something was said before its tools ran.
    said_before: bool,
    first_text: Option<Timestamp>,
    /// Whether the response has text other than blanks.
    has_text: bool,
    /// Whether the response before it had text, but no words.
    follows_wordless: bool,
    ends_call: bool,
    /// Tools to run once this response is complete.
    pub(super) calls: Vec<ToolCall>,
    /// Text to say while they run: the first that any of them has.
    pub(super) filler: Option<String>,
    /// Whether the LLM has failed once at this request and the caller has not heard yet that it takes longer.
    pub(super) is_retry: bool,
}

/// The stage of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LlmStage {
    /// More of it has been awaited since then.
    Streaming(Timestamp),
    /// It is complete.
    Done,
    /// Its tools have been running since then.
    Tools(Timestamp),
}

/// The response to the caller's turn that is under way.
pub(super) struct TurnResponse {
    /// The number of its request.
    turn: u32,
    first_utterance: Option<u32>,
    /// When to say a filler before dead air sets in.
    pub(super) filler_at: Option<Timestamp>,
}

impl CompletionRequest {
    /// Returns whether the response has consequences beyond text: tools, or the end of the call.
    pub(super) fn acts(&self) -> bool {
        self.ends_call || !self.calls.is_empty() || matches!(self.stage, LlmStage::Tools(_))
    }
}

/// Returns whether the model wrote only signs that are not spoken, such as an ellipsis or an emoji, although the caller waits for words. Without
/// any text, after keys that it pressed, or when it was asked for words already, it means to be silent.
fn lacks_words(d: &Dialogue, request: &CompletionRequest) -> bool {
    let wordless = request.has_text && !request.said && !request.ends_call;
    wordless && !request.follows_wordless && d.phase.is_open() && !d.transcript.history.has_pressed_keys()
}

/// Returns the messages to continue with after tools: text before their calls enters the history only as it is heard, and must not be said twice.
fn messages_after_tools(d: &Dialogue) -> Vec<Message> {
    let mut messages = d.transcript.history.messages();
    if let Some(calls) = messages.iter_mut().rfind(|message| !message.tool_calls.is_empty()) {
        calls.text = d.playback.remembered().collect::<Vec<_>>().join(" ");
    }
    messages
}

/// Returns whether two transcripts differ at most in case and punctuation.
pub(super) fn same_words(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// Returns the words in lower case with a space between them, keeping the signs of numbers: "10.5" is not "105". Scripts without spaces get none.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let (mut last, mut before, mut gap) = (None, None, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || is_sign_of_number(before, c, chars.peek().copied()) {
            let apart = |last: char| gap && !is_unspaced(last) && !is_unspaced(c);
            if last.is_some_and(apart) {
                plain.push(' ');
            }
            plain.extend(c.to_lowercase());
            (last, gap) = (Some(c), false);
        } else {
            gap |= c.is_whitespace() || is_mark(c);
        }
        before = Some(c);
    }
    plain
}

/// Returns whether a punctuation mark ends a word. An apostrophe does not.
fn is_mark(c: char) -> bool {
    (c.is_ascii_punctuation() && c != '\'') || matches!(c, '\u{2010}'..='\u{2015}' | '\u{2026}')
}

/// Returns whether the mark changes the number next to it: "-5", "10.5", "$5", "5%".
fn is_sign_of_number(before: Option<char>, c: char, after: Option<char>) -> bool {
    const BEFORE: &[char] = &['.', ',', ':', '/', '-', '\u{2212}', '+', '#'];
    const BESIDE: &[char] = &['%', '$', '€', '£', '¥', '₹', '°'];
    let is_digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    let leads = is_digit(after) && (BEFORE.contains(&c) || BESIDE.contains(&c));
    leads || (is_digit(before) && BESIDE.contains(&c))
}

impl Cascade {
    /// Requests a completion. `early` is the caller's text if their turn may still continue.
    pub(super) fn request_completion(
        &mut self,
        d: &mut Dialogue,
        kind: Kind,
        messages: Vec<Message>,
        early: Option<String>,
    ) {
        self.last_turn += 1;
        let turn = self.last_turn;
        // The history includes late results by now.
        self.late_result &= early.is_some();
        d.emit(CascadeEffect::RequestCompletion { turn, messages, speculative: early.is_some() });
        self.tools.rounds = 0;
        self.request = Some(CompletionRequest {
            turn,
            kind,
            early,
            stage: LlmStage::Streaming(d.now),
            sentences: SentenceSplitter::new(&d.agent.language),
            held: Vec::new(),
            said: false,
            said_before: false,
            first_text: None,
            has_text: false,
            follows_wordless: false,
            ends_call: false,
            calls: Vec::new(),
            filler: None,
            is_retry: false,
        });
    }

    /// Responds to what the caller said, with the response to a matching early request if there is one.
    pub(super) fn respond(&mut self, d: &mut Dialogue, said: &FinishedTurn) {
        let early =
            self.request.take_if(|request| request.early.as_ref().is_some_and(|early| same_words(early, &said.text)));
        self.cancel_llm(d);
        let mut deadline = ResponseDeadline::after_turn(said.ended, d.now);
        (deadline.since, deadline.first_token) = (said.ended, early.as_ref().and_then(|request| request.first_text));
        self.response_deadline = Some(deadline);
        self.response = Some(TurnResponse {
            turn: early.as_ref().map_or(self.last_turn + 1, |request| request.turn),
            first_utterance: None,
            filler_at: (!std::mem::take(&mut self.filled)).then(|| d.now + d.timings.filler),
        });
        match early {
            Some(mut request) => {
                request.early = None;
                let held = std::mem::take(&mut request.held);
                let whole = request.stage == LlmStage::Done;
                self.request = Some(request);
                self.say_sentences(d, held, whole);
            }
            None => {
                let messages = d.transcript.history.messages();
                self.request_completion(d, Kind::Response, messages, None);
            }
        }
    }

    /// Returns the current request if it has this number and is still streaming.
    fn streaming(&mut self, now: Timestamp, turn: u32) -> Option<&mut CompletionRequest> {
        let request = self.request.as_mut().filter(|request| request.turn == turn)?;
        let streaming = matches!(request.stage, LlmStage::Streaming(_));
        streaming.then(|| {
            self.llm_waited = Duration::ZERO;
            request.stage = LlmStage::Streaming(now);
            request
        })
    }

    pub(super) fn llm_text(&mut self, d: &mut Dialogue, turn: u32, text: &str) {
        let now = d.now;
        let Some(request) = self.streaming(d.now, turn) else { return };
        request.first_text.get_or_insert(now);
        request.has_text |= !text.trim().is_empty();
        let sentences = request.sentences.push(text);
        if self.response.as_ref().is_some_and(|response| response.turn <= turn)
            && let Some(deadline) = &mut self.response_deadline
        {
            deadline.first_token.get_or_insert(now);
        }
        self.say_sentences(d, sentences, false);
    }

    pub(super) fn llm_tool_call(&mut self, d: &mut Dialogue, turn: u32, call: ToolCall, filler: Option<String>) {
        let Some(request) = self.streaming(d.now, turn) else { return };
        if call.name == END_CALL {
            request.ends_call = true;
        } else {
            request.calls.push(call);
            let filler = filler.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
            request.filler = request.filler.take().or(filler);
        }
    }

    pub(super) fn llm_done(&mut self, d: &mut Dialogue, turn: u32) {
        let Some(request) = self.streaming(d.now, turn) else { return };
        request.stage = LlmStage::Done;
        let rest = request.sentences.finish();
        let last = request.calls.is_empty();
        self.llm_failures = 0;
        self.say_sentences(d, rest.into_iter().collect(), last);
    }

    /// Says sentences of the response, or holds them back while the turn may continue.
    fn say_sentences(&mut self, d: &mut Dialogue, sentences: Vec<String>, whole: bool) {
        let Some(request) = self.request.as_mut() else { return };
        if request.early.is_some() {
            if let Some(first) = sentences.first().filter(|_| request.held.is_empty()) {
                d.emit(CascadeEffect::PrepareSpeech { turn: request.turn, text: first.clone() });
            }
            request.held.extend(sentences);
            return;
        }
        request.said |= !sentences.is_empty();
        let kind = request.kind;
        for (i, sentence) in sentences.iter().enumerate() {
            let utterance = self.speak(d, kind, sentence, whole && i + 1 == sentences.len());
            if let Some(response) = &mut self.response {
                response.first_utterance.get_or_insert(utterance);
            }
        }
    }

    /// Acts on a complete response: runs its tools or ends the call. Waits while it is undecided whether the caller interrupts.
    pub(super) fn finish_response(&mut self, d: &mut Dialogue) -> bool {
        if self.overlap.is_some() {
            return false;
        }
        let complete = |request: &mut CompletionRequest| request.early.is_none() && request.stage == LlmStage::Done;
        let Some(request) = self.request.take_if(complete) else { return false };
        if !request.calls.is_empty() {
            self.run_tools(d, request);
        } else if lacks_words(d, &request) {
            self.ask_for_words(d, &request);
        } else {
            self.conclude(d, &request);
        }
        true
    }

    /// Requests the response again, after one that cannot be spoken.
    fn ask_for_words(&mut self, d: &mut Dialogue, request: &CompletionRequest) {
        let mut messages = if request.said_before { messages_after_tools(d) } else { d.transcript.history.messages() };
        messages.push(Message::new(Role::User, format!("({NO_WORDS})")));
        let rounds = self.tools.rounds;
        self.request_completion(d, request.kind, messages, None);
        self.tools.rounds = rounds;
        if let Some(again) = &mut self.request {
            (again.said_before, again.follows_wordless) = (request.said_before, true);
        }
    }

    /// Finishes the response: the caller hears the rest of it, and then it is their turn, unless the call ends.
    fn conclude(&mut self, d: &mut Dialogue, request: &CompletionRequest) {
        if request.said || request.said_before {
            d.playback.close();
        } else {
            self.response = None;
        }
        if request.ends_call {
            if !request.said {
                self.say_one_of(d, Kind::Goodbye, d.language.phrases.goodbyes);
            }
            d.close_with(End::AgentHungUp, None);
        }
    }

    fn run_tools(&mut self, d: &mut Dialogue, mut request: CompletionRequest) {
        // The effects of tools cannot be undone with the turn.
        self.release_turn(d);
        let (turn, calls) = (request.turn, std::mem::take(&mut request.calls));
        let filler = request.filler.take().filter(|_| !request.said && !request.said_before);
        request.stage = LlmStage::Tools(d.now);
        self.request = Some(request);
        if let Err(circling) = self.tools.count_round("language model") {
            return self.give_up(d, circling);
        }
        if let Some(filler) = filler {
            self.say_text(d, Kind::Filler, &filler);
        }
        for call in calls {
            self.tools.run(d, turn, call);
        }
    }

    pub(super) fn tool_returned(&mut self, d: &mut Dialogue, turn: u32, id: &str, result: &Value) {
        match self.tools.returned(d, turn, id, result) {
            Returned::InRound if !self.tools.is_running() => self.send_tool_results(d),
            Returned::Late(_) => self.late_result = true,
            Returned::InRound | Returned::Unknown => {}
        }
    }

    /// Requests a response to a late tool result: the caller waits for it, although they have spoken meanwhile. Waits until the line is silent.
    pub(super) fn tell_late_result(&mut self, d: &mut Dialogue) -> bool {
        let may = self.late_result && d.phase.is_open() && d.is_idle() && self.overlap.is_none();
        let may = may && self.request.is_none() && !self.caller_is_heard(d);
        if may {
            let messages = d.transcript.history.messages();
            self.request_completion(d, Kind::Response, messages, None);
        }
        may
    }

    /// Requests the response again with the results. Tools that have not returned count as failed. A response that ends the call needs no further one
    /// if all tools succeeded.
    fn send_tool_results(&mut self, d: &mut Dialogue) {
        let Some(request) = self.request.take() else { return };
        let done = request.ends_call && !self.tools.is_running() && !self.tools.have_failed();
        self.tools.record(d, &json!({ "error": "The tool did not respond in time." }), false);
        if done {
            return self.conclude(d, &request);
        }
        let rounds = self.tools.rounds;
        let messages = messages_after_tools(d);
        self.request_completion(d, request.kind, messages, None);
        self.tools.rounds = rounds;
        if let Some(again) = &mut self.request {
            again.said_before = request.said || request.said_before;
        }
    }

    /// Leaves tools running while the caller speaks; the model must not call them again for the same purpose. A transfer that has not begun is
    /// cancelled.
    fn leave_tools_running(&mut self, d: &mut Dialogue, turn: u32) {
        if let Some(transfer) = d.drop_transfer(NOT_TRANSFERRED) {
            self.tools.returned(d, turn, &transfer.tool_call, &json!({ "error": NOT_TRANSFERRED }));
        }
        let running = "It is still running: the caller spoke meanwhile. Do not call it again for the same.";
        self.tools.record(d, &json!({ "status": running }), false);
    }

    /// Drops a transfer that is announced while the call ends.
    pub(super) fn drop_announced_transfer(&mut self, d: &mut Dialogue) {
        if let Some(transfer) = d.drop_transfer(ENDED_BEFORE_TRANSFER)
            && let Some(turn) = self.tools.turn_of(&transfer.tool_call)
        {
            self.tools.returned(d, turn, &transfer.tool_call, &json!({ "error": ENDED_BEFORE_TRANSFER }));
        }
    }

    /// Returns when running tools time out. A transfer takes as long as what is said before it, so it has no timeout once all other tools have
    /// returned.
    pub(super) fn tools_timeout_at(&self, d: &Dialogue) -> Option<Timestamp> {
        if d.pending_transfer.as_ref().is_some_and(|transfer| !self.tools.runs_beside(&transfer.tool_call)) {
            return None;
        }
        match self.request.as_ref()?.stage {
            LlmStage::Tools(since) => Some(since + d.timings.tool),
            _ => None,
        }
    }

    /// Continues without tools that take too long.
    pub(super) fn time_out_tools(&mut self, d: &mut Dialogue) -> bool {
        let due = d.is_due(self.tools_timeout_at(d));
        match &d.pending_transfer {
            Some(transfer) if due => self.tools.wait_only_for(&transfer.tool_call),
            None if due => self.send_tool_results(d),
            _ => {}
        }
        due
    }

    /// Returns whether the response to the caller's turn, or the greeting, is still under way.
    pub(super) fn is_responding(&self) -> bool {
        self.response.is_some() || self.llm_pending()
    }

    /// Returns whether the model works on a response that will be said for certain.
    pub(super) fn llm_pending(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.early.is_none())
    }

    /// Cancels the current request.
    pub(super) fn cancel_llm(&mut self, d: &mut Dialogue) {
        let Some(request) = self.request.take() else { return };
        match request.stage {
            LlmStage::Streaming(since) => {
                self.llm_waited += d.now.since(since);
                d.emit(CascadeEffect::CancelCompletion { turn: request.turn });
            }
            LlmStage::Tools(_) => self.leave_tools_running(d, request.turn),
            LlmStage::Done if request.early.is_some() => d.emit(CascadeEffect::CancelCompletion { turn: request.turn }),
            LlmStage::Done => {}
        }
    }

    pub(super) fn note_audio_made(&mut self, d: &Dialogue, utterance: u32) {
        if let Some((_, deadline)) = self.response_with(utterance) {
            deadline.first_audio.get_or_insert(d.now);
        }
    }

    pub(super) fn note_audio_heard(&mut self, d: &mut Dialogue, kind: Kind, utterance: u32) {
        let response = self.response_with(utterance).filter(|_| kind == Kind::Response);
        if response.is_some_and(|(turn, deadline)| deadline.heard(d, turn))
            && let Some(said) = &mut self.resumable
        {
            said.answered = true;
        }
    }

    /// Returns the response that an utterance is part of, unless the utterance was said before it.
    fn response_with(&mut self, utterance: u32) -> Option<(u32, &mut ResponseDeadline)> {
        let response =
            self.response.as_ref().filter(|it| it.first_utterance.is_some_and(|first| first <= utterance))?;
        Some((response.turn, self.response_deadline.as_mut()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_with_other_case_and_punctuation_have_the_same_words() {
        let table = [
            ("i want a table", "I want a table."),
            ("Yes please", "Yes, please!"),
            ("Don't you?", "don\u{2019}t you"),
            ("a check-in at ten", "A check in, at ten."),
            ("it's 10.5", "It's 10.5."),
            ("room 204, please", "Room 204 please."),
            ("明日の七時に", "明日の、七時に。"),
            ("発信音 の 後", "発信音の後"),
            ("कल शाम को", "कल शाम को।"),
            ("¿Está libre?", "está libre"),
        ];
        for (one, other) in table {
            assert!(same_words(one, other) && same_words(other, one), "{one} {other}");
        }
    }

    #[test]
    fn other_numbers_and_other_words_are_not_the_same() {
        let table = [
            ("10.5", "105"),
            ("1 25", "125"),
            ("-5", "5"),
            ("minus -5 degrees", "minus 5 degrees"),
            ("7:30", "730"),
            ("1,5", "15"),
            ("1/2", "12"),
            ("5%", "5"),
            ("$5", "5"),
            ("9-5", "95"),
            ("I am a part", "I am apart"),
            ("a table", "a table for"),
            ("９０ １２", "９０１２"),
        ];
        for (one, other) in table {
            assert!(!same_words(one, other) && !same_words(other, one), "{one} {other}");
        }
    }
}
