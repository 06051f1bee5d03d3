//! Webhook endpoints.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{TenantId, WebhookId};
use switchhook_core::webhook::share::Standing;
use switchhook_core::webhook::{EventFilter, SigningSecret};
use switchhook_vault::Vault;
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Tx, columns, execute, locking, run, sealed};

/// How long a replaced secret still signs beside its successor.
pub const OLD_SECRET_SIGNS_FOR: Duration = Duration::from_secs(24 * 3600);

/// The reason shown while an endpoint is being deleted.
const DELETING_REASON: &str = "It is being deleted. Delete it again if it stays.";

/// A row of `webhooks`.
#[derive(Clone, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct WebhookRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub url: String,
    pub events: Json<EventFilter>,
    pub enabled: bool,
    pub disabled_reason: Option<String>,
    pub proven: bool,
    pub secret: Vec<u8>,
    pub previous_secret: Option<Vec<u8>>,
    pub previous_until: Option<i64>,
    /// Like those, of the rotation before.
    pub earlier_secret: Option<Vec<u8>>,
    pub earlier_until: Option<i64>,
    pub failing_since: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl WebhookRow {
    /// Creates an enabled endpoint for every event.
    #[must_use]
    pub fn new(
        id: WebhookId,
        tenant: TenantId,
        url: String,
        vault: &Vault,
        secret: &SigningSecret,
        now: Timestamp,
    ) -> Self {
        let mut row = Self {
            id: id.uuid(),
            tenant_id: tenant.uuid(),
            url,
            events: Json::default(),
            enabled: true,
            disabled_reason: None,
            proven: false,
            secret: Vec::new(),
            previous_secret: None,
            previous_until: None,
            earlier_secret: None,
            earlier_until: None,
            failing_since: None,
            created_at: now.as_micros(),
            updated_at: now.as_micros(),
        };
        row.secret = row.sealed(vault, secret);
        row
    }

    /// Replaces the secret; it still signs for [`OLD_SECRET_SIGNS_FOR`], and so does the one before for the rest of its time.
    pub fn rotate(&mut self, vault: &Vault, secret: &SigningSecret, now: Timestamp) {
        let sealed = self.sealed(vault, secret);
        (self.earlier_secret, self.earlier_until) = (self.previous_secret.take(), self.previous_until);
        self.previous_secret = Some(std::mem::replace(&mut self.secret, sealed));
        self.previous_until = Some((now + OLD_SECRET_SIGNS_FOR).as_micros());
    }

    /// Returns its recent behaviour.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.failing_since, self.proven) {
            (Some(_), _) => Standing::Failing,
            (None, true) => Standing::Well,
            (None, false) => Standing::Unproven,
        }
    }

    /// Enables or disables it and resets its failures.
    pub fn enable(&mut self, enabled: bool) {
        if self.enabled != enabled {
            self.enabled = enabled;
            self.disabled_reason = None;
            self.failing_since = None;
        }
    }

    /// Returns the signing secrets at `now`, newest first.
    ///
    /// # Errors
    /// If a secret was sealed with another key or changed.
    pub fn secrets(&self, vault: &Vault, now: Timestamp) -> anyhow::Result<Vec<SigningSecret>> {
        let signs = |until: Option<i64>| until.is_some_and(|until| now.as_micros() < until);
        let previous = self.previous_secret.iter().filter(|_| signs(self.previous_until));
        let earlier = self.earlier_secret.iter().filter(|_| signs(self.earlier_until));
        let all = std::iter::once(&self.secret).chain(previous).chain(earlier);
        all.map(|sealed| self.open(vault, sealed)).collect()
    }

    fn open(&self, vault: &Vault, sealed: &[u8]) -> anyhow::Result<SigningSecret> {
        let plain = vault.open(&self.context(), sealed)?;
        let text = std::str::from_utf8(plain.reveal()).context("the stored signing secret is not text")?;
        Ok(SigningSecret::parse(text)?)
    }

    fn sealed(&self, vault: &Vault, secret: &SigningSecret) -> Vec<u8> {
        vault.seal(&self.context(), secret.reveal().as_bytes())
    }

    /// Returns the sealing context; secrets open only in this row.
    fn context(&self) -> String {
        sealed::SECRET.context(self.tenant_id, self.id)
    }
}

