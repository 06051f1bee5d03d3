//! One transaction for many: what is asked while an earlier batch is under way makes the next batch.
//!
//! A durable commit costs the same for one row as for a hundred. Alone, an item is worked on at once; under load, batches grow
//! by themselves. Items with the same key are worked on in the order in which they came, one batch at a time; those with
//! different keys do not wait for each other.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::store;

/// The most items of one batch: what a transaction can do in a few milliseconds.
const MOST: usize = 128;

/// What is done with a batch, in one transaction.
pub trait Job: Send + Sync + 'static {
    /// Items with different keys are never in one batch.
    type Key: Clone + Eq + Hash + Send + Sync + 'static;
    /// What is asked.
    type Item: Send + Sync + 'static;
    /// What comes of it.
    type Answer: Send + 'static;

    /// Works on all of `items`; the answers are in their order. An error means that nothing of it happened.
    fn run(
        &self,
        key: &Self::Key,
        items: &[Self::Item],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, sqlx::Error>> + Send;
}

/// Gathers items for a [`Job`]. Clones share what has gathered.
pub struct Gather<J: Job>(Arc<Shared<J>>);

struct Shared<J: Job> {
    job: J,
    /// There is an entry as long as a batch of its key is under way.
    waiting: Mutex<HashMap<J::Key, Vec<Waiting<J>>>>,
}

struct Waiting<J: Job> {
    item: J::Item,
    answer: oneshot::Sender<Result<J::Answer, Arc<sqlx::Error>>>,
}

impl<J: Job> Clone for Gather<J> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<J: Job> Gather<J> {
    /// Nothing has gathered yet.
    pub fn new(job: J) -> Self {
        Self(Arc::new(Shared { job, waiting: Mutex::default() }))
    }

    /// What comes of `item`. Who stops waiting before its batch has begun has asked nothing.
    ///
    /// # Errors
    /// When the database failed; all of a batch share its error.
    pub async fn submit(&self, key: J::Key, item: J::Item) -> Result<J::Answer, Arc<sqlx::Error>> {
        let (answer, answered) = oneshot::channel();
        if self.0.enter(&key, Waiting { item, answer }) {
            // A task of its own: a batch is not to be cut short because one who waits for it goes away.
            tokio::spawn(self.0.clone().work(key));
        }
        answered.await.unwrap_or_else(|_| Err(Arc::new(sqlx::Error::WorkerCrashed)))
    }
}

impl<J: Job> Shared<J> {
    /// Lets one more wait. Whether nobody works on this key yet.
    fn enter(&self, key: &J::Key, waiting: Waiting<J>) -> bool {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = all.get_mut(key) {
            queue.push(waiting);
            return false;
        }
        all.insert(key.clone(), vec![waiting]);
        true
    }

    /// Batch after batch until nobody waits.
    async fn work(self: Arc<Self>, key: J::Key) {
        let _gone = Forget { shared: &self, key: &key };
        while let Some(batch) = self.next_batch(&key) {
            let (items, answers): (Vec<_>, Vec<_>) = batch.into_iter().map(|one| (one.item, one.answer)).unzip();
            match store::in_time(self.job.run(&key, &items)).await {
                Ok(done) => tell(answers, done.into_iter().map(Ok)),
                // One item that the database refuses must not spoil the others.
                Err(error) if items.len() > 1 && refused(&error) => self.one_by_one(&key, &items, answers).await,
                Err(error) => {
                    let error = Arc::new(error);
                    tell(answers, std::iter::repeat_with(|| Err(error.clone())));
                }
            }
        }
    }

    /// Those who still wait, at most [`MOST`]. Nothing once nobody does; then whoever comes next begins anew.
    fn next_batch(&self, key: &J::Key) -> Option<Vec<Waiting<J>>> {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = all.get_mut(key)?;
        queue.retain(|waiting| !waiting.answer.is_closed());
        if queue.is_empty() {
            all.remove(key);
            return None;
        }
        let rest = queue.split_off(queue.len().min(MOST));
        Some(std::mem::replace(queue, rest))
    }

