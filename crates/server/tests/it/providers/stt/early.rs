//! Calls that are answered before the STT is ready.

use std::sync::Arc;
use std::time::Duration;

use crate::providers::rehearsal::{FakeProviders, VirtualCall, always};
use async_trait::async_trait;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::FailureCode;
use switchhook_providers::scripted::ScriptedStt;
use switchhook_providers::{ProviderError, Stt, SttEvent, SttOptions, SttSession};
use tokio::sync::mpsc;

use super::caller::text;

/// An STT that is slow to open; the phone has rung for 2 s by then.
struct Slow {
    opens_after: Duration,
    refuses: bool,
}

#[async_trait]
impl Stt for Slow {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        tokio::time::sleep(self.opens_after).await;
        if self.refuses {
            return Err(ProviderError::Config { provider: "slow", message: "No.".to_owned() });
        }
        ScriptedStt.open(options, events).await
    }
}

async fn call(opens_after: Duration, refuses: bool) -> VirtualCall {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Hi.".to_owned();
    let cast =
        FakeProviders { stt: Arc::new(Slow { opens_after, refuses }), ..FakeProviders::scripted(always("Thank you.")) };
    VirtualCall::begin(&agent, cast).await
}

#[tokio::test(start_paused = true)]
async fn the_agent_greets_before_it_can_hear_and_what_is_said_meanwhile_is_heard() {
    let mut talk = call(Duration::from_millis(3_900), false).await;
    talk.until_heard(20, 0).await;
    assert!(talk.sounds()[0].0 <= 400, "{:?}", talk.sounds());
    talk.wait(500).await;
    let spoke = talk.caller_says("name").await;
    assert_eq!(talk.dead_air_since(spoke).await, None);
    assert_eq!(talk.said()[..2], [(true, "Hi."), (false, text("name"))]);
}

#[tokio::test(start_paused = true)]
async fn answered_call_without_stt_apologises_and_ends() {
    let mut talk = call(Duration::from_secs(3), true).await;
    talk.until_silent_for(10_000, 0).await;
    assert_eq!(talk.failure(), Some(FailureCode::Config));
    assert!(talk.spoken().iter().any(|said| said.contains("technical problem")), "{:?}", talk.spoken());
}

#[tokio::test(start_paused = true)]
async fn early_stt_failure_ends_the_call_before_it_is_answered() {
    let talk = call(Duration::from_secs(1), true).await;
    assert_eq!((talk.failure(), talk.now()), (Some(FailureCode::Config), 0));
}
