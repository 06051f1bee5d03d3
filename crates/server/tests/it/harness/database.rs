//! A separate database for every test.
//!
//! Five hundred tests would leave 4 GB of databases behind, so each drops those of the tests that have ended. A test that is killed
//! cannot drop its own.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, query_scalar};
use switchhook_runtime::clock;

/// The PostgreSQL server to test on; without it tests run on SQLite.
const SERVER: &str = "SWITCHHOOK_TEST_POSTGRES";

/// The databases of tests that have ended. A test keeps a connection open that has the name of its database.
/// Its name has 128 random bits, so that no database of a developer is taken for one.
const ABANDONED: &str = "SELECT datname FROM pg_database
    WHERE datname ~ '^switchhook_test_[0-9a-f]{32}$'
    AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = pg_database.datname)";

/// Returns the URL of a new, empty PostgreSQL database; `None` if the test runs on SQLite.
pub(crate) async fn create() -> Option<String> {
    let server = std::env::var(SERVER).ok()?;
    let name = new_name();
    let options: PgConnectOptions = server.parse().expect("a URL of PostgreSQL");
    let connection = PgConnection::connect_with(&options.application_name(&name)).await;
    let mut connection = connection.expect("the PostgreSQL server for tests can be reached");
    drop_abandoned(&mut connection).await;
    let statement = AssertSqlSafe(format!("CREATE DATABASE {name}"));
    connection.execute(statement).await.expect("databases may be created");
    std::mem::forget(connection); // Open until this process ends, so that no other test drops the database.
    Some(with_database(&server, &name))
}

/// Returns a name that no other database has.
pub(crate) fn new_name() -> String {
    format!("switchhook_test_{:032x}", u128::from_be_bytes(clock::random()))
}

async fn drop_abandoned(connection: &mut PgConnection) {
    let abandoned: Vec<String> = query_scalar(ABANDONED).fetch_all(&mut *connection).await.expect("a valid query");
    for name in abandoned {
        let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // It fails where another test is dropping the same database.
        connection.execute(AssertSqlSafe(statement)).await.ok();
    }
}

/// Returns the URL of this database on the server at this URL.
pub(crate) fn with_database(server: &str, name: &str) -> String {
    let (address, options) = server.split_once('?').map_or((server, ""), |(address, options)| (address, options));
    let (base, _database) = address.rsplit_once('/').expect("postgres://user@host/database");
    format!("{base}/{name}?{options}")
}
