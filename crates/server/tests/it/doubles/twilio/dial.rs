//! Transfers: `<Dial>` calls another phone, which its number's script answers or not.

use super::callbacks;
use super::flavour::{Flavour, Prefix};
use super::leg::{Leg, Order};
use super::network::Record;
use super::placing::Document;
use super::script::{Delivery, DialOutcome, Script};
use super::signature;
use super::stream::Over;
use super::twiml::{self, Dial, Verb};

/// The other phone.
struct OtherLeg<'a> {
    dial: &'a Dial,
    sid: String,
    script: Script,
    answered: bool,
}

impl Leg {
    /// Dials the other phone and bridges the two when it answers. Requests the action afterwards.
    pub(super) async fn dial(&mut self, dial: &Dial) -> Over {
        self.show(dial);
        let script = self.network.look(|state| state.scripts.get(&dial.to).cloned()).unwrap_or_default();
        let mut other = OtherLeg { dial, sid: self.network.flavour.id(Prefix::Call), script, answered: false };
        let ordered = tokio::select! {
            () = other.script.ring(dial.timeout) => None,
            order = self.orders.recv() => Some(order.map_or(Over::FarEnd, Over::Ordered)),
        };
        if let Some(over) = ordered {
            return self.left(&other, "canceled", over).await;
        }
        let status = match other.script.outcome {
            DialOutcome::Answered => "completed",
            DialOutcome::RingsOn => "no-answer",
            DialOutcome::Ends { status, .. } => status,
        };
        if let DialOutcome::Answered = other.script.outcome {
            other.answered = true;
            self.network.change(&self.sid, |record| record.bridged = true);
            self.report_answered(&other).await;
            match self.held().await {
                Over::Ordered(Order::OtherEndHangsUp) => {}
                over => return self.left(&other, status, over).await,
            }
        }
        let Some(action) = &dial.action else { return Over::Next };
        let verbs = self.request_action(&other, action, "in-progress", status).await;
        Over::Ordered(Order::Follow(Document::Inline(verbs)))
    }

    /// Requests the action too if the far end hung up or the service ended the call.
    async fn left(&self, other: &OtherLeg<'_>, status: &str, over: Over) -> Over {
        if let (Some(action), Over::FarEnd | Over::Ordered(Order::End | Order::FarEndHangsUp)) =
            (&other.dial.action, &over)
        {
            self.request_action(other, action, "completed", status).await;
        }
        over
    }

    /// Records the number that the called phone shows: the caller's, unless the document has another.
    fn show(&self, dial: &Dial) {
        let Some(record) = self.network.record(&self.sid) else { return };
        let shown = dial.caller_id.clone().unwrap_or_else(|| record.from.clone());
        let ours = self.network.look(|state| state.numbers.iter().any(|known| known.number == shown));
        let withheld = !twiml::is_e164(&shown) || shown == "+266696687";
        if withheld || !(ours || shown == record.from) {
            self.network.complaints.add(format!("13214: {shown} cannot be shown as calling"));
        }
        self.network.change(&self.sid, |record| {
            record.dialled = Some(dial.to.clone());
            record.shown = Some(shown);
            record.bridged = false;
        });
    }

    async fn report_answered(&self, other: &OtherLeg<'_>) {
        let Some(url) = other.dial.answered.as_ref().filter(|_| other.script.delivery != Delivery::Nothing) else {
            return;
        };
        let fields = signature::owned(&[
            ("AccountSid", self.network.flavour.account()),
            ("ApiVersion", "2010-04-01"),
            ("CallSid", &other.sid),
            ("CallStatus", "in-progress"),
            ("CallbackSource", "call-progress-events"),
            ("Direction", "outbound-dial"),
            ("ParentCallSid", &self.sid),
            ("SequenceNumber", "0"),
            ("To", &other.dial.to),
        ]);
        for _ in 0..times(other.script.delivery) {
            callbacks::report(&self.network, url, &fields, other.script.delivery).await;
        }
    }

    /// Posts how the other phone's call ended. Returns the document in the last response.
    async fn request_action(&self, other: &OtherLeg<'_>, url: &str, call_status: &str, status: &str) -> Vec<Verb> {
        let Some(record) = self.network.record(&self.sid) else { return Vec::new() };
        let mut fields = callbacks::of_call(&self.network, &record);
        fields.extend(signature::owned(&[("CallStatus", call_status), ("DialCallStatus", status)]));
        if status != "failed" {
            fields.extend(signature::owned(&[("DialCallSid", &other.sid)]));
        }
        if self.network.flavour == Flavour::Twilio {
            fields.extend(signature::owned(&[("DialBridged", if other.answered { "true" } else { "false" })]));
        }
        let delivery = other.script.delivery;
        let mut verbs = Vec::new();
        for _ in 0..times(delivery) {
            verbs = callbacks::ask(&self.network, url, &fields, delivery).await;
        }
        if delivery == Delivery::Chaotic {
            let (network, url, sid) = (self.network.clone(), url.to_owned(), self.sid.clone());
            let is_late = move |call: &Record| call.sid == sid && (call.is_over() || call.streams > record.streams);
            tokio::spawn(async move {
                network.wait_for(|state| state.calls.iter().any(&is_late).then_some(())).await;
                callbacks::report(&network, &url, &fields, delivery).await;
            });
        }
        verbs
    }
}

fn times(delivery: Delivery) -> usize {
    if delivery == Delivery::Chaotic { 2 } else { 1 }
}
