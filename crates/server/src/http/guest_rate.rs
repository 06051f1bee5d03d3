//! The rate limits of people, and of pages with event tokens, in the memory of this node: sliding windows, of each one and of all of a
//! tenant. What one does leaves room for the others, and what all of them do leaves room for programs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use switchhook_core::Timestamp;
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::rate::{Admissions, Decision, RATE_WINDOW, decide};

use super::auth::TokenHash;

/// Reading requests of a tenant's people in any 60 seconds, and of one person.
const READS: (u32, u32) = (1_200, 600);
/// Requests with a tenant's event tokens in any 60 seconds, and with one token.
const TOKEN_READS: (u32, u32) = (1_200, 120);
/// Windows to track before those without recent requests are forgotten.
const MANY: usize = 4_000;

/// The kind of a guest's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestRequest {
    /// A person reads.
    Read(PersonId),
    /// A person changes something.
    Change {
        /// The person.
        person: PersonId,
        /// How many requests the tenant may make in any 60 seconds.
        tenant_limit: u32,
    },
    /// A page reads with an event token of a program.
    WithToken(TokenHash),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Window {
    Reads(TenantId),
    ReadsOf(PersonId),
    Changes(TenantId),
    ChangesOf(PersonId),
    TokenReads(TenantId),
    TokenReadsOf(TokenHash),
    Unrecorded(TenantId),
}

impl GuestRequest {
    /// The windows that it counts in, with their limits: the guest's own, and that of all.
    fn windows(self, tenant: TenantId) -> [(Window, u32); 2] {
        match self {
            Self::Read(person) => [(Window::ReadsOf(person), READS.1), (Window::Reads(tenant), READS.0)],
            Self::Change { person, tenant_limit } => {
                let half = tenant_limit.div_ceil(2);
                let three_quarters = tenant_limit - tenant_limit.div_ceil(4);
                [(Window::ChangesOf(person), half), (Window::Changes(tenant), three_quarters.max(half))]
            }
            Self::WithToken(token) => {
                [(Window::TokenReadsOf(token), TOKEN_READS.1), (Window::TokenReads(tenant), TOKEN_READS.0)]
            }
        }
    }
}

/// When guests were admitted. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct GuestRate(Arc<Mutex<HashMap<Window, VecDeque<Timestamp>>>>);

impl GuestRate {
    /// Decides about a request at `now`. Returns the limit that decided, too: the one with the least left.
    pub(super) fn admit(&self, request: GuestRequest, tenant: TenantId, now: Timestamp) -> (u32, Decision) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() > MANY {
            windows.retain(|_, admitted| admitted.back().is_some_and(|at| *at + RATE_WINDOW > now));
        }
        let both = request.windows(tenant);
        let [own, all] = both.map(|(window, limit)| (limit, decide_in(windows.entry(window).or_default(), limit, now)));
        let decided = tighter(own, all);
        if matches!(decided.1, Decision::Admitted { .. }) {
            both.iter().for_each(|(window, _)| windows.entry(*window).or_default().push_back(now));
        }
        decided
    }

    /// Decides about a program's request that the database, which cannot be written, cannot count. Returns the limit, too.
    pub(super) fn admit_unrecorded(&self, tenant: TenantId, limit: u32, now: Timestamp) -> (u32, Decision) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = windows.entry(Window::Unrecorded(tenant)).or_default();
        let decision = decide_in(admitted, limit, now);
        if matches!(decision, Decision::Admitted { .. }) {
            admitted.push_back(now);
        }
        (limit, decision)
    }

    /// Forgets an admission that the tenant's own limit has refused.
    pub(super) fn take_back(&self, request: GuestRequest, tenant: TenantId) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (window, _) in request.windows(tenant) {
            windows.get_mut(&window).and_then(VecDeque::pop_back);
        }
    }
}

