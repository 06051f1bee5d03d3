use serde_json::{Value, json};

use super::marks::MARKS;
use super::*;

type Calls = Vec<(String, Value)>;

/// Returns the speech and the calls in a text that arrives in these pieces; no calls if one of them cannot be read.
fn filtered<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (String, Option<Calls>) {
    let mut filter = SpeechFilter::new(vec!["tables".to_owned(), "hours".to_owned()], false);
    let mut spoken: String = pieces.into_iter().map(|piece| filter.spoken(piece)).collect();
    spoken.push_str(&filter.rest(false));
    let Written { calls, unreadable } = filter.calls();
    let calls = calls.into_iter().map(|call| (call.name, call.arguments)).collect();
    (spoken, unreadable.is_empty().then_some(calls))
}

/// The same for pieces of `step` characters.
fn cut(text: &str, step: usize) -> (String, Option<Calls>) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let cuts: Vec<usize> = places.iter().copied().step_by(step).chain([text.len()]).collect();
    filtered(cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]))
}

/// Asserts what a text contains, whole, character by character, and in two pieces cut anywhere.
fn assert_filtered(text: &str, spoken: &str, calls: Option<&Calls>) {
    let assert = |filtered: (String, Option<Calls>), cut: &dyn std::fmt::Debug| {
        assert_eq!((filtered.0.trim(), filtered.1.as_ref()), (spoken, calls), "{text:?} {cut:?}");
    };
    assert(filtered([text]), &"whole");
    assert(cut(text, 1), &"each character");
    for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        assert(filtered([&text[..at], &text[at..]]), &text.split_at(at));
    }
}

#[test]
fn no_mark_begins_with_another_and_all_are_lower_case() {
    for (at, mark) in MARKS.iter().enumerate() {
        assert_eq!(mark.0, mark.0.to_ascii_lowercase());
        let others = MARKS.iter().enumerate().filter(|(other, _)| *other != at);
        assert!(others.into_iter().all(|(_, other)| !mark.0.starts_with(other.0)), "{}", mark.0);
        assert!([mark.0].iter().chain(mark.1).all(|mark| mark.starts_with(BEGIN_MARKS)), "{}", mark.0);
    }
}

#[test]
fn reasoning_is_left_out_however_it_is_cut() {
    let harmony = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>";
    for (text, expected) in [
        ("<think>3 < 4\u{e9}</thin></think>Yes: a<b. <think>more</think>Bye <thi", "Yes: a<b. Bye <thi"),
        ("<Thinking>Hm</THINKING>Yes.", "Yes."),
        ("[THINK]Hm[/THINK]Yes.", "Yes."),
        ("◁think▷Hm◁/think▷Yes.", "Yes."),
        ("<|channel>thought\nHm<channel|>Yes.", "Yes."),
        (harmony, "Yes."),
        ("Yes.<|im_end|>", "Yes."),
        ("[1] is < 2 and [t", "[1] is < 2 and [t"),
    ] {
        for step in 1..text.chars().count() {
            let (spoken, calls) = cut(text, step);
            assert_eq!((spoken.as_str(), calls), (expected, Some(Vec::new())), "in pieces of {step} characters");
        }
    }
}

#[test]
fn reasoning_whose_opening_mark_is_in_the_prompt_is_left_out_once_that_is_known() {
    // What is said of the model before, its response, whether that was cut off, the speech, and what it shows of the model.
    for (reasons, text, cut, spoken, shown) in [
        (false, "Hm.</think>Yes.", false, "Hm.Yes.", Some(true)),
        (true, "Hm.</think>Yes.", false, "Yes.", Some(true)),
        (true, "<think>Hm.</think>Yes. <think>Hm.</think>Bye.", false, "Yes. Bye.", Some(true)),
        (true, "Yes.", false, "Yes.", Some(false)),
        (true, "Hm, hm", true, "", None),
        (true, "", false, "", None),
        (false, "<think>Hm.</think>Yes.", false, "Yes.", None),
    ] {
        for step in 1..=text.len().max(1) {
            let mut filter = SpeechFilter::new(vec!["tables".to_owned()], reasons);
            let pieces = text.as_bytes().chunks(step).map(|piece| std::str::from_utf8(piece).expect("ASCII"));
            let mut given: String = pieces.map(|piece| filter.spoken(piece)).collect();
            given.push_str(&filter.rest(cut));
            assert_eq!((given.as_str(), filter.begins_with_reasoning()), (spoken, shown), "{reasons} {text} {step}");
        }
    }
}

