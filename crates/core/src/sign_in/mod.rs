//! Who may sign in to the dashboard, what they may do there, and for how long.

mod allow_list;
mod invitation;
mod return_to;
mod role;
mod session;

pub use allow_list::{AllowList, is_email};
pub use invitation::{
    EXPIRED_INVITATION_KEPT, INVITATION_MAX_AGE, INVITATION_WINDOW, Invitation, Invitations, MAX_NEW_INVITATIONS,
    MAX_OPEN_INVITATIONS, NotAnswerable, TooManyInvitations,
};
pub use return_to::local_path;
pub use role::{Role, UnknownRole};
pub use session::{ABSOLUTE_LIFETIME, IDLE_TIMEOUT, STATE_MAX_AGE, SessionTimes};
