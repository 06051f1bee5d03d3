//! Group commit: items that arrive while a batch is being committed make the next batch.
//!
//! A durable commit costs the same for one row as for a hundred. A lone item runs at once; under load, batches grow without any tuning.
//! Items with the same key run in order of arrival, one batch at a time; items with different keys do not wait for each other.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{in_time, is_unavailable};

/// The most items in one batch: what a transaction can do in a few milliseconds.
const MAX_ITEMS: usize = 128;

/// The work done on a batch, in one transaction.
pub trait BatchJob: Send + Sync + 'static {
    /// Items with different keys are never in one batch.
    type Key: Clone + Eq + Hash + Send + Sync + 'static;
    /// One unit of work.
    type Item: Send + Sync + 'static;
    /// The result of one item.
    type Output: Send + 'static;

    /// Processes `items` and returns their outputs in the same order. An error means that nothing was committed.
    fn run(
        &self,
        key: &Self::Key,
        items: &[Self::Item],
    ) -> impl Future<Output = Result<Vec<Self::Output>, sqlx::Error>> + Send;
}

/// Collects items for a [`BatchJob`]. Clones share one queue.
pub struct Batcher<J: BatchJob>(Arc<SharedBatch<J>>);

struct SharedBatch<J: BatchJob> {
    job: J,
    /// A key has an entry while a batch of it is running.
    waiting: Mutex<HashMap<J::Key, Vec<WaitingItem<J>>>>,
}

type Reply<J> = Result<<J as BatchJob>::Output, Arc<sqlx::Error>>;

struct WaitingItem<J: BatchJob> {
    item: J::Item,
    reply: oneshot::Sender<Reply<J>>,
}

impl<J: BatchJob> Clone for Batcher<J> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<J: BatchJob> Batcher<J> {
    /// A batcher with an empty queue.
    pub fn new(job: J) -> Self {
        Self(Arc::new(SharedBatch { job, waiting: Mutex::default() }))
    }

    /// Runs `item` in the next batch of its key. Dropping the future before that batch starts withdraws the item.
    ///
    /// # Errors
    /// When the database fails; all items of a batch share the error.
    pub async fn submit(&self, key: J::Key, item: J::Item) -> Result<J::Output, Arc<sqlx::Error>> {
        let (reply, replied) = oneshot::channel();
        if self.0.enqueue(&key, WaitingItem { item, reply }) {
            // In its own task: a batch must not be cut short because one of its submitters goes away.
            tokio::spawn(self.0.clone().work(key));
        }
        replied.await.unwrap_or_else(|_| Err(Arc::new(sqlx::Error::WorkerCrashed)))
    }
}

impl<J: BatchJob> SharedBatch<J> {
    /// Adds an item. Returns whether no batch of its key is running yet.
    fn enqueue(&self, key: &J::Key, waiting: WaitingItem<J>) -> bool {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = all.get_mut(key) {
            queue.push(waiting);
            return false;
        }
        all.insert(key.clone(), vec![waiting]);
        true
    }

    /// Runs batch after batch until the key's queue is empty.
    async fn work(self: Arc<Self>, key: J::Key) {
        let _cleanup = RemoveOnPanic { shared: &self, key: &key };
        while let Some(batch) = self.next_batch(&key) {
            let (items, replies): (Vec<_>, Vec<_>) = batch.into_iter().map(|one| (one.item, one.reply)).unzip();
            match in_time(self.job.run(&key, &items)).await {
                Ok(done) => send_all(replies, done.into_iter().map(Ok)),
                // One item that the database rejects must not fail the others.
                Err(error) if items.len() > 1 && rejected(&error) => self.one_by_one(&key, &items, replies).await,
                Err(error) => {
                    let error = Arc::new(error);
                    send_all(replies, std::iter::repeat_with(|| Err(error.clone())));
                }
            }
        }
    }

