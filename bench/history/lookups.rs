//! Queries by clients, and how long they take.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::fill::{AGENTS, END_WEBHOOK, NUMBERS, OFTEN_CALLED};
use crate::support::{Connection, percentile, request};

/// Each is repeated so often, unless that takes longer than [`PATIENCE`].
const RUNS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(6);

/// Ends the names of those that match nothing, which is checked.
const NOTHING: &str = "(none)";

/// The duration of one query.
pub(crate) struct Took {
    pub(crate) name: String,
    pub(crate) p50: Duration,
    pub(crate) max: Duration,
}

/// A time in the middle of the past, by which `created_after` and `created_before` divide it.
pub(crate) struct Middle {
    /// As RFC 3339.
    pub(crate) time: String,
    /// A day later.
    pub(crate) next_day: String,
    /// The id that a call of that time would have.
    pub(crate) id: String,
}

/// A call of the middle of the past, and whom others were held with.
struct Old {
    call: String,
    /// The number called by an outbound call.
    to: String,
    /// The caller of an inbound call.
    from: String,
    /// In its metadata, as in that of two others.
    order: String,
}

/// Looks everything up that there is to look up.
pub(crate) async fn all(address: &str, key: &str, middle: &Middle) -> anyhow::Result<Vec<Took>> {
    let mut api = Connection::open(address).await?;
    let newest = api.json("GET", "/v1/calls", key, &json!({})).await?;
    let older = api.json("GET", &format!("/v1/calls?cursor={}&limit=100", middle.id), key, &json!({})).await?;
    let second_page = newest["next_cursor"].as_str().unwrap_or(&middle.id);
    let paths = paths(middle, second_page, &old(&older).context("the past has calls of both directions")?);
    let bar = ProgressBar::new(paths.len() as u64);
    let mut took = Vec::new();
    for (name, path) in paths {
        took.push(time(&mut api, key, name, &path).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(took)
}

fn old(page: &Value) -> Option<Old> {
    let calls = page["data"].as_array()?;
    let text = |value: &Value| value.as_str().map(|text| text.replace('+', "%2B"));
    let other = |direction: &str, number: &str| {
        let mut some = calls.iter().filter(|call| call["direction"] == direction && call[number] != OFTEN_CALLED);
        text(&some.next()?[number])
    };
    Some(Old {
        call: text(&calls.first()?["id"])?,
        to: other("outbound", "to")?,
        from: other("inbound", "from")?,
        order: text(&calls.first()?["metadata"]["order"])?,
    })
}

async fn time(api: &mut Connection, key: &str, name: String, path: &str) -> anyhow::Result<Took> {
    let request = request("GET", path, key, "", "");
    let mut times = Vec::new();
    // The first warms up.
    let start = Instant::now();
    while times.len() <= RUNS && (times.len() < 2 || start.elapsed() < PATIENCE) {
        let sent = Instant::now();
        let status = api.send(&request).await?;
        anyhow::ensure!(status == 200, "{path}: {status} {}", String::from_utf8_lossy(api.body()));
        times.push(sent.elapsed());
        let found: Value = serde_json::from_slice(api.body())?;
        let empty = found["data"].as_array().is_some_and(Vec::is_empty);
        anyhow::ensure!(empty || !name.ends_with(NOTHING), "{path} matches something");
    }
    let mut warm = times.split_off(1);
    warm.sort_unstable();
    Ok(Took { name, p50: percentile(&warm, 50), max: percentile(&warm, 100) })
}

/// Names and paths.
fn paths(middle: &Middle, second_page: &str, old: &Old) -> Vec<(String, String)> {
    let mut all = vec![("list, no filter".to_owned(), "/v1/calls".to_owned())];
    let page = |name: &str, cursor: &str| (format!("list, {name}"), format!("/v1/calls?cursor={cursor}"));
    all.push(page("second page", second_page));
    all.push(page("page in the middle of the past", &middle.id));
    for (name, query) in filters(middle, old).into_iter().chain(pairs(middle)) {
        all.push((format!("list, {name}"), format!("/v1/calls?{query}")));
    }
    all.push(("tenant".to_owned(), "/v1/tenant".to_owned()));
    for (name, query) in [
        ("no filter", String::new()),
        ("state=failed", "state=failed".to_owned()),
        ("state=pending,sending (none)", "state=pending,sending".to_owned()),
        ("state=canceled (none)", "state=canceled".to_owned()),
        ("event=call.failed", "event=call.failed".to_owned()),
        ("event=call.queued (none)", "event=call.queued".to_owned()),
        ("state=failed, event=call.failed", "state=failed&event=call.failed".to_owned()),
        ("call_id=", format!("call_id={}", old.call)),
    ] {
        all.push((format!("deliveries, {name}"), format!("/v1/webhooks/{END_WEBHOOK}/deliveries?{query}")));
    }
    for part in ["", "/events", "/transcript"] {
        all.push((format!("one call{part}"), format!("/v1/calls/{}{part}", old.call)));
    }
    all
}

/// Filters alone: those that match nothing, a few calls, and many.
fn filters(middle: &Middle, old: &Old) -> Vec<(&'static str, String)> {
    let often = OFTEN_CALLED.trim_start_matches('+');
    vec![
        ("status=queued,dialing,in_progress (none)", "status=queued,dialing,in_progress".to_owned()),
        ("status=failed", "status=failed".to_owned()),
        ("to= never called (none)", "to=%2B13039999999".to_owned()),
        ("to= called a few times", format!("to={}", old.to)),
        ("to= called often", format!("to=%2B{often}")),
        ("from= never called from (none)", "from=%2B13039999999".to_owned()),
        ("from= a few calls", format!("from={}", old.from)),
        ("from= one of our numbers", "from=%2B12025560007".to_owned()),
        ("metadata of an unknown key (none)", "metadata%5Bnothing%5D=1".to_owned()),
        ("metadata of an unknown value (none)", "metadata%5Border%5D=none".to_owned()),
        ("metadata of three calls in the middle", format!("metadata%5Border%5D={}", old.order)),
        ("metadata matching half, the older", "metadata%5Bcampaign%5D=spring".to_owned()),
        ("end_reason=drained (none)", "end_reason=drained".to_owned()),
        ("end_reason=silence", "end_reason=silence".to_owned()),
        ("error_code=pipeline_error (none)", "error_code=pipeline_error".to_owned()),
        ("error_code=busy", "error_code=busy".to_owned()),
        ("agent_id=", format!("agent_id={AGENTS}000000000007")),
        ("number_id=", format!("number_id={NUMBERS}000000000007")),
        ("direction=inbound", "direction=inbound".to_owned()),
        ("created_before= the middle", format!("created_before={}", middle.time)),
        (
            "created_after=, created_before= a day",
            format!("created_after={}&created_before={}", middle.time, middle.next_day),
        ),
    ]
}

/// Two filters at once, most of which match many calls each and none together.
fn pairs(middle: &Middle) -> Vec<(&'static str, String)> {
    let often = OFTEN_CALLED.trim_start_matches('+');
    let (agent, number) = (format!("agent_id={AGENTS}000000000007"), format!("number_id={NUMBERS}000000000008"));
    vec![
        ("status=completed, error_code=busy (none)", "status=completed&error_code=busy".to_owned()),
        ("status=failed, end_reason=silence (none)", "status=failed&end_reason=silence".to_owned()),
        ("agent_id=, number_id= of another (none)", format!("{agent}&{number}")),
        ("agent_id=, to= never called (none)", format!("{agent}&to=%2B13039999999")),
        ("direction=inbound, from= our number (none)", "direction=inbound&from=%2B12025560007".to_owned()),
        ("direction=inbound, to= called often (none)", format!("direction=inbound&to=%2B{often}")),
        (
            "metadata of the older half, created_after= (none)",
            format!("metadata%5Bcampaign%5D=spring&created_after={}", middle.next_day),
        ),
        (
            "two values of one metadata key (none)",
            "metadata%5Bcampaign%5D=spring&metadata%5Bcampaign%5D=autumn".to_owned(),
        ),
        ("metadata of the older half, agent_id=", format!("metadata%5Bcampaign%5D=spring&{agent}")),
        ("metadata of the older half, status=failed", "metadata%5Bcampaign%5D=spring&status=failed".to_owned()),
        ("to= called often, from= our number", format!("to=%2B{often}&from=%2B12025560007")),
        ("agent_id=, end_reason=silence", format!("{agent}&end_reason=silence")),
        ("number_id=, error_code=no_answer", format!("{number}&error_code=no_answer")),
    ]
}
