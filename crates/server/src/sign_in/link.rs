//! The link in the terminal of `switchhook dev`: who reads that terminal may sign in.
//!
//! A request that comes from loopback under a loopback name says nothing: a port of this machine may be forwarded from anywhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::attempt::{hash, random_text};

/// A link that signs in once; the next one has another token.
pub struct SignInLink {
    token: Mutex<String>,
    asked: Notify,
}

impl Default for SignInLink {
    fn default() -> Self {
        Self { token: Mutex::new(random_text()), asked: Notify::new() }
    }
}

impl SignInLink {
    /// Returns the path and query of the link.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/auth/login?token={}", self.token())
    }

    /// Uses the link; false unless the token is that of the current one.
    pub fn redeem(&self, token: &str) -> bool {
        let mut current = self.token();
        // Comparing hashes does not reveal how much of a guess was right.
        let right = hash(token) == hash(&current);
        if right {
            *current = random_text();
        }
        right
    }

    /// Asks for the link to be shown in the terminal.
    pub fn ask(&self) {
        self.asked.notify_one();
    }

    /// Waits until a browser asks for the link.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    fn token(&self) -> MutexGuard<'_, String> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_signs_in_once() {
        let link = SignInLink::default();
        let first = link.token().clone();
        assert!(!link.redeem("") && !link.redeem(&first[1..]));
        assert_eq!(*link.token(), first, "wrong guesses change nothing");
        assert!(link.redeem(&first));
        assert!(!link.redeem(&first));
        let second = link.token().clone();
        assert!(link.redeem(&second), "the next one is another");
    }

    #[test]
    fn of_many_who_open_a_link_at_once_one_is_in() {
        let link = SignInLink::default();
        let token = link.token().clone();
        let redeemed = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| link.redeem(&token))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|redeemed| *redeemed).count()
        });
        assert_eq!(redeemed, 1);
    }
}