    async fn one_by_one(
        &self,
        key: &J::Key,
        items: &[J::Item],
        answers: Vec<oneshot::Sender<Result<J::Answer, Arc<sqlx::Error>>>>,
    ) {
        for (item, answer) in items.iter().zip(answers) {
            let done = store::in_time(self.job.run(key, std::slice::from_ref(item))).await;
            let done = done.and_then(|mut one| one.pop().ok_or(sqlx::Error::WorkerCrashed));
            // Who went away learns from the rows.
            let _ = answer.send(done.map_err(Arc::new));
        }
    }
}

fn tell<A>(
    answers: Vec<oneshot::Sender<Result<A, Arc<sqlx::Error>>>>,
    done: impl Iterator<Item = Result<A, Arc<sqlx::Error>>>,
) {
    for (answer, done) in answers.into_iter().zip(done) {
        // Who went away learns from the rows.
        let _ = answer.send(done);
    }
}

/// Whether the database looked at the statement and said no, so that nothing was committed.
fn refused(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(_)) && !store::is_unavailable(error)
}

/// A job that panics must not leave its key behind, for which nobody would work any more.
struct Forget<'a, J: Job> {
    shared: &'a Shared<J>,
    key: &'a J::Key,
}

impl<J: Job> Drop for Forget<'_, J> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// The job panics on it.
    const UNLUCKY: u32 = 1_313;

    /// Doubles numbers; a batch begins when a permit is given.
    struct Double {
        begin: Arc<Semaphore>,
        batches: Batches,
    }

    impl Job for Double {
        type Key = &'static str;
        type Item = u32;
        type Answer = u32;

        async fn run(&self, _: &&'static str, items: &[u32]) -> Result<Vec<u32>, sqlx::Error> {
            self.begin.acquire().await.expect("open").forget();
            self.batches.lock().expect("whole").push(items.to_vec());
            assert!(!items.contains(&UNLUCKY));
            Ok(items.iter().map(|item| item * 2).collect())
        }
    }

    type Batches = Arc<Mutex<Vec<Vec<u32>>>>;

    fn doubling() -> (Gather<Double>, Arc<Semaphore>, Batches) {
        let (begin, batches) = (Arc::new(Semaphore::new(0)), Batches::default());
        (Gather::new(Double { begin: begin.clone(), batches: batches.clone() }), begin, batches)
    }

    #[tokio::test]
    async fn what_comes_during_a_batch_is_the_next_batch() {
        let (gather, begin, batches) = doubling();
        let ask = |item| {
            let gather = gather.clone();
            tokio::spawn(async move { gather.submit("a", item).await.expect("doubled") })
        };
        let first = ask(1);
        for _ in 0..5 {
            tokio::task::yield_now().await; // Until its batch is under way.
        }
        let others: Vec<_> = (2..=200).map(ask).collect();
        for _ in 0..300 {
            tokio::task::yield_now().await;
        }
        begin.add_permits(10);
        assert_eq!(first.await.expect("answered"), 2);
        for (other, asked) in others.into_iter().zip(2..) {
            assert_eq!(other.await.expect("answered"), asked * 2);
        }
        let sizes: Vec<_> = batches.lock().expect("whole").iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, MOST, 199 - MOST]);
    }

    #[tokio::test]
    async fn who_gives_up_before_the_batch_has_asked_nothing() {
        let (gather, begin, batches) = doubling();
        let first = tokio::spawn({
            let gather = gather.clone();
            async move { gather.submit("a", 1).await }
        });
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let gather = gather.clone();
            async move { gather.submit("a", 2).await }
        });
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.is_err());
        begin.add_permits(2);
        assert_eq!(first.await.expect("answered").expect("doubled"), 2);
        assert_eq!(gather.submit("a", 3).await.expect("doubled"), 6);
        assert_eq!(*batches.lock().expect("whole"), [vec![1], vec![3]]);
    }

    #[tokio::test]
    async fn after_a_panic_others_are_served() {
        let (gather, begin, _) = doubling();
        begin.add_permits(2);
        assert!(gather.submit("a", UNLUCKY).await.is_err());
        assert_eq!(gather.submit("a", 4).await.expect("doubled"), 8);
    }
}
