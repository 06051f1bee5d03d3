//! What customers, the phone network and a receiver observed of a disturbed service, and the rules that must hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use switchhook_core::Timestamp;

/// The most POSTs of one delivery.
const MOST_ATTEMPTS: usize = 8;
const TERMINAL: [&str; 2] = ["call.completed", "call.failed"];

/// All observations, once nothing moves.
#[derive(Clone, Default)]
pub(crate) struct History {
    /// The requests that were acknowledged to customers.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The calls in the API.
    pub(crate) calls: Vec<SeenCall>,
    /// The calls that were dialled, by the phone network's log.
    pub(crate) dials: Vec<String>,
    /// The POSTs that the receiver got.
    pub(crate) posts: Vec<Post>,
    /// The receiver's deliveries in the API.
    pub(crate) deliveries: Vec<SeenDelivery>,
    /// The tenant's usage in the API.
    pub(crate) usage: Usage,
}

/// A 201 for a request with this key.
#[derive(Clone)]
pub(crate) struct Acknowledged {
    pub(crate) key: String,
    pub(crate) call: String,
}

#[derive(Clone)]
pub(crate) struct SeenCall {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) created_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    /// Whether the dial was recorded as intended.
    pub(crate) dialing: bool,
    pub(crate) answered: bool,
    /// Sequence and kind, in the listed order.
    pub(crate) events: Vec<(u64, String)>,
}

#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) delivery: String,
    pub(crate) call: String,
    pub(crate) sequence: u64,
    pub(crate) event: String,
}

#[derive(Clone)]
pub(crate) struct SeenDelivery {
    pub(crate) id: String,
    pub(crate) state: String,
    /// The attempt numbers in its log.
    pub(crate) attempts: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) concurrent_calls: u64,
    pub(crate) concurrent_limit: u64,
    pub(crate) monthly_calls: u64,
}