/// Decides by one window, without counting the request.
fn decide_in(admitted: &mut VecDeque<Timestamp>, limit: u32, now: Timestamp) -> Decision {
    while admitted.front().is_some_and(|at| *at + RATE_WINDOW <= now) {
        admitted.pop_front();
    }
    let in_window = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
    let excess = admitted.len().checked_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    let limit_th_latest = excess.and_then(|index| admitted.get(index)).copied();
    decide(Admissions { in_window, limit_th_latest }, limit, now)
}

/// The one of two decisions, each with its limit, that allows less.
pub(super) fn tighter(one: (u32, Decision), other: (u32, Decision)) -> (u32, Decision) {
    use Decision::{Admitted, Refused};
    let other_is_tighter = match (one.1, other.1) {
        (Admitted { remaining: one }, Admitted { remaining: other }) => other < one,
        (Refused { retry_after_seconds: one }, Refused { retry_after_seconds: other }) => other > one,
        (Admitted { .. }, Refused { .. }) => true,
        (Refused { .. }, Admitted { .. }) => false,
    };
    if other_is_tighter { other } else { one }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000) + Duration::from_secs(seconds)
    }

    fn tenant(number: u8) -> TenantId {
        TenantId::new(at(0), [number; 10])
    }

    fn person(number: u8) -> PersonId {
        PersonId::new(at(0), [number; 10])
    }

    /// The requests that are admitted before one is refused.
    fn fill(rate: &GuestRate, request: GuestRequest) -> usize {
        let is_admitted = || matches!(rate.admit(request, tenant(1), at(0)).1, Decision::Admitted { .. });
        (0..10_000).take_while(|_| is_admitted()).count()
    }

    #[test]
    fn a_person_fills_half_of_what_the_people_of_a_tenant_read() {
        let rate = GuestRate::default();
        let admit = |tenant, person, at| rate.admit(GuestRequest::Read(person), tenant, at);
        for count in 1..=600 {
            assert_eq!(admit(tenant(1), person(1), at(0)), (600, Decision::Admitted { remaining: 600 - count }));
        }
        assert_eq!(admit(tenant(1), person(1), at(0)), (600, Decision::Refused { retry_after_seconds: 60 }));
        assert_eq!(admit(tenant(1), person(2), at(1)), (600, Decision::Admitted { remaining: 599 }));
        assert_eq!(fill(&rate, GuestRequest::Read(person(3))), 599, "what is left of the window of all");
        assert_eq!(admit(tenant(1), person(2), at(1)), (1_200, Decision::Refused { retry_after_seconds: 59 }));
        assert_eq!(admit(tenant(2), person(4), at(1)), (600, Decision::Admitted { remaining: 599 }));
        assert_eq!(admit(tenant(1), person(1), at(60)), (600, Decision::Admitted { remaining: 599 }));
    }

    #[test]
    fn people_leave_a_part_of_the_changes_to_programs() {
        for (tenant_limit, admitted) in
            [(120, [60, 30, 0]), (4, [2, 1, 0]), (3, [2, 0, 0]), (1, [1, 0, 0]), (0, [0; 3])]
        {
            let rate = GuestRate::default();
            let filled =
                [1, 2, 3].map(|number| fill(&rate, GuestRequest::Change { person: person(number), tenant_limit }));
            assert_eq!(filled, admitted, "of {tenant_limit}");
        }
    }

    #[test]
    fn what_the_tenant_refuses_is_not_counted() {
        let rate = GuestRate::default();
        let change = |number| GuestRequest::Change { person: person(number), tenant_limit: 4 };
        assert_eq!(fill(&rate, change(1)), 2);
        rate.take_back(change(1), tenant(1));
        assert_eq!((fill(&rate, change(1)), fill(&rate, change(2))), (1, 1));
    }

    #[test]
    fn pages_with_tokens_take_nothing_from_people() {
        let rate = GuestRate::default();
        let filled = [1, 2].map(|number| fill(&rate, GuestRequest::WithToken([number; 32])));
        assert_eq!((filled, fill(&rate, GuestRequest::Read(person(1)))), ([120, 120], 600));
    }
}