/// A call of `tables` for Friday, as the model families write it.
const FRIDAY: &[&str] = &[
    "<tool_call>\n{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}\n</tool_call>",
    "<tool_call>{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}",
    "<tool_call>{\"name\": \"tables\", \"arguments\": \"{\\\"day\\\": \\\"Friday\\\"}\"}</tool_call>",
    "<function_call>{\"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}</function_call>",
    "<tool_call>\n<function=tables>\n<parameter=day>\nFriday\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>tables\n<arg_key>day</arg_key>\n<arg_value>Friday</arg_value>\n</tool_call>",
    "<function=tables>{\"day\": \"Friday\"}</function>",
    "<function_calls><invoke name=\"tables\"><parameter name=\"day\">Friday</parameter></invoke></function_calls>",
    "[TOOL_CALLS][{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}]",
    "[TOOL_CALLS]tables[CALL_ID]abc123[ARGS]{\"day\": \"Friday\"}</s>",
    "<|python_tag|>{\"type\": \"function\", \"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}<|eom_id|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tables\n```json\n{\"day\": \"Friday\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tables<｜tool▁sep｜>{\"day\": \"Friday\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.tables:0<|tool_call_argument_begin|>{\"day\": \"Friday\"}<|tool_call_end|><|tool_calls_section_end|>",
    "<|channel|>commentary to=functions.tables <|constrain|>json<|message|>{\"day\":\"Friday\"}<|call|>",
    " to=functions.tables<|channel|>commentary json<|message|>{\"day\":\"Friday\"}<|call|>",
    "{\"name\": \"tables\", \"parameters\": {\"day\": \"Friday\"}}",
    "```json\n[{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}]\n```",
    "<|python_tag|>tables.call(day=\"Friday\")<|eom_id|>",
    "<|tool_call_start|>[tables(day=\"Friday\")]<|tool_call_end|>",
    "```tool_code\ntables(day=\"Friday\")\n```",
    "```tool_code\nprint(default_api.tables(day='Friday'))\n```",
    "tool_code\nprint(tables(day=\"Friday\"))",
    "```python\ntables(day=\"Friday\")\n```",
    "```tool_call\n{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}\n```",
    "```json\n{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}",
    "<tool_code>tables(day=\"Friday\")</tool_code>",
    "[tables(day=\"Friday\")]",
    "[ tables( day = 'Friday' ) ]",
    "tables(day=\"Friday\")",
    "functions.tables(day=\"Friday\")",
    "tables[ARGS]{\"day\": \"Friday\"}",
    "tables[CALL_ID]a1b2c3d4e[ARGS]{\"day\": \"Friday\"}",
    "tables {\"day\": \"Friday\"}",
    "functions.tables:0{\"day\": \"Friday\"}",
    "{'name': 'tables', 'arguments': {'day': 'Friday'}}",
    "{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\",}}",
    "{\"tool\": \"tables\", \"args\": {\"day\": \"Friday\"}}",
    "{\"action\": \"tables\", \"action_input\": {\"day\": \"Friday\"}}",
    "{\"type\": \"function\", \"function\": {\"name\": \"functions.tables\", \"arguments\": \"{\\\"day\\\": \\\"Friday\\\"}\"}}",
    "{\"thought\": \"A table.\", \"action\": \"tables\", \"action_input\": {\"day\": \"Friday\"}}",
    "{\"tables\": {\"day\": \"Friday\"}}",
    "{\"tool_calls\": [{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}]}",
    "<tools>{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}</tools>",
    "<tool name=\"tables\">{\"day\": \"Friday\"}</tool>",
    "<call>{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}</call>",
    "<call>tables(day=\"Friday\")</call>",
    "<tool_call><tables><day>Friday</day></tables></tool_call>",
    "<function name=\"tables\"><parameter name=\"day\">Friday</parameter></function>",
    "<tables><day>Friday</day></tables>",
    "<tables>\n  <day>Friday</day>\n</tables>",
    "<tables>{\"day\": \"Friday\"}</tables>",
    "<tables><arguments><day>Friday</day></arguments></tables>",
    "<tables day=\"Friday\"/>",
    "<tables day='Friday'></tables>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.tables:0<|tool_call_argument_begin|>{\"day\": \"Friday\"}<|tool_call_end|>",
    "<|tool_call_begin|>functions.tables:0<|tool_call_argument_begin|>{\"day\": \"Friday\"}<|tool_call_end|>",
    "analysisThey want a table.assistantcommentary to=functions.tables json{\"day\": \"Friday\"}",
    "commentary to=functions.tables json{\"day\": \"Friday\"}",
    "<|start|>assistant<|channel|>commentary to=functions.tables <|message|>{\"day\": \"Friday\"}<|start|>assistant",
];

