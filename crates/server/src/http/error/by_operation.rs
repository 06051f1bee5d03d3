//! Which operations below `/v1` send which codes.

use super::codes::CODES;

const ALL: &str = "all";
const WITH_BODY: &str = "all with a body";

/// Codes that operations share, with those that can send them.
pub const COMMON: [(&str, &str); 12] = [
    ("body_timeout", WITH_BODY),
    ("body_too_large", WITH_BODY),
    ("database_unavailable", ALL),
    ("foreign_origin", "all but `GET`"),
    ("internal_error", ALL),
    ("invalid_request", ALL),
    ("not_found", "all with a parameter in the path"),
    ("rate_limited", ALL),
    ("role_forbids", ALL),
    ("tenant_deactivated", ALL),
    ("timeout", ALL),
    ("unauthorized", ALL),
];

const COMMANDS: &[&str] = &["listen_to_call", "say_in_call", "send_dtmf", "transfer_call"];
const STREAMS: &[&str] =
    &["list_call_events", "list_events", "show_transcript", "stream_call_events", "stream_events", "stream_transcript"];
const TRIALS: &[&str] = &["sample_local_voice", "sample_voice", "test_connection"];
const VOICES: &[&str] = &["list_voices", "sample_local_voice", "sample_voice"];

/// Codes that only some operations send, with these. Codes in neither table are sent outside `/v1`.
pub const OF_SOME: &[(&str, &[&str])] = &[
    ("agent_in_use", &["delete_agent"]),
    (
        "busy",
        &[
            "create_agent",
            "restore_agent_version",
            "sample_local_voice",
            "sample_voice",
            "test_connection",
            "update_agent",
        ],
    ),
    ("call_not_in_progress", COMMANDS),
    ("connection_in_use", &["delete_connection"]),
    ("email_taken", &["invite_person"]),
    ("idempotency_key_reused", &["create_call"]),
    ("invitation_rate_limit", &["invite_person"]),
    ("last_owner", &["remove_person", "update_person"]),
    (
        "name_taken",
        &["create_agent", "create_connection", "restore_agent_version", "update_agent", "update_connection"],
    ),
    ("no_calls_here", &["simulate_inbound_call"]),
    ("no_voices", VOICES),
    ("number_taken", &["create_number", "update_number"]),
    ("provider_refused", VOICES),
    ("provider_unavailable", VOICES),
    ("quota_exceeded", &["create_call", "simulate_inbound_call"]),
    ("range_not_satisfiable", &["fetch_recording"]),
    ("request_in_progress", &["create_call"]),
    ("test_in_progress", TRIALS),
    ("too_many_listeners", &["listen_to_call"]),
    ("too_many_streams", STREAMS),
    ("webhook_disabled", &["redeliver", "test_webhook"]),
];

/// Whether a code comes with this status below `/v1`: its first one.
fn has_status(code: &str, status: u16) -> bool {
    CODES.iter().any(|(known, statuses, _)| *known == code && statuses.first() == Some(&status))
}

/// The codes with this status that operations share.
pub fn common(status: u16) -> impl Iterator<Item = &'static str> {
    COMMON.into_iter().map(|(code, _)| code).filter(move |code| has_status(code, status))
}

/// The codes with this status that an operation sends besides the common ones.
pub fn own(operation: &str, status: u16) -> impl Iterator<Item = &'static str> {
    let sends = move |(code, operations): &(&'static str, &[&str])| {
        operations.contains(&operation).then_some(*code).filter(|code| has_status(code, status))
    };
    OF_SOME.iter().filter_map(sends)
}
