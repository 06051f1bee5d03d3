//! Every `code` of an error. Clients decide by them, so a code never changes its meaning; more can be added.

/// Each code with its statuses and what it means.
pub const CODES: &[(&str, &[u16], &str)] = &[
    ("agent_in_use", &[409], "numbers still have this agent answer"),
    ("already_member", &[409], "the person belongs to the tenant of the invitation already"),
    ("bad_signature", &[403], "a carrier's request is not signed as it must be"),
    ("body_timeout", &[408], "the body did not arrive in time"),
    ("body_too_large", &[413], "the body is larger than 1 MiB"),
    (
        "busy",
        &[503],
        "too many connection tests or voice samples run on this node, or it could not compile an agent's schemas in time",
    ),
    ("call_elsewhere", &[503], "the socket must reach the node that runs the call"),
    ("call_ended", &[409], "a carrier's audio comes for a call that has ended"),
    ("call_not_in_progress", &[409], "this needs a call that is in progress"),
    ("calls_stalled", &[503], "of `/readyz`: this node cannot claim or keep calls"),
    ("carrier_rate_limit", &[429], "a carrier's address sends too many requests"),
    ("connection_in_use", &[409], "agents or numbers still use this connection"),
    ("database_unavailable", &[503], "the database cannot be reached or is too busy"),
    ("deliveries_stalled", &[503], "of `/readyz`: this node cannot claim webhook deliveries"),
    ("draining", &[503], "this node is stopping"),
    ("email_taken", &[409], "somebody with this e-mail address belongs to the tenant already"),
    ("foreign_origin", &[403], "a request with a session comes from another site"),
    ("idempotency_key_reused", &[409], "the `Idempotency-Key` was used with a different body"),
    ("identity_provider_unavailable", &[502], "the identity provider cannot be used"),
    ("internal_error", &[500], "the service failed; its log has the reason under the request id"),
    ("invalid_request", &[422], "the body, a parameter or a header is invalid; `errors` names the fields"),
    ("invitation_ended", &[404], "the invitation was used, declined or revoked, or has expired"),
    ("invitation_for_another", &[403], "the invitation is for another e-mail address than the person's verified one"),
    ("invitation_rate_limit", &[429], "the tenant makes too many invitations"),
    ("last_owner", &[409], "the tenant would be left without an owner"),
    ("listener_rate_limit", &[429], "an address opens too many listening sockets"),
    ("method_not_allowed", &[405], "the path does not support this method; `Allow` lists those that it does"),
    ("name_taken", &[409], "another resource of this kind has this name"),
    ("no_calls_here", &[409, 503], "this node takes no calls: it lacks the role `calls`, or is stopping"),
    ("no_voices", &[422], "the connection has no text to speech, or its voices cannot be used"),
    ("no_websocket", &[426], "this address takes websockets only"),
    ("not_found", &[404], "there is no such path, or no such resource in this tenant"),
    ("number_taken", &[409], "the connection has this number already"),
    ("provider_refused", &[422], "the provider refused the request"),
    ("provider_unavailable", &[503], "the provider cannot be reached or did not respond in time"),
    ("quota_exceeded", &[429], "the concurrent calls or the calls of this month are used up"),
    ("range_not_satisfiable", &[416], "the range starts after the end of the recording"),
    ("rate_limited", &[429], "too many requests in a minute"),
    ("request_in_progress", &[409], "the first request with this `Idempotency-Key` is still in progress"),
    ("role_forbids", &[403], "the person's role does not permit this"),
    ("sign_in_declined", &[403], "the identity provider declined the sign-in"),
    ("sign_in_expired", &[400], "the sign-in was used already, or took too long"),
    ("sign_in_link_required", &[403], "the link in the terminal of `switchhook dev` signs in"),
    ("sign_in_local_only", &[403], "the sign-in of `switchhook dev` works on its own machine only"),
    ("sign_in_not_allowed", &[403], "this person may not sign in here"),
    ("sign_in_off", &[404], "no identity provider is configured"),
    ("sign_in_rate_limit", &[429], "a network address makes too many requests below `/auth`"),
    ("sign_in_refused", &[403], "the identity provider did not confirm the sign-in"),
    ("stream_open", &[409], "a carrier opens the audio of a call a second time"),
    ("tenant_deactivated", &[403], "the tenant is deactivated"),
    ("test_in_progress", &[429], "a connection test or voice sample of this tenant runs already"),
    ("timeout", &[503], "the response did not begin in time"),
    ("token_used", &[409], "the token of a socket was used or has expired"),
    ("too_many_listeners", &[409], "five people listen to the call already"),
    (
        "too_many_streams",
        &[429],
        "the tenant, its sessions and event tokens, or one of them have as many event streams on this node as they may",
    ),
    ("too_many_tenants", &[409], "the person belongs to as many tenants as they may"),
    ("unauthorized", &[401], "no valid API key or session"),
    ("web_call_rate_limit", &[429], "an address opens too many sockets of web calls"),
    ("webhook_disabled", &[409], "the webhook endpoint is disabled"),
];

/// Returns the meaning of a code; `None` if the code does not exist.
#[must_use]
pub fn meaning(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(known, ..)| *known == code).map(|(.., meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::http::error::by_operation::{COMMON, OF_SOME};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the sources").map(|entry| entry.expect("an entry").path());
        let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let files = files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
        files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
    }

    /// The codes in calls such as `ApiError::conflict("name_taken", …)`.
    fn codes_in(source: &str) -> Vec<String> {
        let production = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let calls =
            ["ApiError::new(", "Self::new(", "::conflict(", "::too_many(", "unavailable(", "forbidden(", "not_ready("];
        let literal = |call: &str| {
            let call = call.trim_start();
            let after_status =
                call.strip_prefix("StatusCode::").and_then(|rest| rest.split_once(',')).map(|(_, rest)| rest);
            let code = after_status.unwrap_or(call).trim_start().strip_prefix('"')?.split('"').next()?;
            code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then(|| code.to_owned())
        };
        calls.iter().flat_map(|call| production.split(call).skip(1)).filter_map(literal).collect()
    }

    #[test]
    fn the_table_has_every_code_that_is_sent_and_no_other() {
        let http = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
        let sources = sources(&http);
        let mut sent: Vec<_> =
            sources.iter().flat_map(|path| codes_in(&fs::read_to_string(path).expect("a source"))).collect();
        sent.sort();
        sent.dedup();
        let known: Vec<_> = CODES.iter().map(|(code, ..)| (*code).to_owned()).collect();
        assert_eq!(sent, known, "left: sent, right: the table");
    }

    #[test]
    fn the_documentation_has_the_same_table_and_names_the_operations() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
        let page = fs::read_to_string(page).expect("the page");
        for (code, statuses, meaning) in CODES {
            let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
            let some = OF_SOME.iter().find(|(known, _)| known == code);
            let common = COMMON.iter().find(|(known, _)| known == code);
            let operations = match some {
                Some((_, operations)) => operations.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "),
                None => common.map(|(_, operations)| (*operations).to_owned()).unwrap_or_default(),
            };
            let row =
                format!("| `{code}` | {} | {meaning} | {operations} |", statuses.join(", ")).replace("|  |", "| |");
            assert!(page.contains(&row), "docs/api.md lacks: {row}");
        }
    }
}
