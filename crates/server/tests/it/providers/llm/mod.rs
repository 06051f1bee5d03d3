//! LLM adapters: every adapter runs the same tests, and then the provider's own. They run in virtual time: a stalled machine exceeds
//! no deadline.

mod anthropic;
mod conversation;
mod gemini;
mod hedging;
mod openai;
mod openai_tools;
mod service;
mod wild;

use std::time::Duration;

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall};
use switchhook_providers::json_schema::Schema;
use switchhook_providers::llm::Withheld;
use switchhook_providers::{AnalysisRequest, LlmEvent, LlmRequest, ProviderError, ToolSpec, UsageMeter};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, KEY, Piece, Protocol, Reply, ask, says};
use crate::doubles::openai_llm::OpenAi;

/// Runs each test for each adapter.
macro_rules! every_adapter {
    ($($story:ident),* $(,)?) => {
        every_adapter!(@of openai_chat, OpenAi, $($story),*);
        every_adapter!(@of anthropic_messages, Anthropic, $($story),*);
        every_adapter!(@of gemini_contents, Gemini, $($story),*);
    };
    (@of $module:ident, $protocol:expr, $($story:ident),*) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $story() {
                    super::$story($protocol).await;
                }
            )*
        }
    };
}

every_adapter!(
    an_answer_is_streamed_with_its_tools_and_what_it_cost,
    the_whole_conversation_is_sent_in_the_order_it_was_held,
    taking_a_question_back_lets_go_of_the_connection,
    a_server_that_never_answers_is_a_timeout,
    a_socket_that_dies_in_an_answer_is_found_out,
    a_refused_key_is_reported_in_the_providers_words_and_not_tried_again,
    a_rate_limit_is_waited_out_when_it_is_short,
    a_busy_server_is_asked_again_and_then_given_up,
    what_cannot_be_read_is_a_failure_and_not_an_answer,
    blank_data_is_skipped_before_between_and_after_chunks,
    a_surrogate_pair_in_two_events_breaks_no_response_off,
    an_answer_without_its_end_is_a_failure,
    whole_sentences_without_an_end_are_an_answer,
    a_conversation_that_is_too_long_is_shortened_once,
    reasoning_that_uses_up_its_limit_gets_a_higher_one,
    nothing_may_be_said_after_keys_and_only_then,
    calls_of_whatever_ids_can_be_distinguished,
    a_call_is_looked_back_upon_by_its_schema,
    a_connection_that_was_made_ahead_carries_the_first_question,
);

pub(super) fn request() -> LlmRequest {
    LlmRequest {
        model: Some("a-model".to_owned()),
        messages: vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "A table, please.")],
        tools: vec![ToolSpec {
            name: "tables".to_owned(),
            description: "Free tables.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "day": { "type": "string" } } }),
        }],
        temperature: Some(0.5),
        max_tokens: None,
        withheld: Some(Withheld::default()),
    }
}

pub(super) fn text(events: &[LlmEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let LlmEvent::Delta(text) = event { Some(text.as_str()) } else { None })
        .collect()
}

/// Returns the events of a response without those of its end.
fn beginning<P: Protocol>(protocol: P) -> Vec<String> {
    let mut events = protocol.answer(&[Piece::Text("I would say that")]);
    events.truncate(events.len() - 3);
    events
}

fn table(day: &str) -> Piece {
    Piece::Tool { id: "call_abc", name: "tables", arguments: json!({ "day": day }) }
}

async fn an_answer_is_streamed_with_its_tools_and_what_it_cost<P: Protocol>(protocol: P) {
    let pieces = vec![
        Piece::Text("Let me look, \u{e9}milie. "),
        table("Friday"),
        Piece::Tool { id: "call_def", name: "hours", arguments: json!({}) },
    ];
    let double = Double::start(protocol, vec![Reply::Answer(pieces)]).await;
    let (events, usage) = ask(&*double.llm(), request()).await;
    assert_eq!(text(&events), "Let me look, \u{e9}milie. ", "and nothing of what it thought");
    let calls = events.iter().filter_map(|event| if let LlmEvent::ToolCall(call) = event { Some(call) } else { None });
    let calls: Vec<_> = calls.map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.to_string())).collect();
    let friday = "{\"day\":\"Friday\"}".to_owned();
    assert_eq!(calls, [("call_abc", "tables", friday), ("call_def", "hours", "{}".to_owned())]);
    let usage = usage.expect("answered");
    assert_eq!((usage.llm_input_tokens, usage.llm_cached_tokens, usage.llm_output_tokens), (12, 4, 7));
    assert!(!usage.llm_estimated);
    double.finish();
}

