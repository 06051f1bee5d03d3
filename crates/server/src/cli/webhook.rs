//! `switchhook webhook …`: verify signatures, and receive deliveries on this machine.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use axum::http::StatusCode;
use clap::Subcommand;
use serde_json::json;
use switchhook_core::webhook::{SigningSecret, verify};
use switchhook_runtime::clock::Clock;

use super::{CliError, output};
use crate::config::parse_duration;
use crate::lifecycle::StopSignals;
use crate::webhooks::receiver::{Received, Receiver};

/// Subcommands of `switchhook webhook`.
#[derive(Debug, Subcommand)]
pub(super) enum WebhookCommand {
    /// Receive, verify and print deliveries on this machine.
    Listen {
        /// Loopback port to listen on; 0 is any free port.
        #[arg(long, default_value_t = 9000)]
        port: u16,
        /// Signing secret of the endpoint; without it nothing is verified.
        #[arg(long, value_name = "whsec_…", value_parser = secret)]
        secret: Option<SigningSecret>,
        /// Status to respond with, to simulate failures.
        #[arg(long, value_name = "STATUS", default_value = "200")]
        answer: StatusCode,
    },
    /// Verify the signature of a body from standard input: exit code 0 if it is genuine, 1 if not.
    Verify {
        /// Signing secret of the endpoint.
        #[arg(long, value_name = "whsec_…", value_parser = secret)]
        secret: SigningSecret,
        /// Value of the X-Voice-Signature header.
        #[arg(long, value_name = "t=…,v1=…")]
        signature: String,
        /// Maximum difference between the signature's time and now.
        #[arg(long, value_name = "DURATION", default_value = "300s", value_parser = parse_duration)]
        tolerance: Duration,
    },
}

fn secret(text: &str) -> Result<SigningSecret, String> {
    SigningSecret::parse(text).map_err(|error| error.to_string())
}

pub(super) async fn run(command: WebhookCommand, json: bool) -> Result<ExitCode, CliError> {
    match command {
        WebhookCommand::Listen { port, secret, answer } => listen(port, secret, answer, json).await,
        WebhookCommand::Verify { secret, signature, tolerance } => check(&secret, &signature, tolerance, json),
    }
}

fn check(secret: &SigningSecret, signature: &str, tolerance: Duration, json: bool) -> Result<ExitCode, CliError> {
    let mut body = Vec::new();
    std::io::stdin().lock().read_to_end(&mut body)?;
    let verified = verify(signature, &body, secret, Clock::system().now(), tolerance);
    match (verified, json) {
        (Ok(()), false) => output::line("The signature is genuine."),
        (Ok(()), true) => output::json(&json!({ "verified": true }))?,
        (Err(error), false) => return Err(anyhow::Error::from(error).into()),
        (Err(error), true) => {
            output::json(&json!({ "verified": false, "error": error.to_string() }))?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn listen(
    port: u16,
    secret: Option<SigningSecret>,
    answer: StatusCode,
    json: bool,
) -> Result<ExitCode, CliError> {
    let mut receiver = Receiver::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    receiver.answer_with(answer);
    let verifies = secret.is_some();
    if let Some(secret) = secret {
        receiver.set_secret(secret);
    }
    output::note(&format!("Listening at {}. Press Ctrl-C to stop.", receiver.url()));
    if !verifies {
        output::note("Signatures are not verified: pass the endpoint's secret with --secret.");
    }
    output::note("The service sends to this machine only if it runs with SWITCHHOOK_WEBHOOK_ALLOW=127.0.0.0/8,http");
    let mut signals = StopSignals::listen();
    loop {
        tokio::select! {
            received = receiver.next() => if json { print_json(&received)? } else { print(&received, verifies) },
            _ = signals.next() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Prints one JSON object per line.
fn print_json(received: &Received) -> anyhow::Result<()> {
    output::json_line(received)
}

fn print(received: &Received, verifies: bool) {
    let verdict = match (&received.refusal, verifies) {
        (Some(refusal), _) => format!("REFUSED: {refusal}"),
        (None, true) => "verified".to_owned(),
        (None, false) => "not verified".to_owned(),
    };
    let event = if received.event.is_empty() { "(no X-Voice-Event)" } else { &received.event };
    let again = if received.attempt > 1 { format!(", attempt {}", received.attempt) } else { String::new() };
    output::line(&output::plain(&format!("{event}  {}  {verdict}{again}", received.id)));
    output::line(&format!("  {}", output::plain(&received.body.to_string())));
}
