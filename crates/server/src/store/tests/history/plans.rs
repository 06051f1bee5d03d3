//! Which lines of a query plan read a past.

use super::one_line;
use crate::store::testing::TestStore;
use crate::store::{Engine, columns};

/// Tables with rows of the past.
pub(super) const GROWING: [&str; 20] = [
    "calls",
    "events",
    "transcript_entries",
    "deliveries",
    "delivery_attempts",
    "idempotency_keys",
    "dialed_numbers",
    "admitted_requests",
    "call_search_pending",
    "call_search_segments",
    "call_search_postings",
    "call_sums",
    "response_times",
    "tool_calls",
    "call_decisions",
    "call_inputs",
    "agent_versions",
    "people",
    "sessions",
    "used_sign_ins",
];

/// Indexes that hold only what is live, due or waiting: reading all of one is what they are for.
const LIVE: [&str; 15] = [
    "calls_live",
    "calls_live_by_tenant",
    "calls_live_by_connection",
    "calls_to_hang_up",
    "calls_to_erase",
    "call_search_pending_by_end",
    "deliveries_due",
    "deliveries_first",
    "deliveries_again",
    "deliveries_sending",
    "deliveries_open",
    "deliveries_to_erase",
    "idempotency_keys_by_age",
    // Ended rows are deleted soon.
    "sessions_by_use",
    "used_sign_ins_by_age",
];

/// Columns that only identify an owner: a condition on nothing else reads all rows that the owner ever had.
const OWNERS: [&str; 3] = ["tenant_id", "webhook_id", "connection_id"];

/// Statements that read the newest or oldest rows of an owner and stop: pages, and the deletion of an endpoint. Their beginnings.
const PAGES: [&str; 18] = [
    "SELECT * FROM (SELECT id, webhook_id, call_id, event, state, attempts, next_attempt_at, created_at FROM deliveries WHERE 1 = 1",
    "SELECT id FROM calls WHERE tenant_id = $ AND id >= $ AND id <= $",
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE tenant_id = $ AND webhook_id = $ LIMIT",
    // The oldest of everybody's, a batch at a time.
    "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE id > $ AND id < $",
    "DELETE FROM dialed_numbers WHERE id IN (SELECT id FROM dialed_numbers WHERE dialed_at <= $ LIMIT",
    "DELETE FROM call_inputs WHERE call_id IN (SELECT call_id FROM call_inputs WHERE kept_at <= $ ORDER BY kept_at LIMIT",
    // The newest that an operator replays.
    "SELECT call_id FROM call_inputs ORDER BY kept_at DESC LIMIT",
    "SELECT call_id FROM call_inputs JOIN calls ON calls.id = call_inputs.call_id WHERE calls.agent_id = $ ORDER BY",
    // The people of one tenant are few, and all of a deactivated tenant's sessions end.
    concat!("SELECT ", columns!(people), " FROM people WHERE tenant_id = $ AND id < $ ORDER BY id DESC LIMIT"),
    "SELECT COUNT(*) FROM people WHERE tenant_id = $",
    "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE tenant_id = $ LIMIT",
    "SELECT (SELECT COUNT(*) FROM agents WHERE tenant_id = $), (SELECT COUNT(*) FROM connections WHERE tenant_id = $)",
    // After all but the last of its deliveries are deleted.
    "DELETE FROM webhooks",
    // The last minute of a tenant's requests; older ones are deleted as new ones come.
    "SELECT latest.number, latest.admitted_at, (SELECT number FROM admitted_requests",
    "DELETE FROM admitted_requests WHERE tenant_id = $ AND number < $ AND number < $ + (SELECT MIN(number) FROM admitted_requests",
    // Of what is pending: at most a segment and what ended in the last half minute. Of segments: one row for a thousand calls.
    "SELECT tenant_id, COUNT(*) FROM call_search_pending GROUP BY",
    "SELECT COUNT(*) FROM (SELECT 1 FROM call_search_pending WHERE tenant_id = $ LIMIT",
    "SELECT call_id FROM call_search_pending WHERE tenant_id = $ ORDER BY call_id LIMIT",
];

/// Columns by which indexes are searched.
const COLUMNS: [&str; 24] = [
    "id",
    "email",
    "invitation",
    "invited_by",
    "expires_at",
    "subject",
    "hash",
    "person_id",
    "call_id",
    "delivery_id",
    "carrier_call_id",
    "agent_version",
    "version",
    "dialing_at",
    "number",
    "key",
    "created_at",
    "erased_at",
    "last_ended_at",
    "last_id",
    "segment",
    "hour",
    "term",
    "rowid",
];

