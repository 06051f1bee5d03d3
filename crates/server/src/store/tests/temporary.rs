//! SQLite writes to its database and nowhere else: a container may have no other folder that can be written.

use std::path::PathBuf;

use crate::store::execute;
use crate::store::testing::{TestStore, stores};

const TABLE: &str = "CREATE TABLE pages (words TEXT NOT NULL)";
/// Half a megabyte.
const FILL: &str = "INSERT INTO pages (words) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
    SELECT hex(zeroblob(500)) FROM n";
const CHANGE: &str = "UPDATE pages SET words = 'x' || words";

/// Returns SQLite's temporary files that this process has open. Their names are gone at once.
fn temporary_files() -> Vec<PathBuf> {
    let open = std::fs::read_dir("/proc/self/fd").expect("the open files");
    let files = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    files.filter(|path| path.to_string_lossy().contains("etilqs_")).collect()
}

#[tokio::test]
async fn a_large_transaction_needs_no_temporary_file() {
    let TestStore { store, folder: _kept, .. } = stores().await.remove(0);
    let mut tx = store.begin().await.expect("a transaction");
    execute!(tx, TABLE).expect("created");
    execute!(tx, FILL).expect("filled");
    tx.commit().await.expect("committed");

    let mut tx = store.begin().await.expect("a transaction");
    execute!(tx, CHANGE).expect("changed");
    assert_eq!(temporary_files(), Vec::<PathBuf>::new(), "what a rollback needs is in memory");
    tx.commit().await.expect("committed");
}
