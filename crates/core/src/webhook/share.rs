//! Limits the concurrent attempts of endpoints.
//!
//! A node has a limited number of concurrent attempts, and an attempt to a hanging receiver lasts until its deadline. So that
//! dead receivers do not block healthy ones, an endpoint gets more slots the better it has behaved, and when slots become scarce,
//! each endpoint gets one before any gets a second.

/// The recent behaviour of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its last attempt succeeded.
    Well,
    /// There has been no attempt yet.
    Unproven,
    /// Its last attempt failed.
    Failing,
}

/// Maximum concurrent attempts of a node.
pub const UNDER_WAY: i64 = 2048;
/// Maximum concurrent attempts to one endpoint, over all nodes.
pub const PER_ENDPOINT: i64 = 10;
/// Maximum concurrent attempts to a failing endpoint.
pub const WHILE_FAILING: i64 = 2;

/// Returns the maximum concurrent attempts to an endpoint of this standing while the node has `under_way` in total.
#[must_use]
pub fn most(standing: Standing, under_way: i64) -> i64 {
    let (several, several_until, one_until) = match standing {
        Standing::Well => (PER_ENDPOINT, UNDER_WAY / 8 * 7, UNDER_WAY),
        Standing::Unproven => (PER_ENDPOINT, UNDER_WAY / 4, UNDER_WAY / 4 * 3),
        Standing::Failing => (WHILE_FAILING, UNDER_WAY / 4, UNDER_WAY / 2),
    };
    match under_way {
        under_way if under_way < several_until => several,
        under_way if under_way < one_until => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets endpoints of these standings, all of which hang, take as many places as they may get, one after another.
    fn taken(endpoints: impl Iterator<Item = Standing>, mut under_way: i64) -> (i64, Vec<i64>) {
        let mut each = Vec::new();
        for standing in endpoints {
            let mut own = 0;
            while own < most(standing, under_way) {
                own += 1;
                under_way += 1;
            }
            each.push(own);
        }
        (under_way, each)
    }

    #[test]
    fn alone_an_endpoint_gets_ten_and_one_that_fails_two() {
        for (standing, expected) in [(Standing::Well, 10), (Standing::Unproven, 10), (Standing::Failing, 2)] {
            assert_eq!(taken(std::iter::once(standing), 0).1, [expected]);
        }
    }

    #[test]
    fn however_many_are_dead_others_are_served() {
        let (after, _) = taken((0..10_000).map(|_| Standing::Failing), 0);
        assert_eq!(most(Standing::Unproven, after), 1, "dead ones leave room for new ones");
        let (after, _) = taken((0..1_000).map(|_| Standing::Unproven), after);
        assert_eq!(most(Standing::Well, after), 10, "and both leave room for those that have answered");
    }

    #[test]
    fn when_room_is_scarce_each_gets_one_place_before_any_gets_a_second() {
        let (_, each) = taken((0..1_000).map(|_| Standing::Unproven), 0);
        assert!(each.iter().all(|own| *own >= 1), "a thousand that hang at once are all tried");
        let (_, each) = taken((0..300).map(|_| Standing::Well), 0);
        assert!(each.iter().all(|own| *own >= 1));
    }
}
