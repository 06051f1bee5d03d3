//! The limit of open files and sockets of this process. Clients must leave some of them to calls and the database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::listener::Bounds;

/// The share of all files that clients' connections never take: one of so many.
const RESERVE: u64 = 4;
/// Files that they leave in any case: connections to the database, the log, recordings, calls to carriers and providers.
const RESERVED_AT_LEAST: u64 = 96;
/// The service does not start with fewer.
const FEWEST: u64 = 128;

/// Raises the limit as far as this process may. Shells and container engines often set 1,024 with leave to raise it.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
}

/// Returns the limit; `None` if unlimited.
#[must_use]
pub fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns the limit to which [`raise`] can raise it; `None` if unlimited.
#[must_use]
pub fn highest() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Refuses a limit under which the service could not work.
///
/// # Errors
/// If it is too low.
pub fn check(files: Option<u64>) -> anyhow::Result<()> {
    let enough = files.is_none_or(|files| files >= FEWEST);
    anyhow::ensure!(
        enough,
        "this process may open {} files and needs at least {FEWEST}: raise the hard limit (`ulimit -Hn`, `LimitNOFILE=` of systemd)",
        files.unwrap_or_default()
    );
    Ok(())
}

/// Lowers bounds on connections to what `files` open files allow. Then one address gets at most half of them, unless it was to have
/// all, as a proxy.
#[must_use]
pub fn fit(bounds: Bounds, files: Option<u64>) -> Bounds {
    let most = files.map_or(u64::MAX, |files| files.saturating_sub((files / RESERVE).max(RESERVED_AT_LEAST)));
    let most = u32::try_from(most).unwrap_or(u32::MAX).max(1);
    if bounds.connections <= most {
        return bounds;
    }
    let only_a_proxy = bounds.connections_per_address >= bounds.connections;
    let share = if only_a_proxy { most } else { (most / 2).max(1) };
    Bounds { connections: most, connections_per_address: bounds.connections_per_address.min(share), ..bounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(connections: u32, per_address: u32, files: Option<u64>) -> (u32, u32) {
        let bounds = Bounds { connections, connections_per_address: per_address, ..Bounds::default() };
        let fitted = fit(bounds, files);
        (fitted.connections, fitted.connections_per_address)
    }

    #[test]
    fn connections_leave_a_quarter_of_the_files_to_calls_and_the_database() {
        assert_eq!(fitted(10_000, 1_000, None), (10_000, 1_000));
        assert_eq!(fitted(10_000, 1_000, Some(65_536)), (10_000, 1_000));
        assert_eq!(fitted(10_000, 1_000, Some(1_024)), (768, 384));
        assert_eq!(fitted(10_000, 100, Some(1_024)), (768, 100));
        assert_eq!(fitted(10_000, 1_000, Some(256)), (160, 80));
    }

    #[test]
    fn a_limit_that_leaves_nothing_to_work_with_is_refused() {
        assert!(check(None).is_ok() && check(Some(FEWEST)).is_ok());
        let refused = check(Some(24)).expect_err("it is too low").to_string();
        assert!(refused.contains("24 files") && refused.contains("LimitNOFILE"), "{refused}");
    }

    #[test]
    fn a_proxy_keeps_all_connections() {
        assert_eq!(fitted(10_000, 10_000, Some(1_024)), (768, 768));
    }
}