async fn the_whole_conversation_is_sent_in_the_order_it_was_held<P: Protocol>(protocol: P) {
    let double = Double::start(protocol, vec![Reply::Answer(vec![table("Friday")]), says("Seven.")]).await;
    let llm = double.llm();
    let (events, _) = ask(&*llm, request()).await;
    let Some(LlmEvent::ToolCall(call)) = events.into_iter().next() else { panic!("it calls a tool") };
    let call = *call;
    let lost = ToolCall { id: "call_lost".to_owned(), ..call.clone() };
    let mut again = request();
    again.messages.insert(1, Message::new(Role::Assistant, "Hello?"));
    again.messages.push(Message { tool_calls: vec![call.clone(), lost], ..Message::new(Role::Assistant, "") });
    again.messages.push(Message { tool_call_id: Some(call.id), ..Message::new(Role::Tool, "{\"free\":7}") });
    again.messages.push(Message::new(Role::Assistant, "Let me\u{2026}"));
    again.messages.push(Message::new(Role::User, "Hurry."));
    let (events, _) = ask(&*llm, again).await;
    assert_eq!(text(&events), "Seven.");
    let asked = double.asked();
    let said: Vec<_> =
        protocol.conversation(&asked[1]).into_iter().filter(|(_, text)| !text.starts_with('(')).collect();
    let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
    let call = "call tables {\"day\":\"Friday\"}";
    assert_eq!(texts[..4], ["Hello?", "A table, please.", call, call]);
    let results = texts[4..6].concat();
    assert!(results.contains("free") && results.contains("cancelled"), "every call has its result: {texts:?}");
    assert_eq!(texts[6..], ["Let me\u{2026}", "Hurry."]);
    assert!(asked[1].to_string().contains("Be brief."));
    assert!(asked[1].to_string().contains("Free tables."));
    double.finish();
}

async fn taking_a_question_back_lets_go_of_the_connection<P: Protocol>(protocol: P) {
    let double = Double::start(protocol, vec![Reply::Stalls(beginning(protocol)), Reply::Silence]).await;
    let llm = double.llm();
    for has_begun in [true, false] {
        let (events, mut given) = mpsc::channel(8);
        let asking = tokio::spawn({
            let llm = llm.clone();
            async move { llm.respond(request(), events).await }
        });
        if has_begun {
            assert!(given.recv().await.is_some(), "it had begun");
        } else {
            while double.asked().len() < 2 {
                tokio::task::yield_now().await;
            }
        }
        asking.abort();
        double.freed().await;
    }
    double.finish();
}

async fn a_server_that_never_answers_is_a_timeout<P: Protocol>(protocol: P) {
    let double = Double::start(protocol, vec![Reply::Silence, Reply::Stalls(Vec::new())]).await;
    let llm = double.llm_with(json!({ "timeouts_ms": { "first_byte": 200, "first_word": 300 } }));
    for waited in [200, 300] {
        let (events, result) = ask(&*llm, request()).await;
        assert!(events.is_empty());
        assert!(matches!(result, Err(ProviderError::Timeout { waited_ms, .. }) if waited_ms == waited), "{result:?}");
        double.freed().await;
    }
    double.finish();
}

async fn a_socket_that_dies_in_an_answer_is_found_out<P: Protocol>(protocol: P) {
    let replies = vec![
        Reply::Stalls(beginning(protocol)),
        Reply::Breaks(beginning(protocol)),
        Reply::Breaks(Vec::new()),
        says("Yes."),
    ];
    let double = Double::start(protocol, replies).await;
    let llm = double.llm_with(json!({ "timeouts_ms": { "gap": 200 } }));
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events).starts_with("I would"), "what was said was said");
    assert!(matches!(result, Err(ProviderError::Timeout { waited_ms: 200, .. })), "{result:?}");
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events).starts_with("I would") && matches!(result, Err(ProviderError::Failed { .. })), "{result:?}");
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "nothing had been said: it is asked again");
    double.finish();
}

