//! The life cycle of a leg.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::media::{Happened, Next, Session, Stream};
use super::{Double, FarEnd, Leg, Order, Script};

/// How long a call may wait to be answered or rejected before the test fails.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The time from the response to a call until it is answered.
const ANSWERED_AFTER: Duration = Duration::from_millis(80);

/// The outcome of an accepted dial.
pub(super) enum DialOutcome {
    Unanswered {
        cause: &'static str,
        sip: &'static str,
    },
    /// Rings until the service hangs up.
    Rings,
    Answered(FarEnd),
}

/// The reported reason for the end of a leg.
struct End {
    cause: &'static str,
    source: &'static str,
    sip: &'static str,
}

/// Returns the end of a leg that the service ended by the API: as the caller of a dialled leg, else as the callee.
fn by_order(leg: &Leg) -> End {
    End { cause: "normal_clearing", source: if leg.inbound { "callee" } else { "caller" }, sip: "200" }
}

fn by_far_end(leg: &Leg) -> End {
    End { cause: "normal_clearing", source: if leg.inbound { "caller" } else { "callee" }, sip: "200" }
}

/// Starts a leg that the service dialled.
pub(super) fn dialled(double: &Arc<Double>, body: &Value, outcome: DialOutcome) -> Arc<Leg> {
    let text = |field: &str| body[field].as_str().map(ToOwned::to_owned);
    let (orders, given) = mpsc::unbounded_channel();
    let leg = Arc::new(Leg {
        id: double.call_control_id(),
        session: double.uuid(),
        from: text("from").unwrap_or_default(),
        to: text("to").unwrap_or_default(),
        inbound: false,
        client_state: text("client_state"),
        report_to: text("webhook_url").unwrap_or_default(),
        orders,
        progress: Mutex::default(),
    });
    let stream = Stream::asked_for(body);
    let detects = body["answering_machine_detection"].as_str().is_some_and(|detection| detection != "disabled");
    double.with(|account| account.legs.push(leg.clone()));
    tokio::spawn({
        let (double, leg) = (double.clone(), leg.clone());
        async move {
            double.tell(&leg, "call.initiated", json!({ "direction": "outgoing", "state": "bridging" })).await;
            let end = match outcome {
                DialOutcome::Unanswered { cause, sip } => {
                    unanswered(&leg, given, End { cause, source: "callee", sip }).await
                }
                DialOutcome::Rings => rings(&leg, given).await,
                DialOutcome::Answered(person) => talk(&double, &leg, (stream, person, detects), given).await,
            };
            ended(&double, &leg, end).await;
        }
    });
    leg
}

/// Starts an incoming call.
pub(super) fn arrive(double: &Arc<Double>, from: &str, to: &str, person: FarEnd) {
    let (orders, mut given) = mpsc::unbounded_channel();
    let application = double.with(|account| account.application.clone());
    let leg = Arc::new(Leg {
        id: double.call_control_id(),
        session: double.uuid(),
        from: from.to_owned(),
        to: to.to_owned(),
        inbound: true,
        client_state: None,
        report_to: application["webhook_event_url"].as_str().unwrap_or_default().to_owned(),
        orders,
        progress: Mutex::default(),
    });
    double.with(|account| account.legs.push(leg.clone()));
    let double = double.clone();
    tokio::spawn(async move {
        double.tell(&leg, "call.initiated", json!({ "direction": "incoming", "state": "parked" })).await;
        let rejected = |cause| End { cause, source: "callee", sip: "unspecified" };
        let end = match tokio::time::timeout(TIMEOUT, given.recv()).await {
            Ok(Some(Order::Answer(stream))) => {
                // The network needs a moment, in which the call accepts no other command.
                tokio::time::sleep(ANSWERED_AFTER).await;
                talk(&double, &leg, (stream, person, false), given).await
            }
            Ok(Some(Order::Reject(cause))) => {
                rejected(if cause == "USER_BUSY" { "user_busy" } else { "call_rejected" })
            }
            Ok(Some(Order::HangUp)) => by_order(&leg),
            Ok(Some(Order::FarEndHangsUp)) => End { cause: "originator_cancel", source: "caller", sip: "unspecified" },
            _ => {
                double.complain("a call was neither answered nor rejected");
                by_far_end(&leg)
            }
        };
        ended(&double, &leg, end).await;
    });
}

/// Reports the end of a leg.
async fn ended(double: &Double, leg: &Leg, End { cause, source, sip }: End) {
    leg.with(|progress| {
        progress.ended = true;
        progress.duration = progress.answered_at.map_or(0, |answered_at| answered_at.elapsed().as_secs());
    });
    let hangup = json!({ "hangup_cause": cause, "hangup_source": source, "sip_hangup_cause": sip, "state": "hangup" });
    double.tell(leg, "call.hangup", hangup).await;
    double.tell_the_rest(leg).await;
    leg.with(|progress| progress.over = true);
}

