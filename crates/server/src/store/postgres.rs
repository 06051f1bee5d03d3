//! PostgreSQL: its address, and pools of connections that can write.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::away::is_unavailable;
use super::budget::{Budget, ServerLimits};
use super::pooling::Pooling;
use super::symptoms::Symptoms;

/// How long a request waits for a connection. Its client does better to ask again than to wait for a database that is away.
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);
/// How long a worker does, and the start.
const WORKER_PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two attempts of the start to connect.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// The start's error where nothing was refused.
const SILENT: &str = "could not connect to PostgreSQL: it does not answer, or the pooler at this address has fewer than two \
    connections for this service";

/// Settings of each session, which override those of the role, the database and the server. PostgreSQL ends a transaction that is idle for 5 s: a
/// node that is suspended or whose machine is gone would otherwise keep its locks, and other nodes would wait for them, for example to renew
/// their leases. Transactions see what others committed before each statement, on which their locks rely. A commit waits for the disk: a dial
/// that a crash of the server forgets would be repeated.
const SESSION: &str = "SET idle_in_transaction_session_timeout = 5000; SET default_transaction_isolation = 'read committed'; \
    SELECT set_config('synchronous_commit', 'local', FALSE) WHERE current_setting('synchronous_commit') = 'off'";
/// Takes away the limits of a role for requests. `transaction_timeout` exists since PostgreSQL 17.
const UNLIMITED: &str = "SELECT set_config(name, '0', FALSE) FROM pg_settings \
    WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')";
const FORBIDDEN: &str = "the role of the database address may not create or change tables: make it the owner of the database and of the tables \
    in it, or of its tables alone, with CREATE on a schema of its search_path (since PostgreSQL 15, also on public)";
const INVALID: &str = "the database URL is not a valid postgres:// address";
/// A parameter of libpq that chooses among several servers. Connections are always checked for what it asks for.
const SESSION_ATTRIBUTES: &str = "target_session_attrs";

/// How many statements a connection keeps prepared.
const STATEMENT_CACHE: &str = "statement-cache-capacity";

/// Spellings of the parameter for the certificate authorities.
const ROOT_CERTIFICATES: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];
/// Spellings of those for the certificate of the service and its key.
const OWN_CERTIFICATE: [&str; 4] = ["sslcert", "ssl-cert", "sslkey", "ssl-key"];
/// Spellings of the one for encryption.
const SSL_MODE: [&str; 2] = ["sslmode", "ssl-mode"];
/// Variables of libpq for these where the address has no such parameter.
const ROOT_VARIABLE: &str = "PGSSLROOTCERT";
const MODE_VARIABLE: &str = "PGSSLMODE";
/// The authorities of the system, for libpq of PostgreSQL 16 and later.
const SYSTEM: &str = "system";

/// The database at this address cannot be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "PostgreSQL is read-only at this address: it is a replica, or default_transaction_read_only is on. Set the address of the primary in \
     SWITCHHOOK_DATABASE_URL"
)]
pub struct ReadOnly;

/// A database that cannot store every letter.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database stores text as {0}, which cannot hold the words of every call: create another one with \
     `CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0`"
)]
pub struct WrongEncoding(String);