async fn a_refused_key_is_reported_in_the_providers_words_and_not_tried_again<P: Protocol>(protocol: P) {
    let body = protocol.error(401, &format!("Incorrect API key provided: {KEY}."));
    let status = if protocol.error(401, "")["error"]["code"] == 400 { 400 } else { 401 };
    let double = Double::start(protocol, vec![Reply::Refuses(status, Vec::new(), body)]).await;
    let (_, result) = ask(&*double.llm(), request()).await;
    let Err(ProviderError::Config { message, .. }) = result else { panic!("{result:?}") };
    assert!(message.contains("Incorrect API key provided") && !message.contains(KEY), "{message}");
    double.finish();
}

async fn a_rate_limit_is_waited_out_when_it_is_short<P: Protocol>(protocol: P) {
    let busy = |after| Reply::Refuses(429, vec![("retry-after", after)], protocol.error(429, "Slow down."));
    let double = Double::start(protocol, vec![busy("0.9"), says("Yes."), busy("30")]).await;
    let llm = double.llm();
    let began = Instant::now();
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    assert!(began.elapsed() >= Duration::from_millis(900), "as long as it was asked to");
    let (_, result) = ask(&*llm, request()).await;
    assert!(
        matches!(
            &result,
            Err(ProviderError::Busy { message, retry_after_ms: 30_000, .. }) if message.starts_with("provider rate limit: Slow down.")
        ),
        "{result:?}"
    );
    double.finish();
}

async fn a_busy_server_is_asked_again_and_then_given_up<P: Protocol>(protocol: P) {
    let busy = |status| Reply::Refuses(status, Vec::new(), protocol.error(status, "Overloaded."));
    let stubborn = Reply::Refuses(503, vec![("x-should-retry", "false")], protocol.error(503, "Never."));
    let inside = Reply::Events(vec![protocol.error_event("Overloaded.")]);
    let replies = vec![busy(503), inside, says("Yes."), busy(500), busy(502), busy(529), stubborn];
    let double = Double::start(protocol, replies).await;
    let llm = double.llm();
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    for words in ["Overloaded.", "Never."] {
        let (_, result) = ask(&*llm, request()).await;
        assert!(
            matches!(&result, Err(ProviderError::Failed { message: said, .. }) if said.starts_with(words)),
            "{result:?}"
        );
    }
    double.finish();
}

async fn what_cannot_be_read_is_a_failure_and_not_an_answer<P: Protocol>(protocol: P) {
    let junk = || vec!["data: {\"choices\": [{]}\n\n".to_owned()];
    let unknown = "event: news\ndata: {\"type\":\"news\",\"choices\":[{\"delta\":[]}],\"candidates\":7}\n\n".to_owned();
    let with_news = [vec![": ping\n\n".to_owned(), unknown], protocol.answer(&[Piece::Text("Yes.")])].concat();
    let broken = [beginning(protocol), junk()].concat();
    let failing = [beginning(protocol), vec![protocol.error_event("Gone.")]].concat();
    let replies = [junk(), with_news, broken, failing].map(Reply::Events);
    let double = Double::start(protocol, replies.into()).await;
    let llm = double.llm();
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "asked again, and what is new is not in the way: {result:?}");
    for said in ["not JSON", "Gone."] {
        let (events, result) = ask(&*llm, request()).await;
        assert!(text(&events).starts_with("I would"));
        assert!(matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains(said)), "{result:?}");
    }
    double.finish();
}