    /// Takes at most [`MAX_ITEMS`] items that are still waited for; `None` ends the work on the key.
    fn next_batch(&self, key: &J::Key) -> Option<Vec<WaitingItem<J>>> {
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = all.get_mut(key)?;
        queue.retain(|waiting| !waiting.reply.is_closed());
        if queue.is_empty() {
            all.remove(key);
            return None;
        }
        let rest = queue.split_off(queue.len().min(MAX_ITEMS));
        Some(std::mem::replace(queue, rest))
    }

    async fn one_by_one(&self, key: &J::Key, items: &[J::Item], replies: Vec<oneshot::Sender<Reply<J>>>) {
        for (item, reply) in items.iter().zip(replies) {
            let done = in_time(self.job.run(key, std::slice::from_ref(item))).await;
            let done = done.and_then(|mut one| one.pop().ok_or(sqlx::Error::WorkerCrashed));
            // A submitter that has gone finds the result in the database.
            let _ = reply.send(done.map_err(Arc::new));
        }
    }
}

fn send_all<T>(replies: Vec<oneshot::Sender<T>>, results: impl Iterator<Item = T>) {
    for (reply, result) in replies.into_iter().zip(results) {
        // A submitter that has gone finds the result in the database.
        let _ = reply.send(result);
    }
}

/// Returns whether the database rejected a statement, so that nothing was committed.
fn rejected(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(_)) && !is_unavailable(error)
}

/// Removes the key of a job that panics: otherwise its items would never complete.
struct RemoveOnPanic<'a, J: BatchJob> {
    shared: &'a SharedBatch<J>,
    key: &'a J::Key,
}

impl<J: BatchJob> Drop for RemoveOnPanic<'_, J> {
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

    impl BatchJob for Double {
        type Key = &'static str;
        type Item = u32;
        type Output = u32;

        async fn run(&self, _: &&'static str, items: &[u32]) -> Result<Vec<u32>, sqlx::Error> {
            self.begin.acquire().await.expect("open").forget();
            self.batches.lock().expect("whole").push(items.to_vec());
            assert!(!items.contains(&UNLUCKY));
            Ok(items.iter().map(|item| item * 2).collect())
        }
    }

    type Batches = Arc<Mutex<Vec<Vec<u32>>>>;

    fn doubling() -> (Batcher<Double>, Arc<Semaphore>, Batches) {
        let (begin, batches) = (Arc::new(Semaphore::new(0)), Batches::default());
        (Batcher::new(Double { begin: begin.clone(), batches: batches.clone() }), begin, batches)
    }

    #[tokio::test]
    async fn items_that_arrive_during_a_batch_make_the_next_one() {
        let (batcher, begin, batches) = doubling();
        let ask = |item| {
            let batcher = batcher.clone();
            tokio::spawn(async move { batcher.submit("a", item).await.expect("doubled") })
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
        assert_eq!(sizes, [1, MAX_ITEMS, 199 - MAX_ITEMS]);
    }

    #[tokio::test]
    async fn an_item_withdrawn_before_its_batch_does_not_run() {
        let (batcher, begin, batches) = doubling();
        let first = tokio::spawn({
            let batcher = batcher.clone();
            async move { batcher.submit("a", 1).await }
        });
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn({
            let batcher = batcher.clone();
            async move { batcher.submit("a", 2).await }
        });
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.is_err());
        begin.add_permits(2);
        assert_eq!(first.await.expect("answered").expect("doubled"), 2);
        assert_eq!(batcher.submit("a", 3).await.expect("doubled"), 6);
        assert_eq!(*batches.lock().expect("whole"), [vec![1], vec![3]]);
    }

    #[tokio::test]
    async fn a_panic_does_not_block_later_items() {
        let (batcher, begin, _) = doubling();
        begin.add_permits(2);
        assert!(batcher.submit("a", UNLUCKY).await.is_err());
        assert_eq!(batcher.submit("a", 4).await.expect("doubled"), 8);
    }
}
