//! The memory and processor time of a node under attack: before, at the peak, and 10 s after the end.
//!
//! Every attack runs against a fresh node, the release binary in a separate process, on SQLite or PostgreSQL, and ends after at most some
//! 20 s. The attacker is this process and shares the machine. Memory is the resident set of the node, its peak the kernel's own (`VmHWM`,
//! reset when the attack begins); processor time is the node's alone. Tenants have no rate limit and no limit of calls, so that the bounds
//! behind those are measured.
//!
//! ```text
//! cargo build --release && cargo run --release -p switchhook --example bench-attacks
//! ci/with-postgres.sh --durable cargo run --release -p switchhook --example bench-attacks
//! … -- --only half-headers            # one of them
//! ```
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod disk;
mod fan_out;
mod flood;
mod half_requests;
mod issuer;
mod other;
mod patches;
mod requests;
mod sign_ins;
#[path = "../support/mod.rs"]
mod support;
mod voice;
mod watch;

use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;

use self::issuer::Issuer;
use self::support::{Connection, Node, Place};
use self::watch::Row;

#[derive(Parser)]
struct Args {
    /// Only this attack.
    #[arg(long)]
    only: Option<Attack>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Attack {
    Schemas,
    Voice,
    FanOut,
    HalfHeaders,
    HalfBodies,
    DeepLists,
    Callbacks,
    Patches,
    Settings,
    SignIns,
    SilentDiscovery,
    SilentTokens,
}

/// A fresh node.
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) node: Node,
    /// The identity provider of its people.
    pub(crate) issuer: Issuer,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let attacks = args.only.map_or_else(|| Attack::value_variants().to_vec(), |only| vec![only]);
    let bar = ProgressBar::new(attacks.len() as u64);
    let (mut rows, mut database) = (Vec::new(), "");
    for attack in attacks {
        let target = Target::start(attack).await?;
        database = target.place.database_name();
        rows.push((attack.name(), Box::pin(attack.run(&target)).await?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("{database}\n\n{}", Row::HEADER);
    for (name, row) in &rows {
        println!("| {name} | {row} |");
    }
    Ok(())
}

impl Attack {
    fn name(self) -> &'static str {
        match self {
            Self::Schemas => "schemas that double 18 and 24 times",
            Self::Voice => "a voice that never stops, 20 calls ringing",
            Self::FanOut => "500 calls with 16 KiB of metadata to 20 endpoints, then lists of 100",
            Self::HalfHeaders => "2,000 connections with half a header",
            Self::HalfBodies => "2,000 connections with half of 64 KiB",
            Self::DeepLists => "lists with 2,000 filters, 50 at a time",
            Self::Callbacks => "callbacks without a signature, 4 senders",
            Self::Patches => "changes of 12 bytes to an agent of almost 256 KiB, 4 senders",
            Self::Settings => "connections with 16 KiB of unknown settings, 4 senders",
            Self::SignIns => "sign-ins that come back with an error, 4 senders",
            Self::SilentDiscovery => "1,000 sign-ins at once, identity provider silent",
            Self::SilentTokens => "100 invented codes at once, token endpoint silent",
        }
    }

    async fn run(self, target: &Target) -> anyhow::Result<Row> {
        match self {
            Self::Schemas => requests::schemas(target).await,
            Self::Voice => voice::endless(target).await,
            Self::FanOut => fan_out::many_endpoints(target).await,
            Self::HalfHeaders => half_requests::headers(target).await,
            Self::HalfBodies => half_requests::bodies(target).await,
            Self::DeepLists => requests::deep_lists(target).await,
            Self::Callbacks => requests::callbacks(target).await,
            Self::Patches => patches::small_changes(target).await,
            Self::Settings => patches::unknown_settings(target).await,
            Self::SignIns => sign_ins::come_back(target).await,
            Self::SilentDiscovery => sign_ins::silent_discovery(target).await,
            Self::SilentTokens => sign_ins::silent_tokens(target).await,
        }
    }
}

impl Target {
    async fn start(attack: Attack) -> anyhow::Result<Self> {
        let mut place = Place::with_database(&format!("attack_{}", attack as u8)).await?;
        place.set("SWITCHHOOK_LOG", "error");
        // The default, which other benches lift.
        place.set("SWITCHHOOK_MAX_CONNECTIONS_PER_ADDRESS", "1000");
        let issuer = Issuer::start().await?;
        place.set("SWITCHHOOK_OIDC_ISSUER", &issuer.url);
        place.set("SWITCHHOOK_OIDC_CLIENT_ID", "switchhook");
        place.set("SWITCHHOOK_OIDC_CLIENT_SECRET", "secret");
        let node = place.serve("api,calls,webhooks")?;
        node.ready().await?;
        Ok(Self { place, node, issuer })
    }

    /// A connection, and the key of a new tenant.
    pub(crate) async fn tenant(&self, name: &str) -> anyhow::Result<(Connection, String)> {
        Ok((Connection::open(&self.node.address).await?, self.place.tenant(name)?))
    }
}