async fn blank_data_is_skipped_before_between_and_after_chunks<P: Protocol>(protocol: P) {
    let blank = ["data:\n\n", "data: \n\n", "event: ping\r\ndata:  \r\n\r\n"].concat();
    let answer = protocol.answer(&[Piece::Text("Let me look."), table("Friday")]);
    let spaced = answer.into_iter().flat_map(|event| [blank.clone(), event]).chain([blank.clone()]);
    let nothing = || Reply::Events(vec!["data:\n\n".to_owned(), "data: \n\n".to_owned()]);
    let double = Double::start(protocol, vec![Reply::Events(spaced.collect()), nothing(), nothing()]).await;
    let llm = double.llm();
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Let me look." && result.is_ok(), "{result:?}");
    assert!(events.iter().any(|event| matches!(event, LlmEvent::ToolCall(call) if call.name == "tables")));
    let (_, result) = ask(&*llm, request()).await;
    assert!(
        matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("empty response")),
        "{result:?}"
    );
    double.finish();
}

async fn a_surrogate_pair_in_two_events_breaks_no_response_off<P: Protocol>(protocol: P) {
    let answer = protocol.answer(&[Piece::Text("Booked HIGH LOW for you.")]);
    let halves = answer.into_iter().map(|event| event.replace("HIGH", r"\ud83d").replace("LOW", r"\ude00"));
    let double = Double::start(protocol, vec![Reply::Events(halves.collect())]).await;
    let (events, result) = ask(&*double.llm(), request()).await;
    assert!(text(&events) == "Booked \u{fffd} \u{fffd} for you." && result.is_ok(), "{result:?}");
    double.finish();
}

async fn an_answer_without_its_end_is_a_failure<P: Protocol>(protocol: P) {
    let empty = || Reply::Events(Vec::new());
    let double = Double::start(protocol, vec![Reply::Events(beginning(protocol)), empty(), empty()]).await;
    let llm = double.llm();
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events).starts_with("I would"), "what was said was said");
    assert!(matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("cut off")), "{result:?}");
    let (_, result) = ask(&*llm, request()).await;
    assert!(
        matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("empty response")),
        "{result:?}"
    );
    double.finish();
}

async fn whole_sentences_without_an_end_are_an_answer<P: Protocol>(protocol: P) {
    let reasons = ["\"finish_reason\":\"", "\"stop_reason\":\"", "\"finishReason\":\""];
    let cut = |pieces: &[Piece]| {
        let ends = |event: &String| reasons.iter().any(|reason| event.contains(reason));
        Reply::Events(protocol.answer(pieces).into_iter().take_while(|event| !ends(event)).collect())
    };
    let replies =
        vec![cut(&[Piece::Text("There is one at seven.")]), cut(&[Piece::Text("Let me look."), table("Friday")])];
    let double = Double::start(protocol, replies).await;
    let llm = double.llm();
    let (events, usage) = ask(&*llm, request()).await;
    assert_eq!(text(&events), "There is one at seven.");
    usage.expect("it is not asked again, nor is there anything to excuse");
    let (events, result) = ask(&*llm, request()).await;
    assert_eq!(text(&events), "Let me look.");
    assert!(matches!(result, Err(ProviderError::Failed { .. })), "what it wanted to do is lost: {result:?}");
    double.finish();
}

async fn a_conversation_that_is_too_long_is_shortened_once<P: Protocol>(protocol: P) {
    let long = || Reply::Refuses(400, Vec::new(), protocol.error(400, "5000 tokens"));
    let double = Double::start(protocol, vec![long(), says("Yes."), long(), long()]).await;
    let llm = double.llm();
    let mut request = request();
    for number in 0..20 {
        request.messages.push(Message::new(Role::Assistant, format!("Answer {number}.")));
        request.messages.push(Message::new(Role::User, format!("Question {number}.")));
    }
    let (events, result) = ask(&*llm, request.clone()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    let asked = double.asked();
    let said = protocol.conversation(&asked[1]);
    assert!(said.len() < 30 && said[0].0 == "caller", "{said:?}");
    assert!(asked[1].to_string().contains("Question 19.") && asked[1].to_string().contains("Be brief."));
    let (_, result) = ask(&*llm, request).await;
    assert!(
        matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("5000 tokens")),
        "{result:?}"
    );
    double.finish();
}