impl History {
    /// Returns every broken rule, as a sentence.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.every_acknowledged_call_is_there_once(&mut found);
        for call in &self.calls {
            ends_once(call, &mut found);
        }
        self.no_call_is_dialled_twice(&mut found);
        self.every_event_arrives(&mut found);
        self.every_post_is_in_its_log(&mut found);
        self.slots_and_month_are_exact(&mut found);
        found
    }

    fn every_acknowledged_call_is_there_once(&self, found: &mut Vec<String>) {
        let there: BTreeSet<&str> = self.calls.iter().map(|call| call.id.as_str()).collect();
        let mut by_key: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for Acknowledged { key, call } in &self.acknowledged {
            by_key.entry(key).or_default().insert(call);
            if !there.contains(call.as_str()) {
                found.push(format!("call {call} was acknowledged and is gone"));
            }
        }
        for (key, calls) in by_key.iter().filter(|(_, calls)| calls.len() > 1) {
            found.push(format!("key {key} made {} calls", calls.len()));
        }
        // Every request was repeated until it was acknowledged.
        if self.calls.len() != by_key.len() {
            found.push(format!("{} calls for {} keys", self.calls.len(), by_key.len()));
        }
    }

    fn no_call_is_dialled_twice(&self, found: &mut Vec<String>) {
        let mut rung: HashMap<&str, usize> = HashMap::new();
        for call in &self.dials {
            *rung.entry(call).or_default() += 1;
        }
        for call in &self.calls {
            let rung = rung.remove(call.id.as_str()).unwrap_or(0);
            if rung > 1 {
                found.push(format!("call {} was dialled {rung} times", call.id));
            }
            if rung > 0 && !call.dialing {
                found.push(format!("call {} was dialled before that was written down", call.id));
            }
            if rung == 0 && call.answered {
                found.push(format!("call {} was answered and never dialled", call.id));
            }
        }
        found.extend(rung.keys().map(|call| format!("call {call} was dialled and is not there")));
    }

    fn every_event_arrives(&self, found: &mut Vec<String>) {
        let mut arrived: HashMap<(&str, u64), BTreeSet<(&str, &str)>> = HashMap::new();
        for post in &self.posts {
            arrived.entry((&post.call, post.sequence)).or_default().insert((&post.event, &post.delivery));
        }
        for call in &self.calls {
            for (sequence, event) in &call.events {
                let posts = arrived.remove(&(call.id.as_str(), *sequence)).unwrap_or_default();
                let kinds: BTreeSet<&str> = posts.iter().map(|(kind, _)| *kind).collect();
                if posts.is_empty() {
                    found.push(format!("event {sequence} ({event}) of call {} never arrived", call.id));
                } else if posts.len() > 1 || !kinds.contains(event.as_str()) {
                    found.push(format!("event {sequence} ({event}) of call {} arrived as {posts:?}", call.id));
                }
            }
        }
        found.extend(arrived.keys().map(|(call, n)| format!("event {n} of call {call} arrived and is not there")));
    }

    fn every_post_is_in_its_log(&self, found: &mut Vec<String>) {
        let mut posted: HashMap<&str, usize> = HashMap::new();
        for post in &self.posts {
            *posted.entry(&post.delivery).or_default() += 1;
        }
        for SeenDelivery { id, state, attempts } in &self.deliveries {
            let posts = posted.remove(id.as_str()).unwrap_or(0);
            if posts > MOST_ATTEMPTS || attempts.len() > MOST_ATTEMPTS {
                found.push(format!("delivery {id} was posted {posts} times, by its log {}", attempts.len()));
            }
            if posts > attempts.len() {
                found.push(format!("delivery {id} was posted {posts} times and its log has {} rows", attempts.len()));
            }
            if !attempts.iter().copied().eq(1..=attempts.len() as u64) {
                found.push(format!("the log of delivery {id} has the numbers {attempts:?}"));
            }
            if state != "succeeded" {
                found.push(format!("delivery {id} is {state}, and its receiver lives"));
            }
        }
        found.extend(posted.keys().map(|id| format!("delivery {id} was posted and is not there")));
    }

    fn slots_and_month_are_exact(&self, found: &mut Vec<String>) {
        if self.usage.concurrent_calls != 0 {
            found.push(format!("{} slots are in use by nobody", self.usage.concurrent_calls));
        }
        if self.usage.monthly_calls != self.calls.len() as u64 {
            found.push(format!("{} calls count for the month, not {}", self.usage.monthly_calls, self.calls.len()));
        }
        let most = self.most_at_once();
        if most > self.usage.concurrent_limit {
            found.push(format!("{most} calls at the same time, {} allowed", self.usage.concurrent_limit));
        }
    }

    /// Returns the most calls alive at one time. A slot is freed a little after its call's end, so this errs on the safe side.
    fn most_at_once(&self) -> u64 {
        let starts = self.calls.iter().map(|call| (call.created_at, 1));
        let ends = self.calls.iter().filter_map(|call| Some((call.ended_at?, -1)));
        let mut changes: Vec<(Timestamp, i64)> = starts.chain(ends).collect();
        changes.sort_unstable(); // Ends before starts of the same time.
        let mut live = 0;
        let most = changes.into_iter().map(|(_, change)| {
            live += change;
            live
        });
        most.max().unwrap_or(0).unsigned_abs()
    }
}

fn ends_once(call: &SeenCall, found: &mut Vec<String>) {
    let kinds: Vec<&str> = call.events.iter().map(|(_, kind)| kind.as_str()).collect();
    let terminal = kinds.iter().filter(|kind| TERMINAL.contains(kind)).count();
    let end = format!("call.{}", call.status);
    if terminal != 1 || kinds.last() != Some(&end.as_str()) || call.ended_at.is_none() {
        found.push(format!("call {} is {} after the events {kinds:?}", call.id, call.status));
    }
    if kinds.first() != Some(&"call.queued") || kinds.iter().collect::<BTreeSet<_>>().len() != kinds.len() {
        found.push(format!("call {} has the events {kinds:?}", call.id));
    }
    if !call.events.iter().map(|(sequence, _)| *sequence).eq(1..=call.events.len() as u64) {
        found.push(format!("the events of call {} are numbered {:?}", call.id, call.events));
    }
}

mod tests {
    use super::*;

    const EVENTS: [&str; 5] = ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"];

