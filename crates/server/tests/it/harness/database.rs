//! A separate database for every test.
//!
//! Five hundred tests would leave 4 GB of databases behind, so each drops those of the tests that have ended. A test that is killed
//! cannot drop its own. Migrations take longer than copying what they have made, so they run once for each version of them.

use std::path::Path;

use sqlx::migrate::Migrator;
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

/// PostgreSQL's own empty database, which new ones are copied from.
const EMPTY: &str = "template1";
/// The advisory lock of the test that makes a template.
const MAKING_A_TEMPLATE: i64 = 0x7E3F_1A7E;

/// Returns the URL of a new, empty PostgreSQL database; `None` if the test runs on SQLite.
pub(crate) async fn create() -> Option<String> {
    let server = std::env::var(SERVER).ok()?;
    let (mut connection, name) = connect(&server).await;
    create_from(&mut connection, &name, EMPTY).await;
    keep_open(connection);
    Some(with_database(&server, &name))
}

/// The same with the schema of this version.
pub(crate) async fn create_migrated() -> Option<String> {
    let server = std::env::var(SERVER).ok()?;
    let (mut connection, name) = connect(&server).await;
    let template = template(&mut connection, &server).await;
    create_from(&mut connection, &name, &template).await;
    keep_open(connection);
    Some(with_database(&server, &name))
}

/// Connects to the server under the name of a new database, which does not exist yet.
async fn connect(server: &str) -> (PgConnection, String) {
    let name = new_name();
    let options: PgConnectOptions = server.parse().expect("a URL of PostgreSQL");
    let connection = PgConnection::connect_with(&options.application_name(&name)).await;
    let mut connection = connection.expect("the PostgreSQL server for tests can be reached");
    drop_abandoned(&mut connection).await;
    (connection, name)
}

async fn create_from(connection: &mut PgConnection, name: &str, template: &str) {
    let statement = AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE {template}"));
    connection.execute(statement).await.expect("databases may be created");
}

/// Keeps a connection open until this process ends, so that no other test drops the database of its name.
fn keep_open(connection: PgConnection) {
    std::mem::forget(connection);
}

/// Returns the name of a database that has the schema of this version and nothing else. The first test that needs it makes it.
async fn template(connection: &mut PgConnection, server: &str) -> String {
    const LOCK: &str = "SELECT pg_advisory_lock($1)";
    const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let migrator = Migrator::new(migrations).await.expect("the migrations can be read");
    let template = format!("switchhook_template_{:032x}", checksum(&migrator));

    sqlx::query(LOCK).bind(MAKING_A_TEMPLATE).execute(&mut *connection).await.expect("one test after another");
    let exists: Result<bool, _> = query_scalar(EXISTS).bind(&template).fetch_one(&mut *connection).await;
    if !exists.expect("a valid query") {
        // Named once it is complete: a test that is killed leaves a database that another one drops.
        let (mut unfinished, name) = connect(server).await;
        create_from(&mut unfinished, &name, EMPTY).await;
        let mut database = PgConnection::connect(&with_database(server, &name)).await.expect("a new database");
        migrator.run(&mut database).await.expect("a new database can be migrated");
        database.close().await.expect("a database with connections cannot be renamed");
        let renamed = AssertSqlSafe(format!("ALTER DATABASE {name} RENAME TO {template}"));
        unfinished.execute(renamed).await.expect("no other test knows its name");
    }
    sqlx::query(UNLOCK).bind(MAKING_A_TEMPLATE).execute(&mut *connection).await.expect("it was locked");
    template
}

/// Returns a number that changes with any migration.
fn checksum(migrator: &Migrator) -> u128 {
    let first_16 = |checksum: &[u8]| checksum.iter().take(16).fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    migrator.iter().fold(0, |sum, migration| sum ^ first_16(&migration.checksum))
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