/// Returns whether the caller's last sentence is left out when a response that ended like this is asked for again. If it is not, the
/// request must be the same.
async fn withholds_after<P: Protocol>(protocol: P, ended: Reply) -> bool {
    let double = Double::start(protocol, vec![ended, says("Pardon?")]).await;
    let mut request = request();
    request.messages.push(Message::new(Role::Assistant, "For when?"));
    request.messages.push(Message::new(Role::User, "Friday."));
    let (events, result) = ask(&*double.llm(), request).await;
    assert!(text(&events) == "Pardon?" && result.is_ok(), "{result:?}");
    let asked = double.asked();
    double.finish();
    let withheld = !asked[1].to_string().contains("Friday.");
    assert_eq!(asked[0] == asked[1], !withheld, "{asked:?}");
    withheld
}

async fn reasoning_that_uses_up_its_limit_gets_a_higher_one<P: Protocol>(protocol: P) {
    let reasons = || Reply::Events(protocol.reasoning());
    let used_up = [reasons(), reasons(), reasons(), reasons()];
    let replies = [reasons(), says("Yes."), says("Yes.")].into_iter().chain(used_up).chain([says("Yes.")]).collect();
    let double = Double::start(protocol, replies).await;
    let llm = double.llm();
    let (events, usage) = ask(&*llm, request()).await;
    assert_eq!((text(&events).as_str(), usage.expect("answered").llm_output_tokens), ("Yes.", 14), "both cost");
    assert_eq!(text(&ask(&*llm, request()).await.0), "Yes.");
    let with = |model: &str, limit| LlmRequest { model: Some(model.to_owned()), max_tokens: limit, ..request() };
    for _ in 0..2 {
        let (events, result) = ask(&*llm, with("another-model", Some(1_000))).await;
        let advice = "it used all 4096 tokens before its first word: raise llm.max_tokens or turn reasoning down";
        assert!(events.is_empty(), "{}", text(&events));
        assert!(matches!(&result, Err(ProviderError::Failed { message, .. }) if message == advice), "{result:?}");
    }
    assert_eq!(text(&ask(&*llm, with("a-third-model", None)).await.0), "Yes.");
    let limits: Vec<Option<u64>> = double.asked().iter().map(|body| protocol.limit(body)).collect();
    let expected = [300, 2_400, 2_400, 1_000, 4_096, 1_000, 4_096, 300];
    assert_eq!(limits, expected.map(Some), "kept for the model that it has helped");
    double.finish();
}