/// Connects to the database at `url`; the node may open up to `most` connections, and gives up those with `symptoms`. Waits for a server that is
/// starting.
pub(super) async fn open(url: &str, most: u32, symptoms: Symptoms) -> anyhow::Result<(PgPool, Budget, Pooling)> {
    let options = connect_options(url)?;
    check_files(url, options.get_ssl_mode())?;
    let deadline = Instant::now() + WORKER_PATIENCE;
    let mut last = None;
    let (limits, pooling) = loop {
        match timeout_at(deadline, look_at(&options)).await {
            Ok(Ok(found)) => break found,
            Ok(Err(error)) if may_pass(&error) && Instant::now() + CONNECT_RETRY_INTERVAL < deadline => {
                last = Some(error);
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(last.unwrap_or_else(|| anyhow::anyhow!(SILENT))),
        }
        tokio::time::sleep(CONNECT_RETRY_INTERVAL).await;
    };
    let budget = Budget::within(most, &limits)?;
    let pool = pool(budget.requests, symptoms, pooling).acquire_timeout(REQUEST_PATIENCE).connect_lazy_with(options);
    Ok((pool, budget, pooling))
}

/// Looks at the server and at what stands before it.
async fn look_at(options: &PgConnectOptions) -> anyhow::Result<(ServerLimits, Pooling)> {
    const UNREACHABLE: &str = "could not connect to PostgreSQL";
    let mut connection = options.connect().await.context(UNREACHABLE)?;
    let mut other = options.connect().await.context(UNREACHABLE)?;
    // Before anything is prepared.
    let pooling = Pooling::between(&mut connection, &mut other).await?;
    if !can_write(&mut connection).await? {
        return Err(ReadOnly.into());
    }
    check_encoding(&mut connection).await?;
    let limits = ServerLimits::read(&mut connection).await.context("could not read the limits of PostgreSQL")?;
    // A server that closes first has ended them already.
    let _ = tokio::join!(connection.close(), other.close());
    Ok((limits, pooling))
}

/// Returns whether a later attempt to connect may succeed: a wrong password or a missing database stays.
fn may_pass(error: &anyhow::Error) -> bool {
    const STAYS: [&str; 2] = ["28", "3D"];
    error.downcast_ref::<sqlx::Error>().is_some_and(|error| {
        let state = error.as_database_error().and_then(|error| error.code());
        is_unavailable(error) && !state.is_some_and(|state| STAYS.iter().any(|class| state.starts_with(class)))
    })
}

/// The same database over a pool of a worker's own.
pub(super) fn apart(pool: &PgPool, connections: u32) -> PgPool {
    let options = pool.options().clone().max_connections(connections).acquire_timeout(WORKER_PATIENCE);
    options.connect_lazy_with((*pool.connect_options()).clone())
}

/// A pool that gives up connections that cannot write, as those that lead to a replica after a failover, and those with outdated statements.
fn pool(connections: u32, symptoms: Symptoms, pooling: Pooling) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        // The check below shows whether a connection is alive, just as a ping does.
        .test_before_acquire(false)
        .before_acquire(move |connection, metadata| {
            let outdated = symptoms.outdated(metadata.age);
            Box::pin(async move {
                let Some(ago) = outdated else { return can_write(connection).await };
                if pooling == Pooling::Transaction {
                    end_older_session(connection, ago).await;
                }
                Ok(false)
            })
        })
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(SESSION)).await?;
                if can_write(connection).await? {
                    return Ok(());
                }
                Err(sqlx::Error::Configuration("the database is read-only: it is a replica, or was made so".into()))
            })
        })
}

/// Ends the session that a pooler lends to this connection, if it is so old that it may have outdated statements. The pooler keeps those for
/// all connections, new ones too. While this statement runs, no other connection has the session.
async fn end_older_session(connection: &mut PgConnection, age: Duration) {
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE pid = pg_backend_pid() AND backend_start < clock_timestamp() - interval '{} milliseconds'",
        age.as_millis()
    );
    // A session that ends answers with an error; the connection is given up in any case.
    let _ = connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(end))).await;
}

async fn can_write(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let row = connection.fetch_one(sqlx::raw_sql("SHOW transaction_read_only")).await?;
    Ok(row.try_get::<&str, _>(0)? == "off")
}

/// Checks that the database can store every letter. It would otherwise refuse words during a call, or cut letters in two.
async fn check_encoding(connection: &mut PgConnection) -> anyhow::Result<()> {
    let row = connection.fetch_one(sqlx::raw_sql("SHOW server_encoding")).await?;
    let encoding: &str = row.try_get(0)?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(WrongEncoding(encoding.to_owned()).into())
}

/// Migrates the schema over a separate connection. A migration of many calls, or the wait for that of another node, takes longer than a role
/// may allow requests.
pub(super) async fn migrate(pool: &PgPool, migrator: &Migrator) -> anyhow::Result<()> {
    let mut connection = pool.acquire().await?.detach();
    connection.execute(sqlx::raw_sql(UNLIMITED)).await?;
    let migrated = migrator.run(&mut connection).await;
    // What is migrated is committed.
    let _ = connection.close().await;
    migrated.map_err(|error| {
        let forbidden = may_not_create(&error);
        let error = anyhow::Error::from(error);
        if forbidden { error.context(FORBIDDEN) } else { error }
    })
}

/// Returns whether the role may not create or change a table, or has no schema to create it in.
fn may_not_create(error: &MigrateError) -> bool {
    const STATES: [&str; 2] = ["42501", "3F000"];
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else { return false };
    let state = error.as_database_error().and_then(|error| error.code());
    state.is_some_and(|state| STATES.contains(&state.as_ref()))
}

