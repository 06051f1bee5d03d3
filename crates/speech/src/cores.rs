//! Hands out the machine's cores one by one.
//!
//! A model run keeps a core busy for tens to hundreds of milliseconds. More concurrent runs than cores would only make all of them late, so each
//! waits for a core of its own.

use std::sync::{Arc, Mutex, PoisonError};

use rten::ThreadPool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Job;

/// All cores of the machine.
pub struct Cores {
    free: Arc<Semaphore>,
    /// One thread pool for each free core.
    pools: Arc<Mutex<Vec<Arc<ThreadPool>>>>,
}

/// One core, returned when dropped.
pub struct Core {
    threads: Arc<ThreadPool>,
    pools: Arc<Mutex<Vec<Arc<ThreadPool>>>>,
    _permit: OwnedSemaphorePermit,
}

impl Cores {
    /// Creates a handle to the cores that the machine lets this process use.
    #[must_use]
    pub fn all() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let pools = (0..count).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
        Self { free: Arc::new(Semaphore::new(count)), pools: Arc::new(Mutex::new(pools)) }
    }

    /// Waits for a core; first come, first served.
    pub async fn wait(&self) -> Core {
        let permit = Arc::clone(&self.free).acquire_owned().await.expect("the semaphore is never closed");
        self.take(permit)
    }

    /// Returns a core, if one is idle and no run waits.
    #[must_use]
    pub fn idle(&self) -> Option<Core> {
        Arc::clone(&self.free).try_acquire_owned().ok().map(|permit| self.take(permit))
    }

    fn take(&self, permit: OwnedSemaphorePermit) -> Core {
        let threads = self.pools.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let threads = threads.expect("there is a pool for each permit");
        Core { threads, pools: Arc::clone(&self.pools), _permit: permit }
    }
}

impl Core {
    /// Returns a job on this core.
    #[must_use]
    pub fn job(&self) -> Job {
        Job::new(Arc::clone(&self.threads))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // The permit is a field, so it is released after the pool is back.
        self.pools.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&self.threads));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn there_are_as_many_cores_as_were_given_back() {
        let cores = Cores::all();
        for _ in 0..3 {
            let mut taken = vec![cores.wait().await];
            taken.extend(std::iter::from_fn(|| cores.idle()));
            assert_eq!(taken.len(), std::thread::available_parallelism().map_or(1, usize::from));
            assert!(cores.idle().is_none());
        }
    }
}