async fn nothing_may_be_said_after_keys_and_only_then<P: Protocol>(protocol: P) {
    let nothing = || Reply::Answer(Vec::new());
    let mut replies = vec![nothing(), nothing(), nothing(), says("Yes.")];
    replies.extend((0..6).map(|_| nothing()));
    let double = Double::start(protocol, replies).await;
    let llm = double.llm();
    let after = |tool: &str| {
        let call = ToolCall { id: "a".to_owned(), name: tool.to_owned(), arguments: json!({}), signature: None };
        let mut request = request();
        request.messages.push(Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") });
        request.messages.push(Message { tool_call_id: Some("a".to_owned()), ..Message::new(Role::Tool, "done") });
        request
    };
    let pressed = after("send_dtmf");
    let (events, usage) = ask(&*llm, pressed.clone()).await;
    assert!(events.is_empty());
    assert_eq!(usage.expect("it means it").llm_output_tokens, 14, "it was asked whether it does, and both cost");
    let (events, usage) = ask(&*llm, pressed).await;
    assert_eq!((text(&events).as_str(), usage.expect("it had forgotten to").llm_output_tokens), ("Yes.", 14));
    for request in [request(), after("tables")] {
        let (_, result) = ask(&*llm, request).await;
        assert!(
            matches!(&result, Err(ProviderError::Failed { message, .. }) if message.contains("empty")),
            "{result:?}"
        );
    }
    double.finish();
}

async fn calls_of_whatever_ids_can_be_distinguished<P: Protocol>(protocol: P) {
    let tool = |day: &str| Piece::Tool { id: "call_0", name: "tables", arguments: json!({ "day": day }) };
    let double =
        Double::start(protocol, vec![Reply::Answer(vec![tool("Friday"), tool("Sunday")]), says("Seven.")]).await;
    let llm = double.llm();
    let (events, _) = ask(&*llm, request()).await;
    let own = events.into_iter().filter_map(|event| match event {
        LlmEvent::ToolCall(call) => Some(*call),
        LlmEvent::Delta(_) => None,
    });
    let own: Vec<ToolCall> = own.collect();
    let answer =
        |call: &ToolCall, text: &str| Message { tool_call_id: Some(call.id.clone()), ..Message::new(Role::Tool, text) };
    let foreign =
        |id: &str| ToolCall { id: id.to_owned(), name: "tables".to_owned(), arguments: json!({}), signature: None };
    let mut again = request();
    again.messages.push(Message { tool_calls: own.clone(), ..Message::new(Role::Assistant, "") });
    again.messages.extend([answer(&own[1], "{\"n\":1}"), answer(&own[0], "{\"n\":0}")]);
    // Another server's own ids, repeated, and such as this one would refuse.
    for (turn, id) in ["call_0", "call_0", "functions.tables:0", ""].into_iter().enumerate() {
        let call = foreign(id);
        let answer = answer(&call, &format!("{{\"n\":{}}}", turn + 2));
        again.messages.extend([Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") }, answer]);
    }
    ask(&*llm, again).await.1.expect("answered");
    let said = protocol.conversation(&double.asked()[1]);
    let results: Vec<&str> = said.iter().filter_map(|(_, text)| text.strip_prefix("result ")).collect();
    let mut numbers: Vec<String> = (0..6).map(|number| format!("{{\"n\":{number}}}")).collect();
    if results[0] != numbers[0] {
        numbers.swap(0, 1); // Where results stand on their own they come in the order in which they were there.
    }
    assert_eq!(results, numbers, "each with its own answer");
    double.finish();
}

async fn a_call_is_looked_back_upon_by_its_schema<P: Protocol>(protocol: P) {
    let replies = vec![
        says("Sure! {\"summary\": \"A table was booked.\", \"outcome\": {\"people\": \"four\"}}"),
        says("```json\n{\"summary\": \"A table was booked.\", \"outcome\": {\"people\": 4}}\n```"),
        says("{\"summary\": \"A table.\", \"outcome\": {\"people\": \"four\"}}"),
        says("{\"summary\": \"A table.\", \"outcome\": {\"people\": \"4\"}}"),
        says("I would rather not."),
        says("No."),
    ];
    let double = Double::start(protocol, replies).await;
    let llm = double.llm();
    let schema = json!({ "type": "object", "properties": { "people": { "type": "integer" } } });
    let messages = vec![Message::new(Role::System, "Book."), Message::new(Role::User, "For four.")];
    let meter = UsageMeter::default();
    let look = || AnalysisRequest {
        model: None,
        messages: messages.clone(),
        schema: Schema::new(&schema).ok(),
        meter: meter.clone(),
    };
    let found = llm.analyse(look()).await.expect("analysed");
    assert_eq!((found.summary.as_str(), &found.outcome), ("A table was booked.", &json!({ "people": 4 })));
    assert_eq!(meter.usage().llm_output_tokens, 14, "both answers cost");
    assert!(double.asked()[1].to_string().contains("/people"), "it is told what is wrong");
    let found = llm.analyse(look()).await.expect("analysed");
    assert_eq!((found.summary.as_str(), &found.outcome), ("A table.", &Value::Null), "a wrong outcome is none");
    assert!(matches!(llm.analyse(look()).await, Err(ProviderError::Failed { .. })));
    assert_eq!(meter.usage().llm_output_tokens, 42, "what came to nothing too");
    double.finish();
}

async fn a_connection_that_was_made_ahead_carries_the_first_question<P: Protocol>(protocol: P) {
    let double = Double::start(protocol, vec![says("Yes.")]).await;
    let llm = double.llm();
    llm.warm().await.expect("the key is right");
    let (events, result) = ask(&*llm, request()).await;
    assert!(text(&events) == "Yes." && result.is_ok(), "{result:?}");
    llm.warm().await.expect("the key is right");
    let (greeted, asked) = double.connections();
    assert_eq!((greeted.len(), &greeted), (1, &asked), "one connection for both, and no second one");
    double.finish();

    // A missing server is detected by the request.
    let double = Double::start(protocol, Vec::new()).await;
    let llm = double.llm();
    double.finish();
    llm.warm().await.expect("the key is right");
    assert!(ask(&*llm, request()).await.1.is_err());
}
