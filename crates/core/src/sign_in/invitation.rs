//! Invitations to a tenant: their limits, and who may accept or decline one.

use std::time::Duration;

use crate::Timestamp;
use crate::quota::whole_seconds_until;

/// How long an invitation can be accepted.
pub const INVITATION_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long an expired invitation is shown to the tenant, which may want to renew it.
pub const EXPIRED_INVITATION_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum open invitations of a tenant.
pub const MAX_OPEN_INVITATIONS: i64 = 100;
/// Maximum new invitations of a tenant in any [`INVITATION_WINDOW`].
pub const MAX_NEW_INVITATIONS: i64 = 20;
/// The window in which new invitations count.
pub const INVITATION_WINDOW: Duration = Duration::from_secs(3600);

/// The invitations of a tenant, without the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitations {
    /// The number that can still be accepted.
    pub open: i64,
    /// The number made in the last [`INVITATION_WINDOW`], including those that are no longer open.
    pub made: i64,
    /// When the oldest of these was made.
    pub oldest_made_at: Option<Timestamp>,
}

/// Why a tenant may not make an invitation now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooManyInvitations {
    /// [`MAX_OPEN_INVITATIONS`] are open.
    Open,
    /// [`MAX_NEW_INVITATIONS`] were made within [`INVITATION_WINDOW`].
    New {
        /// Whole seconds until another one may be made, at least 1.
        retry_after_seconds: u64,
    },
}

impl Invitations {
    /// Checks whether another one may be made at `now`.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn admit(self, now: Timestamp) -> Result<(), TooManyInvitations> {
        if self.open >= MAX_OPEN_INVITATIONS {
            return Err(TooManyInvitations::Open);
        }
        if self.made < MAX_NEW_INVITATIONS {
            return Ok(());
        }
        let free_at = self.oldest_made_at.map_or(now, |at| at + INVITATION_WINDOW);
        Err(TooManyInvitations::New { retry_after_seconds: whole_seconds_until(free_at, now) })
    }
}

/// The facts that decide whether an invitation can be accepted or declined.
#[derive(Clone, Copy)]
pub struct Invitation<'a> {
    /// The address that was invited, its ASCII letters in lower case.
    pub email: &'a str,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// Why a person cannot accept or decline an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnswerable {
    /// It has expired.
    Ended,
    /// It is for another address than the person's verified one.
    AnotherAddress,
}

impl Invitation<'_> {
    /// Checks whether the person with this verified address may accept or decline it at `now`.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(self, verified_email: Option<&str>, now: Timestamp) -> Result<(), NotAnswerable> {
        if self.expires_at <= now {
            return Err(NotAnswerable::Ended);
        }
        if verified_email != Some(self.email) {
            return Err(NotAnswerable::AnotherAddress);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_tenant_has_a_hundred_open_invitations_and_makes_twenty_in_any_hour() {
        let admit = |open, made, now| Invitations { open, made, oldest_made_at: Some(at(0)) }.admit(at(now));
        assert_eq!(admit(99, 19, 1), Ok(()));
        assert_eq!(admit(100, 0, 1), Err(TooManyInvitations::Open));
        assert_eq!(admit(20, 20, 0), Err(TooManyInvitations::New { retry_after_seconds: 3600 }));
        assert_eq!(admit(20, 20, 3599), Err(TooManyInvitations::New { retry_after_seconds: 1 }));
    }

    #[test]
    fn only_the_person_with_the_verified_address_answers_and_only_in_time() {
        let invitation = Invitation { email: "ana@example.com", expires_at: at(10) };
        assert_eq!(invitation.check(Some("ana@example.com"), at(9)), Ok(()));
        assert_eq!(invitation.check(Some("ana@example.com"), at(10)), Err(NotAnswerable::Ended));
        for other in [Some("bob@example.com"), Some("\u{212A}ana@example.com"), Some(""), None] {
            assert_eq!(invitation.check(other, at(9)), Err(NotAnswerable::AnotherAddress), "{other:?}");
        }
    }
}