/// Waits for an unanswered leg to end, unless the service hangs up first.
async fn unanswered(leg: &Leg, mut given: UnboundedReceiver<Order>, end: End) -> End {
    tokio::select! {
        Some(Order::HangUp) = given.recv() => End { cause: "originator_cancel", ..by_order(leg) },
        () = tokio::time::sleep(Duration::from_millis(100)) => end,
    }
}

async fn rings(leg: &Leg, mut given: UnboundedReceiver<Order>) -> End {
    // A closed channel means that the test has ended.
    let _ = given.recv().await;
    End { cause: "originator_cancel", sip: "487", ..by_order(leg) }
}

/// Runs an answered leg, with a stream and perhaps machine detection.
async fn talk(
    double: &Double,
    leg: &Leg,
    (stream, person, detects): (Option<Stream>, FarEnd, bool),
    mut given: UnboundedReceiver<Order>,
) -> End {
    leg.with(|progress| {
        (progress.answered, progress.streamed) = (true, stream.is_some());
        progress.answered_at = Some(Instant::now());
    });
    double.tell(leg, "call.answered", json!({ "state": "answered" })).await;
    if detects {
        let result = if person == FarEnd::Machine { "machine" } else { "human" };
        double.tell(leg, "call.machine.detection.ended", json!({ "result": result })).await;
    }
    let mut session = match stream {
        Some(stream) => open(double, leg, stream, person).await,
        None => None,
    };
    if detects && person == FarEnd::Machine {
        double.tell(leg, "call.machine.greeting.ended", json!({ "result": "beep_detected" })).await;
    }
    let end = loop {
        tokio::select! {
            order = given.recv() => match order {
                Some(Order::Transfer(to)) => transfer(double, leg, &to).await,
                Some(Order::Stream(stream)) => session = open(double, leg, stream, person).await,
                Some(Order::FarEndHangsUp) => break by_far_end(leg),
                _ => break by_order(leg),
            },
            happened = happens(&mut session) => match handle(double, leg, &mut session, happened).await {
                Next::On => {}
                Next::HungUp => break by_far_end(leg),
                Next::Gone => {
                    session = None;
                    double.tell(leg, "streaming.stopped", json!({})).await;
                }
            },
        }
    };
    if let Some(session) = &mut session {
        session.stop(leg).await;
        double.tell(leg, "streaming.stopped", json!({})).await;
    }
    end
}

/// Opens a stream. Returns the session, if that worked.
async fn open(double: &Double, leg: &Leg, stream: Stream, person: FarEnd) -> Option<Session> {
    let opened = match person {
        FarEnd::WithoutStream => Err("connection_failed".to_owned()),
        _ => Session::open(double, leg, stream, person).await,
    };
    match opened {
        Ok(session) => {
            double.tell(leg, "streaming.started", json!({})).await;
            Some(session)
        }
        Err(reason) => {
            double.tell(leg, "streaming.failed", json!({ "failure_reason": reason, "stream_type": "websocket" })).await;
            None
        }
    }
}

async fn happens(session: &mut Option<Session>) -> Happened {
    match session {
        Some(session) => session.happens().await,
        None => std::future::pending().await,
    }
}

async fn handle(double: &Double, leg: &Leg, session: &mut Option<Session>, happened: Happened) -> Next {
    match session {
        Some(session) => session.handle(double, leg, happened).await,
        None => Next::Gone,
    }
}

/// Dials the target of a transfer, and connects the two if it answers. Its leg is reported to the URL in the request. It lives on if its
/// connection is not reported.
async fn transfer(double: &Double, leg: &Leg, body: &Value) {
    let text = |field: &str| body[field].as_str().map(ToOwned::to_owned);
    let (orders, _given) = mpsc::unbounded_channel();
    let other = Arc::new(Leg {
        id: double.call_control_id(),
        session: leg.session,
        from: leg.from.clone(),
        to: text("to").unwrap_or_default(),
        inbound: false,
        client_state: text("target_leg_client_state"),
        report_to: text("webhook_url").unwrap_or_else(|| leg.report_to.clone()),
        orders,
        progress: Mutex::default(),
    });
    double.with(|account| account.legs.push(other.clone()));
    double.tell(&other, "call.initiated", json!({ "direction": "outgoing", "state": "bridging" })).await;
    let (cause, sip) = match double.script_of(body) {
        Some(Script::Unanswered { cause, sip }) => (cause, sip),
        Some(Script::HangsUpAtOnce) => {
            double.tell(&other, "call.answered", json!({})).await;
            ("normal_clearing", "200")
        }
        _ => {
            leg.with(|progress| progress.transferred = true);
            other.with(|progress| progress.answered = true);
            double.tell(&other, "call.answered", json!({})).await;
            double.tell(leg, "call.bridged", json!({})).await;
            if double.with(|account| account.lost.contains(&"call.bridged")) {
                return;
            }
            ("normal_clearing", "200")
        }
    };
    other.with(|progress| progress.ended = true);
    let hangup = json!({ "hangup_cause": cause, "hangup_source": "callee", "sip_hangup_cause": sip });
    double.tell(&other, "call.hangup", hangup).await;
    double.tell_the_rest(&other).await;
}