/// The lines of the plans of a statement that read a past.
pub(super) async fn scans(test: &TestStore, sql: &str) -> Vec<String> {
    let plain: String = one_line(&plain(sql));
    if PAGES.iter().any(|page| plain.starts_with(page)) {
        return Vec::new();
    }
    let mut tx = test.store.begin().await.expect("a transaction");
    match tx.engine() {
        Engine::Sqlite(c) => {
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
            let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).fetch_all(c).await.expect("a plan");
            plan.into_iter().map(|(.., line)| line).filter(|line| sqlite_scans(sql, line)).collect()
        }
        Engine::Postgres(c) => {
            let prepare = sqlx::AssertSqlSafe(format!("PREPARE walk{} AS {sql}", parameter_types(sql)));
            sqlx::raw_sql(prepare).execute(&mut *c).await.expect("prepared");
            // The tables of this test are small: force the use of an index where one is possible.
            const SETTINGS: &str = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";
            sqlx::raw_sql(SETTINGS).execute(&mut *c).await.expect("set");
            const COUNT: &str =
                "SELECT COALESCE(cardinality(parameter_types), 0) FROM pg_prepared_statements WHERE name = 'walk'";
            let parameters: i32 = sqlx::query_scalar(COUNT).fetch_one(&mut *c).await.expect("a count");
            let nulls = vec!["NULL"; usize::try_from(parameters).expect("a count")].join(", ");
            let nulls = if nulls.is_empty() { String::new() } else { format!("({nulls})") };
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN (FORMAT JSON) EXECUTE walk{nulls}"));
            let plan: serde_json::Value = sqlx::query_scalar(explain).fetch_one(&mut *c).await.expect("a plan");
            sqlx::raw_sql("DEALLOCATE walk").execute(c).await.expect("deallocated");
            let mut found = Vec::new();
            postgres_scans(&plan, "", &mut found);
            found
        }
    }
}

/// Of rows of VALUES and of a CASE, PostgreSQL must be given the types of parameters; elsewhere it infers them.
fn parameter_types(sql: &str) -> String {
    let row: &[&str] = match sql {
        sql if sql.starts_with("WITH busy") => &["BIGINT"],
        sql if sql.starts_with("UPDATE deliveries SET state = new.column3") => &["UUID", "BIGINT", "TEXT", "BIGINT"],
        sql if sql.starts_with("UPDATE delivery_attempts SET duration_ms = new.column3") => {
            &["UUID", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT"]
        }
        _ => return String::new(),
    };
    let parameters = sql.matches('$').count();
    format!("({})", row.iter().copied().cycle().take(parameters).collect::<Vec<_>>().join(", "))
}

/// A statement with the numbers of its parameters left out.
pub(super) fn plain(sql: &str) -> String {
    let mut digits = false;
    sql.chars()
        .filter(|c| {
            let skip = digits && c.is_ascii_digit();
            digits = *c == '$' || *c == '?' || skip;
            !skip
        })
        .map(|c| if c == '?' { '$' } else { c })
        .collect()
}

/// `SCAN table …` and `SEARCH table USING … INDEX index (columns)`, of https://sqlite.org/eqp.html.
fn sqlite_scans(sql: &str, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (Some(verb @ (&"SCAN" | &"SEARCH")), Some(name)) = (words.first(), words.get(1)) else { return false };
    if !GROWING.contains(&table(sql, name)) {
        return false;
    }
    let index = words.iter().position(|word| *word == "INDEX").and_then(|at| words.get(at + 1));
    if index.is_some_and(|index| LIVE.contains(index)) {
        return false;
    }
    let conditions = line.rsplit_once('(').map_or("", |(_, conditions)| conditions);
    *verb == "SCAN" || !narrow(conditions)
}

/// The table that a name in a plan is of: plans say the alias.
fn table<'s>(sql: &'s str, name: &'s str) -> &'s str {
    let words: Vec<&str> = sql.split([' ', '(', ')', ',']).filter(|word| !word.is_empty() && *word != "AS").collect();
    let before = words.windows(2).find(|pair| pair[1] == name && GROWING.contains(&pair[0]));
    before.map_or(name, |pair| pair[0])
}

/// Returns whether conditions are on more than whose a row is, or on more than a range of everybody's ids.
fn narrow(conditions: &str) -> bool {
    let names = || conditions.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|name| !name.is_empty());
    let owned = names().any(|name| OWNERS.contains(&name));
    let one = conditions.contains("id = ") || conditions.contains("id=");
    names().any(|name| COLUMNS.contains(&name) && (name != "id" || owned || one))
}

/// Adds those nodes of a plan that read a past. Scans that make a bitmap do not say their table, which is that of `parent`.
fn postgres_scans(plan: &serde_json::Value, parent: &str, found: &mut Vec<String>) {
    match plan {
        serde_json::Value::Array(all) => all.iter().for_each(|plan| postgres_scans(plan, parent, found)),
        serde_json::Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
            let (kind, table, index) = (text("Node Type"), text("Relation Name"), text("Index Name"));
            let table = if table.is_empty() { parent } else { table };
            let scan = match kind {
                "Seq Scan" => true,
                "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
                    !LIVE.contains(&index) && !narrow(text("Index Cond"))
                }
                _ => false,
            };
            if scan && GROWING.contains(&table) {
                found.push(format!("{kind} of {table} {index} {}", text("Index Cond")));
            }
            fields.values().for_each(|plan| postgres_scans(plan, table, found));
        }
        _ => {}
    }
}
