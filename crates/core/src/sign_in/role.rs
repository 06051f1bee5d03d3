//! Roles and their permissions.

use std::fmt;
use std::str::FromStr;

/// The role of a person in their tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// May do everything.
    Owner,
    /// May do everything except change people, API keys and settings of the tenant.
    Member,
    /// May read, except where reading costs money.
    Viewer,
}

/// The text names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be owner, member or viewer")]
pub struct UnknownRole;

/// Resources below `/v1` that only owners change.
const OF_OWNERS: [&str; 3] = ["people", "api-keys", "tenant"];

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Member, Self::Viewer];

    /// Returns its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }

    /// Returns whether a request is allowed. `reads`: whether its method only reads; `path`: its path below `/v1`.
    #[must_use]
    pub fn permits(self, reads: bool, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        let resource = path.split('/').next().unwrap_or_default();
        match self {
            Self::Owner => true,
            Self::Member => reads || !OF_OWNERS.contains(&resource),
            Self::Viewer => reads && !asks_a_provider(path),
        }
    }
}

/// Returns whether reading this makes a request to a provider, at the tenant's expense. Voices of this machine cost nothing.
fn asks_a_provider(path: &str) -> bool {
    let mut parts = path.split('/');
    let (resource, id, what) = (parts.next(), parts.next(), parts.next());
    (resource, what) == (Some("connections"), Some("voices")) && id != Some("local")
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(UnknownRole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_read_members_do_not_administer_and_owners_do_everything() {
        for (path, may_change) in [
            ("/calls", [true, true, false]),
            ("/agents/0198c6a0-0000-7000-8000-000000000000", [true, true, false]),
            ("/people", [true, false, false]),
            ("//people", [true, false, false]),
            ("/people/0198c6a0-0000-7000-8000-000000000000", [true, false, false]),
            ("/api-keys", [true, false, false]),
            ("/tenant", [true, false, false]),
        ] {
            for (role, may_change) in Role::ALL.into_iter().zip(may_change) {
                assert!(role.permits(true, path), "{role} reads {path}");
                assert_eq!(role.permits(false, path), may_change, "{role} changes {path}");
            }
        }
    }

    #[test]
    fn viewers_do_not_read_what_a_provider_is_asked_for() {
        for (path, may_read) in [
            ("/connections/0198c6a0-0000-7000-8000-000000000000/voices", [true, true, false]),
            ("//connections/0198c6a0-0000-7000-8000-000000000000/voices", [true, true, false]),
            ("/connections/local/voices", [true, true, true]),
            ("/connections/0198c6a0-0000-7000-8000-000000000000", [true, true, true]),
        ] {
            for (role, may_read) in Role::ALL.into_iter().zip(may_read) {
                assert_eq!(role.permits(true, path), may_read, "{role} reads {path}");
            }
        }
    }

    #[test]
    fn roles_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert_eq!("Owner".parse::<Role>(), Err(UnknownRole));
    }
}
