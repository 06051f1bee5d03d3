//! A separate database for every test.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};
use switchhook_runtime::clock;

/// The PostgreSQL server to test on; without it tests run on SQLite.
const SERVER: &str = "SWITCHHOOK_TEST_POSTGRES";

/// Returns the URL of a new, empty PostgreSQL database; `None` if the test runs on SQLite.
pub(crate) async fn create() -> Option<String> {
    Some(create_on(&std::env::var(SERVER).ok()?).await)
}

/// Returns the URL of a new, empty database on the PostgreSQL server at this URL.
pub(crate) async fn create_on(server: &str) -> String {
    let mut connection = PgConnection::connect(server).await.expect("the PostgreSQL server for tests can be reached");
    let name = format!("test_{:032x}", u128::from_be_bytes(clock::random()));
    connection.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.expect("databases may be created");
    let (address, options) = server.split_once('?').map_or((server, ""), |(address, options)| (address, options));
    let (base, _database) = address.rsplit_once('/').expect("postgres://user@host/database");
    format!("{base}/{name}?{options}")
}
