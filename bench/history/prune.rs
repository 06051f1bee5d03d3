//! Placing calls while the service deletes what is too old.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::fill::{self, DAY, YEAR};
use crate::load::{Load, Placing};
use crate::support::Place;
use crate::support::database::Database;
use crate::{Args, take_deliveries};

/// The oldest calls that go, with their events and deliveries.
const OLD_CALLS: u64 = 20_000;
/// The longest that is waited for the first of them to go, and for all.
const UNTIL_FIRST: Duration = Duration::from_secs(90);
const UNTIL_LAST: Duration = Duration::from_secs(600);
/// How often its progress is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The result of pruning.
pub(crate) struct Pruned {
    /// Placed until everything was gone.
    pub(crate) load: Load,
    /// Tables, and how many of their rows went.
    pub(crate) gone: Vec<(&'static str, i64)>,
    /// Rows that are left though they are too old.
    pub(crate) left: i64,
    pub(crate) took: Duration,
}

const TABLES: [&str; 3] = ["calls", "events", "deliveries"];

/// Starts a node that keeps a few days less than there are, and places calls until it has deleted the rest.
pub(crate) async fn measure(place: &mut Place, args: &Args) -> anyhow::Result<Pruned> {
    let old = OLD_CALLS.min(args.calls / 10);
    let days = 365 - i64::try_from((365 * old).div_ceil(args.calls))?;
    for setting in ["SWITCHHOOK_RETENTION_DAYS", "SWITCHHOOK_DELIVERY_RETENTION_DAYS"] {
        place.set(setting, days.to_string());
    }
    // A day later is not too old yet: what ended a little after it was made stays a little longer.
    let last = fill::start() + YEAR - (days + 1) * DAY;
    let mut database = Database::open(&place.database_url()).await?;
    let before = count(&mut database, last).await?;
    let node = place.serve("api,calls,webhooks")?;
    node.ready().await?;
    let _receiver = take_deliveries(&node).await?;
    let (begun, mut looked, mut times) = (Instant::now(), Instant::now(), Vec::new());
    let mut placing = Placing::new(&node).await?;
    let bar = ProgressBar::new(before.iter().sum::<i64>().unsigned_abs());
    let mut now = before;
    while now.iter().sum::<i64>() > 0 && begun.elapsed() < if now == before { UNTIL_FIRST } else { UNTIL_LAST } {
        times.push(placing.one().await?);
        if looked.elapsed() > POLL_INTERVAL {
            now = count(&mut database, last).await?;
            looked = Instant::now();
            bar.set_position((before.iter().sum::<i64>() - now.iter().sum::<i64>()).unsigned_abs());
        }
    }
    bar.finish_and_clear();
    let gone = TABLES.iter().zip(before.iter().zip(now)).map(|(table, (before, now))| (*table, before - now)).collect();
    Ok(Pruned { load: Load::of(times), gone, left: now.iter().sum(), took: begun.elapsed() })
}

/// Rows of each table that are older; ids begin with the time.
async fn count(database: &mut Database, than: i64) -> anyhow::Result<[i64; 3]> {
    let id = uuid::Builder::from_unix_timestamp_millis(u64::try_from(than / 1_000)?, &[0; 10]).into_uuid();
    let id = match database {
        Database::Sqlite(_) => format!("X'{}'", id.simple()),
        Database::Postgres(_) => format!("'{id}'"),
    };
    let mut rows = [0; 3];
    for (table, rows) in TABLES.iter().zip(&mut rows) {
        *rows = database.number(format!("SELECT COUNT(*) FROM {table} WHERE id < {id}")).await?;
    }
    Ok(rows)
}