/// The same in the ReAct format, whose labels begin a line.
const FRIDAY_IN_LINES: &[&str] = &[
    "Thought: They want a table.\nAction: tables\nAction Input: {\"day\": \"Friday\"}",
    "Action: tables\nAction Input:\n{\"day\": \"Friday\"}",
    "action: functions.tables\r\naction input: {\"day\": \"Friday\"}",
    "Action: tables(day=\"Friday\")",
    "Action: tables {\"day\": \"Friday\"}",
    "Thought: Hm.\nAction:\n```json\n{\"action\": \"tables\", \"action_input\": {\"day\": \"Friday\"}}\n```",
];

#[test]
fn calls_in_lines_are_made_and_their_labels_are_not_spoken() {
    let call = |name: &str, arguments: Value| vec![(name.to_owned(), arguments)];
    for text in FRIDAY_IN_LINES {
        assert_filtered(text, "", Some(&call("tables", json!({ "day": "Friday" }))));
        let behind_speech = format!("Let me look.\n{text}\nFinal Answer: Yes.");
        let (spoken, calls) = cut(&behind_speech, 3);
        let spoken: Vec<&str> = spoken.split_whitespace().collect();
        assert_eq!(
            (spoken.join(" ").as_str(), calls),
            ("Let me look. Yes.", Some(call("tables", json!({ "day": "Friday" })))),
            "{text}"
        );
    }
    for text in ["Action: hours", "Action: hours\n", "Thought: Hm.\nAction: hours\nAction Input: {}"] {
        assert_filtered(text, "", Some(&call("hours", json!({}))));
    }
    let unknown = "Action: book_it\nAction Input: {\"day\": \"Friday\"}";
    assert_filtered(unknown, "", Some(&call("book_it", json!({ "day": "Friday" }))));
    assert_filtered("Action: tables\nAction Input: Friday", "", None);
}

#[test]
fn calls_of_every_family_are_made_and_not_spoken_however_they_are_cut() {
    let expected = vec![("tables".to_owned(), json!({ "day": "Friday" }))];
    for text in FRIDAY {
        assert_filtered(text, "", Some(&expected));
    }
    // Behind speech, a Harmony channel has its tokens.
    for text in FRIDAY.iter().filter(|text| !text.starts_with("analysis") && !text.starts_with("commentary")) {
        assert_filtered(&format!("Let me look. {text}"), "Let me look.", Some(&expected));
    }
}

#[test]
fn a_call_of_a_tool_that_is_not_available_is_made_and_refused_by_name() {
    let expected = vec![("book_it".to_owned(), json!({ "day": "Friday" }))];
    for text in FRIDAY {
        let text = text.replace("tables", "book_it");
        // An object may be anything, and code in a fence or a tag too.
        let ambiguous = [
            "```json",
            "```python",
            "{\"tool\"",
            "{\"action\"",
            "{\"thought\"",
            "{\"book_it\"",
            "book_it {",
            "<book_it",
            "{'name'",
            "<tool_call><book_it",
        ];
        if !ambiguous.iter().any(|begins| text.starts_with(begins)) {
            let (spoken, calls) = cut(&text, 3);
            assert_eq!((spoken.trim(), calls.as_ref()), ("", Some(&expected)), "{text}");
        }
    }
}

#[test]
fn speech_that_resembles_a_call_is_spoken() {
    for text in [
        "You can see the tables(s) or the hours (9-5) on our page.",
        "Our hours(9-5) are [here], as are tables [2] and [tables(3)].",
        "If a < b and b > c, then <tables are free> or < 3.",
        "The tables {two} and the hours {\"nine\"} are free.",
        "In JSON that is {\"day\": \"Friday\"}, or {name}, or {}.",
        "A name and its arguments: {\"name\": \"Ann\", \"arguments\": 1}.",
        "It is [sic] a list: [1, 2], [\"a\"], [], [x](y).",
        "I write `tables` and print(it) in code.",
        "The code is ```abc``` for you.",
        "Dial tables: 5. Hours: nine to five. functions. Tools.",
        "He said hours[1] and tables[a].",
        "An analysis to follow. The final answer is no; final.",
        "assistant manager, to-do, at <noon>",
        "analysis of your bill takes a day.",
        "Action: none is needed.",
        "Action: tables are booked by phone.",
        "I had a thought: call us. Action: hours",
        "A final answer: no.",
        "Actions follow.",
        "Th",
        "final offer: two tables",
        "commentary is free.",
        "{",
        "[",
        "`",
        "<",
        "hours",
        "Ends with tables",
        "Ends with tables(",
        "Ends with {\"name\":",
    ] {
        assert_filtered(text, text, Some(&Vec::new()));
    }
}

