//! The figures, as tables in Markdown or as JSON.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::Duration;

use serde_json::{Value, json};

use crate::prune::Pruned;
use crate::size::Size;
use crate::support::Place;
use crate::{Args, FEW, Figures};

/// Everything that was measured.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a Args,
    pub(crate) place: &'a Place,
    pub(crate) filled_in: Duration,
    /// Bytes before the migration.
    pub(crate) unmigrated: u64,
    pub(crate) before: Figures,
    pub(crate) after: Figures,
    pub(crate) size: Size,
    pub(crate) pruned: Option<Pruned>,
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

impl Report<'_> {
    /// Bytes on the disk for each call.
    fn per_call(&self, bytes: u64) -> f64 {
        bytes as f64 / self.args.calls as f64
    }

    pub(crate) fn print(&self) {
        let (before, after) = (&self.before, &self.after);
        println!(
            "{}, {} calls, made in {:.0} s",
            self.place.database_name(),
            self.args.calls,
            self.filled_in.as_secs_f64()
        );
        println!("\n| | with {FEW} calls | with {} | slowest then |\n|---|---|---|---|", self.args.calls);
        println!(
            "| start, with migration | {:.1} s | {:.1} s | |",
            before.start.as_secs_f64(),
            after.start.as_secs_f64()
        );
        println!("| idle, share of a core | {:.1} % | {:.1} % | |", before.idle_percent, after.idle_percent);
        for (name, percent) in [("p50", 50), ("p99", 99)] {
            let (before, after, max) =
                (before.load.millis(percent), after.load.millis(percent), after.load.millis(100));
            println!("| `POST /v1/calls`, {name} | {before:.1} ms | {after:.1} ms | {max:.0} ms |");
        }
        for (before, after) in before.lookups.iter().zip(&after.lookups) {
            let (few, many, max) = (millis(before.p50), millis(after.p50), millis(after.max));
            println!("| {} | {few:.1} ms | {many:.1} ms | {max:.0} ms |", after.name);
        }
        self.print_size();
        self.print_pruned();
    }

    fn print_size(&self) {
        let per_call = |bytes| self.per_call(bytes);
        println!(
            "\nOn disk: {:.0} bytes a call; {:.0} before the migration",
            per_call(self.size.bytes),
            per_call(self.unmigrated)
        );
        println!("\n| largest | bytes a call |\n|---|---|");
        for (name, bytes) in &self.size.largest {
            println!("| `{name}` | {:.0} |", per_call(bytes.unsigned_abs()));
        }
    }

    fn print_pruned(&self) {
        let Some(pruned) = &self.pruned else { return };
        let gone: Vec<_> = pruned.gone.iter().map(|(table, rows)| format!("{rows} {table}")).collect();
        let (without, with) = (self.after.load.millis(99), pruned.load.millis(99));
        println!("\nPruned: {} in {:.0} s, {} rows left", gone.join(", "), pruned.took.as_secs_f64(), pruned.left);
        println!(
            "`POST /v1/calls` meanwhile: p99 {with:.1} ms, {without:.1} ms without; max {:.0} ms",
            pruned.load.millis(100)
        );
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "database": self.place.database_name(), "calls": self.args.calls, "filled_in_seconds": self.filled_in.as_secs_f64(),
            "before": figures(&self.before), "after": figures(&self.after),
            "bytes_per_call": self.per_call(self.size.bytes), "bytes_per_call_before_migration": self.per_call(self.unmigrated),
            "largest_bytes": self.size.largest.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "pruned": self.pruned.as_ref().map(|pruned| json!({
                "p50_ms": pruned.load.millis(50), "p99_ms": pruned.load.millis(99), "max_ms": pruned.load.millis(100),
                "gone": pruned.gone.iter().copied().collect::<std::collections::BTreeMap<_, _>>(), "left": pruned.left,
                "seconds": pruned.took.as_secs_f64(),
            })),
        })
    }
}

fn figures(of: &Figures) -> Value {
    let lookups: serde_json::Map<_, _> = of
        .lookups
        .iter()
        .map(|took| (took.name.clone(), json!({ "p50_ms": millis(took.p50), "max_ms": millis(took.max) })))
        .collect();
    json!({
        "start_seconds": of.start.as_secs_f64(), "idle_percent": of.idle_percent, "lookups": lookups,
        "post_calls": { "p50_ms": of.load.millis(50), "p99_ms": of.load.millis(99), "max_ms": of.load.millis(100) },
    })
}
