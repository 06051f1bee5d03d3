//! Progress of a backup or restore, and its end when it is interrupted: nothing that was half written stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::files;

/// How often the size of a growing file is read.
const TICK: Duration = Duration::from_millis(200);

/// The part of the work that is done now, in bytes. Its reader shows it.
#[derive(Debug, Default)]
pub struct Progress {
    part: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl Progress {
    /// Begins a part; its total is 0 where it is unknown.
    pub(super) fn begin(&self, part: &'static str, total: u64) {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner) = part;
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Sets how much of the part is done.
    pub(super) fn is_at(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    /// Adds to what is done.
    ///
    /// # Errors
    /// If the work is stopped.
    pub(super) fn passed(&self, bytes: u64) -> io::Result<()> {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if self.stopped.load(Ordering::Relaxed) { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    /// Returns the part, what is done of it, and the total, which is 0 where it is unknown.
    #[must_use]
    pub fn now(&self) -> (&'static str, u64, u64) {
        let part = *self.part.lock().unwrap_or_else(PoisonError::into_inner);
        (part, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Runs work on files in a thread. When the caller is dropped, the work is stopped and waited for, so that what it wrote can be deleted.
pub(super) async fn on_files<T: Send + 'static>(
    progress: &Arc<Progress>,
    work: impl FnOnce(&Progress) -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    struct StopOnDrop {
        progress: Arc<Progress>,
        ended: Option<Receiver<()>>,
    }
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            if let Some(ended) = self.ended.take() {
                self.progress.stopped.store(true, Ordering::Relaxed);
                let _ = ended.recv(); // An error: the work has dropped its end.
            }
        }
    }
    let (running, ended) = channel::<()>();
    let mut stop = StopOnDrop { progress: progress.clone(), ended: Some(ended) };
    let shared = progress.clone();
    let done = tokio::task::spawn_blocking(move || {
        let _running = running;
        work(&shared)
    });
    let result = done.await;
    stop.ended = None;
    result?
}

/// Waits for work that writes a file, and reports the file's size.
pub(super) async fn watched<T>(work: impl Future<Output = T>, file: &Path, progress: &Progress) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(TICK) => progress.is_at(fs::metadata(file).map_or(0, |data| data.len())),
        }
    }
}

/// A folder that is being written. Unless it is finished, dropping it deletes what is in it.
pub(super) struct Unfinished {
    folder: PathBuf,
    created: bool,
    finished: bool,
}

impl Unfinished {
    /// Creates a folder, or takes an empty one.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        let created = !folder.try_exists()?;
        files::private_folder(folder).with_context(|| format!("could not create {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), created, finished: false })
    }

    pub(super) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // What cannot be deleted has no manifest, and is no backup.
        if self.created {
            let _ = fs::remove_dir_all(&self.folder);
            return;
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_folder_is_deleted_and_one_that_was_there_is_emptied() {
        let parent = tempfile::tempdir().expect("a folder");
        for (name, exists) in [("new", false), ("empty", true)] {
            let folder = parent.path().join(name);
            if exists {
                fs::create_dir(&folder).expect("a folder");
            }
            let unfinished = Unfinished::new(&folder).expect("created");
            fs::create_dir(folder.join("recordings")).expect("a folder");
            fs::write(folder.join("switchhook.db"), "half").expect("written");
            drop(unfinished);
            assert_eq!(folder.exists(), exists);
            assert_eq!(fs::read_dir(&folder).into_iter().flatten().count(), 0);

            let finished = Unfinished::new(&folder).expect("created");
            fs::write(folder.join("switchhook.db"), "all").expect("written");
            finished.finish();
            assert!(folder.join("switchhook.db").exists());
        }
    }

    #[tokio::test]
    async fn work_of_a_caller_that_is_dropped_has_ended() {
        let progress = Arc::new(Progress::default());
        let (begun, began) = tokio::sync::oneshot::channel();
        let ended = Arc::new(AtomicBool::new(false));
        let at_end = ended.clone();
        let work = on_files(&progress, move |progress| {
            begun.send(()).expect("the test waits");
            while progress.passed(1).is_ok() {
                std::thread::yield_now();
            }
            at_end.store(true, Ordering::SeqCst);
            Ok(())
        });
        tokio::select! {
            _ = work => unreachable!("it ends only when it is stopped"),
            _ = began => {}
        }
        assert!(ended.load(Ordering::SeqCst), "select has dropped the work");
    }
}