/// Parses an address as libpq understands it.
fn connect_options(url: &str) -> anyhow::Result<PgConnectOptions> {
    connect_options_beside(url, &|name| std::env::var(name).ok())
}

/// Parses an address as libpq understands it beside these variables of the environment.
fn connect_options_beside(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<PgConnectOptions> {
    let mut url: Url = with_host(url).parse().context(INVALID)?;
    let (known, unknown): (Vec<_>, Vec<_>) = url.query_pairs().into_owned().partition(|(name, _)| is_known(name));
    let Verified { mut parameters, by_system } = verified(known, variable)?;
    for (name, value) in &mut parameters {
        // Without any, the library prepares a statement for each use and never closes it.
        if name == STATEMENT_CACHE && value.parse() == Ok(0_usize) {
            "1".clone_into(value);
        }
    }
    url.set_query(None);
    if !parameters.is_empty() {
        url.query_pairs_mut().extend_pairs(&parameters);
    }
    for (name, _) in unknown.iter().filter(|(name, _)| name != SESSION_ATTRIBUTES) {
        // Its value may be a secret.
        tracing::warn!(parameter = name, "this parameter of the database address has no effect");
    }
    let options: PgConnectOptions = url.as_str().parse().context(INVALID)?;
    let mut options = with_texts(options, &parameters);
    if by_system && variable(ROOT_VARIABLE).is_some() {
        // The library has read a file from the variable, and trusts the authorities of the system beside any others.
        options = options.ssl_root_cert_from_pem(Vec::new());
    }
    // Poolers such as PgBouncer refuse start-up parameters that they do not track. Floats arrive in binary, so its value has no effect.
    Ok(options.extra_float_digits(None))
}

/// The parameters of an address with which the library verifies the server as libpq does.
struct Verified {
    parameters: Vec<(String, String)>,
    /// Whether the authorities of the system were named.
    by_system: bool,
}

/// Takes out `sslrootcert=system`, which the library would take for a file: the server must then prove its name. With other authorities
/// and `sslmode=require`, one of them must have signed its certificate, which the library would not check.
fn verified(
    mut parameters: Vec<(String, String)>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<Verified> {
    let last = |spellings: &[&str], otherwise: &str| {
        let given = parameters.iter().rfind(|(name, _)| spellings.contains(&name.as_str()));
        let value = given.map(|(_, value)| value.clone()).or_else(|| variable(otherwise));
        value.filter(|value| !value.is_empty())
    };
    let (roots, mode) = (last(&ROOT_CERTIFICATES, ROOT_VARIABLE), last(&SSL_MODE, MODE_VARIABLE));
    let is_mode = |name: &str| mode.as_ref().is_some_and(|mode| mode.eq_ignore_ascii_case(name));
    let by_system = roots.as_ref().is_some_and(|roots| roots == SYSTEM);
    let needed = if by_system {
        // Every server would pass, or every one with a certificate.
        anyhow::ensure!(
            mode.is_none() || is_mode("verify-full"),
            "sslrootcert=system in the database URL, or {ROOT_VARIABLE}=system, needs sslmode=verify-full: set it, or leave out \
             sslmode and {MODE_VARIABLE}"
        );
        parameters.retain(|(name, _)| !ROOT_CERTIFICATES.contains(&name.as_str()));
        Some("verify-full")
    } else {
        (roots.is_some() && is_mode("require")).then_some("verify-ca")
    };
    parameters.extend(needed.map(|mode| ("sslmode".to_owned(), mode.to_owned())));
    Ok(Verified { parameters, by_system })
}

/// Sets certificates and keys that stand in the address themselves, which the library has taken for names of files.
fn with_texts(options: PgConnectOptions, parameters: &[(String, String)]) -> PgConnectOptions {
    parameters.iter().filter(|(_, value)| is_pem(value)).fold(options, |options, (name, text)| match name.as_str() {
        "sslcert" | "ssl-cert" => options.ssl_client_cert_from_pem(text),
        "sslkey" | "ssl-key" => options.ssl_client_key_from_pem(text),
        name if ROOT_CERTIFICATES.contains(&name) => options.ssl_root_cert_from_pem(text.clone().into_bytes()),
        _ => options,
    })
}

/// Returns whether a value is the text of a certificate or a key, and no path.
fn is_pem(value: &str) -> bool {
    value.trim_start().starts_with("-----BEGIN")
}

fn is_system(name: &str, value: &str) -> bool {
    ROOT_CERTIFICATES.contains(&name) && value == SYSTEM
}

/// Checks that the files of certificates and keys can be read. The library reads them with each connection, and a failure would look like a
/// database that is away.
fn check_files(url: &str, mode: PgSslMode) -> anyhow::Result<()> {
    if matches!(mode, PgSslMode::Disable | PgSslMode::Allow) {
        return Ok(()); // The library reads none of them.
    }
    // `prefer` does not read the authorities, and neither does `require` without any.
    let verifies = matches!(mode, PgSslMode::VerifyCa | PgSslMode::VerifyFull);
    let url: Url = with_host(url).parse().context(INVALID)?;
    for (name, value) in url.query_pairs() {
        let is_own = OWN_CERTIFICATE.contains(&&*name);
        let named = is_own || (verifies && ROOT_CERTIFICATES.contains(&&*name) && !is_system(&name, &value));
        if !named || is_pem(&value) {
            continue;
        }
        if let Err(error) = std::fs::read(&*value) {
            // The text of a key may stand in place of its path.
            let hidden = name.ends_with("key") && !value.starts_with(['/', '.']);
            let path = if hidden { String::new() } else { format!("{value}: ") };
            anyhow::bail!("{name} names a file that cannot be read: {path}{error}");
        }
    }
    Ok(())
}

/// Returns the name of the database at an address, and the address as variables of libpq.
pub(super) fn variables(url: &str) -> anyhow::Result<(String, Vec<(&'static str, String)>)> {
    let options = connect_options(url)?;
    let user = options.get_username().to_owned();
    let database = options.get_database().unwrap_or(&user).to_owned();
    let socket = options.get_socket().map(|path| path.display().to_string());
    let mut variables = vec![
        ("PGHOST", socket.unwrap_or_else(|| options.get_host().to_owned())),
        ("PGPORT", options.get_port().to_string()),
        ("PGUSER", user),
        ("PGDATABASE", database.clone()),
    ];
    variables.extend(options.get_options().map(|text| ("PGOPTIONS", text.to_owned())));
    // The library does not show these again.
    let url: Url = with_host(url).parse().context(INVALID)?;
    let password =
        url.password().map(|text| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned());
    variables.extend(password.map(|text| ("PGPASSWORD", text)));
    for (name, value) in url.query_pairs() {
        let variable = match &*name {
            "password" => "PGPASSWORD",
            "sslmode" | "ssl-mode" => MODE_VARIABLE,
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" => ROOT_VARIABLE,
            "sslcert" | "ssl-cert" => "PGSSLCERT",
            "sslkey" | "ssl-key" => "PGSSLKEY",
            _ => continue,
        };
        variables.push((variable, value.into_owned()));
    }
    Ok((database, variables))
}

/// Returns whether the library has use for a parameter of the address.
fn is_known(name: &str) -> bool {
    const KNOWN: [&str; 18] = [
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        STATEMENT_CACHE,
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];
    KNOWN.contains(&name) || name.starts_with("options[")
}

/// Names a host where there are credentials without one, as in `postgres://user:password@/db?host=/socket`, which is no URL
/// otherwise. The parameter `host` wins over it.
fn with_host(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((credentials, host)) if host.is_empty() || host.starts_with(':') => {
            format!("{scheme}://{credentials}@localhost{host}{path}")
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_socket_may_be_named_beside_credentials_without_a_host() {
        let options = connect_options("postgres://user:pa%40ss@/db?host=/cloudsql/project:region:name").expect("valid");
        assert_eq!(options.get_socket().map(|path| path.as_path()), Some("/cloudsql/project:region:name".as_ref()));
        assert_eq!((options.get_username(), options.get_database()), ("user", Some("db")));
    }

    #[test]
    fn only_a_missing_host_is_filled_in() {
        for (url, expected) in [
            ("postgres://user@/db", "postgres://user@localhost/db"),
            ("postgres://user:a@b@/db", "postgres://user:a@b@localhost/db"),
            ("postgres://user@:6432/db", "postgres://user@localhost:6432/db"),
            ("postgres://user@?host=/run", "postgres://user@localhost?host=/run"),
            ("postgres://user@db.example.com/db", "postgres://user@db.example.com/db"),
            ("postgres:///db?host=/run", "postgres:///db?host=/run"),
            ("postgres://db.example.com", "postgres://db.example.com"),
        ] {
            assert_eq!(with_host(url), expected);
        }
    }

    #[test]
    fn the_attributes_of_sessions_are_accepted_beside_other_parameters() {
        let url = "postgres://user@db.example.com/db?target_session_attrs=read-write&application_name=a%26b";
        let options = connect_options(url).expect("valid");
        assert_eq!(options.get_application_name(), Some("a&b"));
        connect_options("postgres://db.example.com/db?target_session_attrs=read-write").expect("valid");
    }

    #[test]
    fn parameters_without_effect_do_not_reach_the_library_which_logs_their_values() {
        for name in ["sslpassword", "passwd", "connect_timeout", "channel_binding", "Host"] {
            assert!(!is_known(name), "{name}");
        }
        let url = "postgres://user@/db?sslpassword=hunter2&host=/run&options[geqo]=off&sslpassword=hunter3";
        let options = connect_options(url).expect("valid");
        assert_eq!(options.get_socket().map(|path| path.as_path()), Some("/run".as_ref()));
        assert_eq!(options.get_options(), Some("-c geqo=off"));
    }

    #[test]
    fn a_connection_that_is_to_keep_no_statement_closes_each_by_keeping_one() {
        for (given, kept) in [("?statement-cache-capacity=0", "1"), ("?statement-cache-capacity=7", "7"), ("", "100")] {
            let options = connect_options(&format!("postgres://user@db.example.com/db{given}")).expect("valid");
            let address = options.to_url_lossy();
            let found = address.query_pairs().find(|(name, _)| name == STATEMENT_CACHE).map(|(_, value)| value);
            assert_eq!(found.as_deref(), Some(kept), "{given}");
        }
    }

    #[test]
    fn the_authorities_of_the_system_are_no_file_and_need_the_name_of_the_server() {
        let mode = |parameters: &str| {
            let url = format!("postgres://user:pw@db.example.com/app?{parameters}");
            let options = connect_options(&url)?;
            check_files(&url, options.get_ssl_mode())?;
            assert!(!options.to_url_lossy().query_pairs().any(|(name, _)| name == "sslrootcert"), "{parameters}");
            anyhow::Ok(options.get_ssl_mode())
        };
        for parameters in [
            "sslmode=verify-full&sslrootcert=system",
            "ssl-root-cert=system&ssl-mode=VERIFY-FULL",
            "sslrootcert=system",
            "ssl-ca=system&application_name=a",
        ] {
            let mode = mode(parameters).expect(parameters);
            assert!(matches!(mode, PgSslMode::VerifyFull), "{parameters}: {mode:?}");
        }
        for weak in ["disable", "prefer", "require", "verify-ca"] {
            let error = mode(&format!("sslmode={weak}&sslrootcert=system")).expect_err(weak);
            assert!(error.to_string().contains("needs sslmode=verify-full"), "{error}");
        }
        assert!(matches!(mode("sslmode=require").expect("valid"), PgSslMode::Require));
        let (_, variables) = variables("postgres://db.example.com/app?sslrootcert=system").expect("valid");
        assert!(variables.contains(&("PGSSLROOTCERT", "system".to_owned())), "libpq knows it");
    }

    #[test]
    fn certificates_and_keys_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, "").expect("written");
        let check = |name: &str, value: &str| {
            let mut url: Url = "postgres://user@db.example.com/app".parse().expect("valid");
            url.query_pairs_mut().append_pair(name, value);
            check_files(url.as_str(), PgSslMode::VerifyFull).map_err(|error| error.to_string())
        };
        let missing = folder.path().join("none.pem").display().to_string();
        for name in ROOT_CERTIFICATES.into_iter().chain(OWN_CERTIFICATE) {
            let error = check(name, &missing).expect_err(name);
            let expected = format!("{name} names a file that cannot be read: {missing}: ");
            assert!(error.starts_with(&expected), "{error}");
            check(name, &folder.path().display().to_string()).expect_err("a folder");
            check(name, &file.display().to_string()).expect("it can be read");
            check(name, "-----BEGIN X-----\nMII=\n-----END X-----\n").expect("no file");
        }
        check("ssl", &missing).expect("another parameter");
        let error = check("sslkey", "MHcCAQEEIB").expect_err("no file");
        assert!(!error.contains("MHcC"), "{error}");
        let url = format!("postgres://db.example.com/app?sslrootcert={missing}");
        check_files(&url, PgSslMode::Disable).expect("without TLS nothing reads it");
        check_files(&url, PgSslMode::Prefer).expect("without verification nothing reads it");
    }

    #[test]
    fn the_text_of_a_certificate_or_a_key_is_no_path() {
        let text = "-----BEGIN X-----\nMII=\n-----END X-----\n";
        for (parameter, shown) in [("sslrootcert", "sslrootcert"), ("ssl-cert", "sslcert"), ("sslkey", "sslkey")] {
            let mut url: Url = "postgres://user@db.example.com/app".parse().expect("valid");
            url.query_pairs_mut().append_pair(parameter, text);
            let options = connect_options(url.as_str()).expect("valid").to_url_lossy();
            let found = options.query_pairs().find(|(name, _)| name == shown).map(|(_, value)| value);
            assert_eq!(found.as_deref(), Some(text), "{parameter}");
        }
    }

    #[test]
    fn the_environment_counts_where_the_address_says_nothing_and_authorities_are_always_used() {
        for (parameters, roots, mode, expected) in [
            ("", Some("system"), None, "verify-full"),
            ("?sslmode=verify-full", Some("system"), None, "verify-full"),
            ("", Some("system"), Some("Verify-Full"), "verify-full"),
            ("", Some("system"), Some(""), "verify-full"),
            ("?sslrootcert=system", Some("/ca.pem"), None, "verify-full"),
            ("?sslmode=require&sslrootcert=/ca.pem", None, None, "verify-ca"),
            ("?sslmode=REQUIRE&ssl-ca=/ca.pem", None, None, "verify-ca"),
            ("?sslmode=require", Some("/ca.pem"), None, "verify-ca"),
            ("?sslrootcert=/ca.pem", None, Some("require"), "verify-ca"),
            ("?sslrootcert=/ca.pem&sslmode=verify-full", Some("system"), None, "verify-full"),
            ("?sslrootcert=/ca.pem&sslmode=disable", Some("system"), None, "disable"),
            ("?sslmode=require", None, None, "require"),
            ("?sslmode=require&sslrootcert=", None, None, "require"),
            ("?sslmode=prefer&sslrootcert=/ca.pem", None, None, "prefer"),
        ] {
            let url = format!("postgres://user@db.example.com/app{parameters}");
            let variable = |name: &str| match name {
                "PGSSLROOTCERT" => roots.map(str::to_owned),
                "PGSSLMODE" => mode.map(str::to_owned),
                _ => None,
            };
            let options = connect_options_beside(&url, &variable).expect(parameters).to_url_lossy();
            let found = |name: &str| options.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value);
            assert_eq!(found("sslmode").as_deref(), Some(expected), "{parameters} {roots:?} {mode:?}");
            assert_ne!(found("sslrootcert").as_deref(), Some("file: system"), "{parameters} {roots:?} {mode:?}");
        }
        for (parameters, mode) in [("?sslmode=require", None), ("", Some("verify-ca"))] {
            let url = format!("postgres://user@db.example.com/app{parameters}");
            let variable = |name: &str| match name {
                "PGSSLROOTCERT" => Some("system".to_owned()),
                "PGSSLMODE" => mode.map(str::to_owned),
                _ => None,
            };
            let error = connect_options_beside(&url, &variable).expect_err("weaker than the authorities need");
            assert!(error.to_string().contains("PGSSLROOTCERT=system, needs sslmode=verify-full"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_start_without_its_certificates_fails_at_once() {
        for mode in ["verify-full", "verify-ca", "require"] {
            let url = format!("postgres://user@127.0.0.1:1/app?sslmode={mode}&sslrootcert=/no/such/ca.pem");
            let error = open(&url, 33, Symptoms::default()).await.map(drop).expect_err("no such file").to_string();
            assert!(error.starts_with("sslrootcert names a file that cannot be read: /no/such/"), "{mode}: {error}");
        }
    }

    #[tokio::test]
    async fn a_connection_starts_without_parameters_that_poolers_refuse() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let options = connect_options(&format!("postgres://user@{address}/db?sslmode=disable")).expect("valid");
        let connecting = tokio::spawn(async move { options.connect().await.map(drop) });
        let (mut client, _) = listener.accept().await.expect("it connects");
        let length = client.read_u32().await.expect("a start-up message");
        let mut message = vec![0; length as usize - 4];
        client.read_exact(&mut message).await.expect("the rest of it");
        drop(client);
        assert!(connecting.await.expect("no panic").is_err(), "there is no answer");
        let message = String::from_utf8_lossy(&message);
        assert!(message.contains("user") && !message.contains("extra_float_digits"), "{message:?}");
    }
}
