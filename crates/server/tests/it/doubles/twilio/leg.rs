//! The life of one call.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::callbacks::{self, Callbacks};
use super::network::{Network, Record, now};
use super::placing::{Amd, Document, Placed};
use super::script::{DialOutcome, MediaBehaviour, Script};
use super::signature;
use super::stream::{self, Over};
use super::twiml::Verb;

/// How long it takes to tell a machine from a person.
const TELLS_APART: Duration = Duration::from_millis(400);

/// Command for a call, from the service or the test.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// It is to end.
    End,
    /// Follow another document.
    Follow(Document),
    /// The far end hangs up.
    FarEndHangsUp,
    /// The phone that the call was transferred to hangs up.
    OtherEndHangsUp,
}

/// How a call ended.
pub(crate) struct End {
    status: &'static str,
    sip: Option<u16>,
    error: Option<u32>,
}

impl End {
    fn as_(status: &'static str, sip: u16) -> Self {
        Self { status, sip: Some(sip), error: None }
    }

    fn completed() -> Self {
        Self::as_("completed", 200)
    }
}

pub(crate) struct Leg {
    pub(crate) network: Network,
    pub(crate) sid: String,
    pub(crate) script: Script,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    callbacks: Callbacks,
}

/// A call that we placed.
pub(crate) async fn outbound(
    network: Network,
    record: Record,
    placed: Placed,
    script: Script,
    orders: mpsc::UnboundedReceiver<Order>,
) {
    let callbacks = Callbacks::new(network.clone(), &record, script.delivery);
    let mut leg = Leg { network, sid: record.sid, script, orders, callbacks };
    let end = match leg.ring(placed.timeout).await {
        Some(end) => end,
        None => {
            leg.answer();
            if let Some(amd) = placed.amd {
                tokio::spawn(tell_apart(leg.network.clone(), leg.sid.clone(), amd, leg.script.clone()));
            }
            leg.follow(placed.document).await
        }
    };
    leg.finish(&end);
}

/// A call to one of the account's numbers, once our document has come.
pub(crate) async fn inbound(
    network: Network,
    record: Record,
    verbs: Vec<Verb>,
    script: Script,
    orders: mpsc::UnboundedReceiver<Order>,
) {
    let callbacks = Callbacks::new(network.clone(), &record, script.delivery);
    let mut leg = Leg { network, sid: record.sid, script, orders, callbacks };
    let end = match verbs.first() {
        Some(Verb::Reject { busy: true }) => End { status: "busy", sip: None, error: None },
        Some(Verb::Reject { busy: false }) => End { status: "no-answer", sip: None, error: None },
        _ => {
            leg.answer();
            leg.follow(Document::Inline(verbs)).await
        }
    };
    leg.finish(&end);
}

impl Leg {
    /// Until it is answered; else how it ended.
    async fn ring(&mut self, timeout: Duration) -> Option<End> {
        self.callbacks.send("initiated", &[]);
        self.callbacks.send("ringing", &[]);
        tokio::select! {
            () = self.script.ring(timeout) => {}
            _ = self.orders.recv() => return Some(End::as_("canceled", 487)),
        }
        match self.script.outcome {
            DialOutcome::Answered => None,
            DialOutcome::RingsOn => Some(End::as_("no-answer", 487)),
            DialOutcome::Ends { status, sip, error } => Some(End { status, sip, error }),
        }
    }

    fn answer(&mut self) {
        self.network.change(&self.sid, |record| record.started = Some(now()));
        self.callbacks.send("in-progress", &[]);
    }

    /// Follows a document to its end, and then the documents that replace it.
    async fn follow(&mut self, document: Document) -> End {
        let mut document = document;
        loop {
            let verbs = match document {
                Document::Inline(verbs) => verbs,
                Document::At(url) => callbacks::fetch(&self.network, &self.sid, &url, self.script.delivery).await,
            };
            match self.follow_one(verbs).await {
                Over::Next => return End::completed(),
                Over::FarEnd | Over::Ordered(Order::End | Order::FarEndHangsUp | Order::OtherEndHangsUp) => {
                    return End::completed();
                }
                Over::Ordered(Order::Follow(other)) => document = other,
            }
        }
    }

    async fn follow_one(&mut self, verbs: Vec<Verb>) -> Over {
        for verb in verbs {
            let over = match verb {
                Verb::Connect(_) if self.has_no_stream() => self.held().await,
                Verb::Connect(wanted) => stream::run(self, &wanted).await,
                Verb::Dial(dial) => self.dial(&dial).await,
                Verb::Hangup => Over::FarEnd,
                Verb::Pause => Over::Next,
                Verb::Reject { .. } => {
                    self.network.complaints.add("12200: Reject on a call that has been answered");
                    Over::Next
                }
            };
            if !matches!(over, Over::Next) {
                return over;
            }
        }
        Over::Next
    }

    /// Whether the document's stream is not opened, as when an account may not use streams.
    fn has_no_stream(&self) -> bool {
        let streams = self.network.record(&self.sid).map_or(0, |record| record.streams);
        self.script.media == MediaBehaviour::Never || (self.script.media == MediaBehaviour::NeverAgain && streams > 0)
    }

    /// Until either side ends it.
    pub(super) async fn held(&mut self) -> Over {
        // The network keeps the sender for as long as it lives.
        self.orders.recv().await.map_or(Over::FarEnd, Over::Ordered)
    }

    fn finish(&mut self, end: &End) {
        self.network.change(&self.sid, |record| record.ended = Some(now()));
        let mut further = Vec::new();
        further.extend(end.sip.map(|code| (self.network.flavour.sip_field(), code.to_string())));
        further.extend(end.error.map(|code| ("ErrorCode", code.to_string())));
        self.callbacks.send(end.status, &further);
    }
}

/// Says what answered. Not who calls whom: that is only in the other reports.
async fn tell_apart(network: Network, sid: String, amd: Amd, script: Script) {
    let answered_by = script.answered_by;
    match &script.finds_out {
        Some(told) => told.notified().await,
        None => sleep(TELLS_APART).await,
    }
    let fields = signature::owned(&[
        ("AccountSid", network.flavour.account()),
        ("AnsweredBy", answered_by),
        ("CallSid", &sid),
        ("MachineDetectionDuration", "400"),
    ]);
    match callbacks::post(&network, &amd.callback, &fields, script.delivery).await {
        Ok(answer) if answer.status().is_success() => {}
        Ok(answer) => network.complaints.add(format!("a report about machines was answered with {}", answer.status())),
        Err(_) => {} // As for other reports.
    }
    // Tests wait for this, and then for what the service makes of it.
    network.change(&sid, |record| record.answered_by = Some(answered_by));
}