#[test]
fn template_markers_are_not_spoken() {
    for (text, spoken) in [
        ("<answer>Yes.</answer>", "Yes."),
        ("<think>Hm.</think>\n<answer>\nYes.\n</answer>", "Yes."),
        ("Yes.</s>", "Yes."),
        ("Yes.<|im_end|>\n<|im_start|>user\nAnd on Monday?<|im_end|>", "Yes."),
        ("Yes.<|eot_id|><|start_header_id|>assistant<|end_header_id|>", "Yes."),
        ("<start_of_turn>model\nYes.<end_of_turn>\n<start_of_turn>user\nThanks.", "Yes."),
        ("Yes.<｜end▁of▁sentence｜>", "Yes."),
        ("<|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Yes."),
        ("[INST] Yes. [/INST]", "Yes."),
        ("Yes.<turn|>", "Yes."),
        ("analysisThe caller wants a table. Say yes.assistantfinalYes.", "Yes."),
        ("assistantanalysisHm.assistantfinalYes.", "Yes."),
        ("finalYes.", "Yes."),
        ("Thought: They want a table.\nFinal Answer: Yes.", "Yes."),
        ("Thought: They want a table.\nYes.", "Yes."),
        ("Thought: They want a table.", ""),
        ("analysisHm.assistantcommentaryOne moment. assistantfinalYes.", "One moment. Yes."),
        ("<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>Yes.<|return|>", "Yes."),
    ] {
        assert_filtered(text, spoken, Some(&Vec::new()));
    }
}

#[test]
fn several_calls_stay_several_and_speech_around_them_is_spoken() {
    let text = "Let me look. <tool_call>{\"name\":\"tables\",\"arguments\":{\"day\":1}}</tool_call>\
                <tool_call>{\"name\":\"hours\",\"arguments\":{}}</tool_call>";
    let expected = vec![("tables".to_owned(), json!({ "day": 1 })), ("hours".to_owned(), json!({}))];
    assert_eq!(cut(text, 5), ("Let me look. ".to_owned(), Some(expected)));
    let remark = "<|channel|>commentary<|message|>Let me look.<|end|>";
    assert_eq!(cut(remark, 4), ("Let me look.".to_owned(), Some(Vec::new())));
}

/// Quadratic time would take hours here.
#[test]
fn many_marks_and_brackets_are_read_in_one_pass() {
    for (text, spoken) in [
        ("<|end|>".repeat(100_000), ""),
        ("<think></think>".repeat(100_000), ""),
        (format!("Yes.<tool_call>{}", "[".repeat(1_000_000)), "Yes."),
        (format!("Yes.<tool_call>{}", "</function>".repeat(100_000)), "Yes."),
    ] {
        assert_eq!(cut(&text, text.len()).0, spoken, "{}", &text[..30]);
    }
}

#[test]
fn half_a_call_is_refused_by_its_tool_and_other_json_is_no_call() {
    for (text, name) in [
        ("<tool_call>{\"name\":\"tables\",\"arguments\":{\"day\":\"Fri", "tables"),
        ("<tool_call>{\"name\":\"tables\",\"argum</tool_call>", "tables"),
        ("<tool_call>{\"name\":\"book\",\"argum</tool_call>", "book"),
        ("<tool_call>{{</tool_call>", "unknown"),
        ("{\"name\": \"tables\", \"arguments\": {\"day\": \"Fri", "tables"),
        ("{\"name\": \"tables\", \"arguments\": {\"day\": Friday}}", "tables"),
        ("```tool_code\ntables(day=\"Fri", "tables"),
        ("```tool_code\ntables(day=Friday)\n```", "tables"),
        ("[tables(day=Friday)]", "tables"),
        ("[tables(day=\"Fri", "tables"),
        ("tables(day=\"Fri", "tables"),
        ("tables[ARGS]{\"day\": \"Fri", "tables"),
        ("<tables><day>Fri", "tables"),
        ("to=functions.tables json{\"day\": \"Fri", "tables"),
    ] {
        assert_filtered(text, "", None);
        let mut filter = SpeechFilter::new(vec!["tables".to_owned()], false);
        assert_eq!(filter.spoken(text) + &filter.rest(true), "", "{text}");
        let Written { unreadable, .. } = filter.calls();
        assert!(unreadable.len() == 1 && unreadable[0].name == name, "{text}: {}", unreadable[0].name);
        assert!(unreadable[0].arguments.is_string(), "the tool refuses it: {text}");
    }
    for text in ["{\"name\":\"Ann\",\"arguments\":1}", "[1] is free.", "{\"summary\":\"x\"}"] {
        assert_eq!(cut(text, 2), (text.to_owned(), Some(Vec::new())));
    }
}

#[test]
fn a_request_without_tools_has_no_calls_but_those_with_marks() {
    let text = "{\"name\": \"tables\", \"arguments\": {\"day\": \"Friday\"}}";
    let mut filter = SpeechFilter::new(Vec::new(), false);
    assert_eq!(filter.spoken(text) + &filter.rest(false), text, "an analysis is JSON");
}
