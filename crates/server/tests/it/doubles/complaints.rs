//! Records what the real peer would have refused.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Collects complaints. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    pub(crate) fn add(&self, complaint: impl Into<String>) {
        self.with(|all| all.push(complaint.into()));
    }

    /// Takes the complaints that a test has caused on purpose.
    pub(crate) fn take(&self) -> Vec<String> {
        self.with(std::mem::take)
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut Vec<String>) -> T) -> T {
        use_them(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Fails the test at the end if there are complaints that were not taken.
pub(crate) struct Guard(pub(crate) Complaints);

impl Drop for Guard {
    fn drop(&mut self) {
        let complaints = self.0.take();
        if std::thread::panicking() {
            // They may be the reason of the panic. A closed stderr is fine.
            let _ = writeln!(std::io::stderr(), "complaints: {complaints:#?}");
            return;
        }
        assert_eq!(complaints, Vec::<String>::new(), "the real peer would have refused something");
    }
}