/// Inserts a new row.
///
/// # Errors
/// When the database fails.
pub async fn insert(tx: &mut Tx, row: &WebhookRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO webhooks (id, tenant_id, url, events, enabled, secret, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    execute!(tx, SQL;
        row.id, row.tenant_id, &row.url, &row.events, row.enabled, &row.secret, row.created_at, row.updated_at
    )
    .map(drop)
}

/// Updates the mutable columns of a row.
///
/// # Errors
/// When the database fails.
pub async fn update(tx: &mut Tx, row: &WebhookRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE webhooks SET url = $3, events = $4, enabled = $5, secret = $6, previous_secret = $7, \
        previous_until = $8, updated_at = $9, disabled_reason = $10, earlier_secret = $11, earlier_until = $12, \
        failing_since = CASE WHEN enabled = $5 THEN failing_since ELSE NULL END WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL;
        row.tenant_id, row.id, &row.url, &row.events, row.enabled, &row.secret, &row.previous_secret,
        row.previous_until, row.updated_at, &row.disabled_reason, &row.earlier_secret, row.earlier_until
    )
    .map(drop)
}

/// Returns an endpoint.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: WebhookId) -> Result<Option<WebhookRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(webhooks), " FROM webhooks WHERE tenant_id = $1 AND id = $2");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Like [`get`], and locks it until the transaction ends.
///
/// # Errors
/// When the database fails.
pub async fn lock(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<Option<WebhookRow>, sqlx::Error> {
    let sql = locking!(
        tx,
        concat!("SELECT ", columns!(webhooks), " FROM webhooks WHERE tenant_id = $1 AND id = $2"),
        " FOR NO KEY UPDATE"
    );
    run!(tx, query_as.fetch_optional, sql; tenant.uuid(), id.uuid())
}

/// Returns a page of a tenant's endpoints, newest first.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<WebhookRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(webhooks),
        " FROM webhooks WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    );
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &WebhookRow| row.id))
}

/// Disables an endpoint before its deletion. Returns whether it exists.
///
/// # Errors
/// When the database fails.
pub async fn close(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "UPDATE webhooks SET enabled = FALSE, disabled_reason = $3 WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid(), DELETING_REASON).map(|rows| rows > 0)
}

/// Deletes an endpoint and its remaining deliveries. Returns whether it existed.
///
/// # Errors
/// When the database fails.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: WebhookId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid()).map(|rows| rows > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::store::testing::now;

    #[test]
    fn a_replaced_secret_signs_for_a_day_and_secrets_open_in_their_row_only() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let vault = Config::for_tests(folder.path()).open_vault().expect("a key file");
        let (old, new) = (SigningSecret::generate([1; 32]), SigningSecret::generate([2; 32]));
        let row = |id: [u8; 10]| {
            let (id, tenant) = (WebhookId::new(now(), id), TenantId::new(now(), [0; 10]));
            WebhookRow::new(id, tenant, "https://example.com/".to_owned(), &vault, &old, now())
        };
        let mut rotated = row([1; 10]);
        rotated.rotate(&vault, &new, now());
        let last = now() + OLD_SECRET_SIGNS_FOR - Duration::from_micros(1);
        assert_eq!(rotated.secrets(&vault, last).expect("ours"), [new.clone(), old.clone()]);
        assert_eq!(rotated.secrets(&vault, now() + OLD_SECRET_SIGNS_FOR).expect("ours"), std::slice::from_ref(&new));

        // The answer to a rotation may be lost, and the request repeated.
        let (hour, newest) = (Duration::from_secs(3_600), SigningSecret::generate([3; 32]));
        rotated.rotate(&vault, &newest, now() + hour);
        assert_eq!(rotated.secrets(&vault, last).expect("ours"), [newest.clone(), new.clone(), old.clone()]);
        assert_eq!(rotated.secrets(&vault, now() + OLD_SECRET_SIGNS_FOR).expect("ours"), [newest.clone(), new]);
        assert_eq!(rotated.secrets(&vault, now() + hour + OLD_SECRET_SIGNS_FOR).expect("ours"), [newest]);

        let mut thief = row([2; 10]);
        assert_eq!(thief.secrets(&vault, now()).expect("its own"), [old]);
        thief.secret = rotated.secret;
        assert!(thief.secrets(&vault, now()).is_err(), "copied from another row");
    }
}