    /// Returns the history of one correct call.
    fn one_call() -> History {
        let call = SeenCall {
            id: "c".to_owned(),
            status: "completed".to_owned(),
            created_at: Timestamp::from_micros(1),
            ended_at: Some(Timestamp::from_micros(9)),
            dialing: true,
            answered: true,
            events: (1..).zip(EVENTS.map(str::to_owned)).collect(),
        };
        let post = |(sequence, event): &(u64, String)| Post {
            delivery: format!("d{sequence}"),
            call: "c".to_owned(),
            sequence: *sequence,
            event: event.clone(),
        };
        let delivery =
            |post: &Post| SeenDelivery { id: post.delivery.clone(), state: "succeeded".to_owned(), attempts: vec![1] };
        let posts: Vec<Post> = call.events.iter().map(post).collect();
        History {
            acknowledged: vec![Acknowledged { key: "k".to_owned(), call: "c".to_owned() }; 2],
            dials: vec!["c".to_owned()],
            deliveries: posts.iter().map(delivery).collect(),
            posts,
            usage: Usage { concurrent_calls: 0, concurrent_limit: 1, monthly_calls: 1 },
            calls: vec![call],
        }
    }

    #[test]
    fn what_was_repeated_and_answered_late_breaks_no_rule() {
        let mut history = one_call();
        history.posts.push(history.posts[0].clone());
        history.deliveries[0].attempts = vec![1, 2, 3]; // Of one attempt nobody heard.
        assert_eq!(history.violations(), Vec::<String>::new());
    }

    #[test]
    fn every_broken_rule_is_found() {
        type Harm = fn(&mut History);
        let harms: [(&str, Harm); 19] = [
            ("is gone", |h| h.calls.clear()),
            ("key k made 2 calls", |h| h.acknowledged[1].call = "e".to_owned()),
            ("1 calls for 0 keys", |h| h.acknowledged.clear()),
            ("is in_progress after", |h| h.calls[0].status = "in_progress".to_owned()),
            ("is failed after", |h| h.calls[0].status = "failed".to_owned()),
            ("is completed after", |h| h.calls[0].events.push((6, "call.failed".to_owned()))),
            ("is completed after", |h| drop(h.calls[0].events.pop())),
            ("has the events", |h| h.calls[0].events[2].1 = "call.dialing".to_owned()),
            ("are numbered", |h| h.calls[0].events[2].0 = 9),
            ("was dialled 2 times", |h| h.dials.push("c".to_owned())),
            ("before that was written down", |h| h.calls[0].dialing = false),
            ("answered and never dialled", |h| h.dials.clear()),
            ("event 3 (call.in_progress) of call c never arrived", |h| drop(h.posts.remove(2))),
            ("arrived as", |h| h.posts[0].event = "call.failed".to_owned()),
            ("was posted 9 times", |h| {
                h.posts.extend(vec![h.posts[0].clone(); 8]);
                h.deliveries[0].attempts = (1..=9).collect();
            }),
            ("its log has 1 rows", |h| h.posts.push(h.posts[0].clone())),
            ("has the numbers [1, 3]", |h| h.deliveries[0].attempts = vec![1, 3]),
            ("is pending, and its receiver lives", |h| h.deliveries[0].state = "pending".to_owned()),
            ("1 slots are in use", |h| h.usage.concurrent_calls = 1),
        ];
        for (words, harm) in harms {
            let mut history = one_call();
            harm(&mut history);
            let found = history.violations();
            assert!(found.iter().any(|sentence| sentence.contains(words)), "{words}: {found:?}");
        }
    }

    #[test]
    fn calls_beyond_the_limit_and_beyond_the_month_are_found() {
        let mut history = one_call();
        let other = SeenCall { id: "e".to_owned(), created_at: Timestamp::from_micros(9), ..history.calls[0].clone() };
        history.calls.push(SeenCall { ended_at: Some(Timestamp::from_micros(12)), ..other });
        let found = history.violations().join("\n");
        assert!(found.contains("1 calls count for the month, not 2"), "{found}");
        assert!(!found.contains("at the same time"), "{found}");
        history.calls[1].created_at = Timestamp::from_micros(8);
        assert!(history.violations().contains(&"2 calls at the same time, 1 allowed".to_owned()));
    }
}
