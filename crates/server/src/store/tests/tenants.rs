//! Operations of an operator on tenants and their keys.

use switchhook_core::api_key::{Environment, PresentedKey};
use switchhook_core::quota::QuotaLimits;

use crate::config::Config;
use crate::store::bounds::Stored;
use crate::store::tenants::{MonthlyCap, OwnLimits};
use crate::store::testing::{TestStore, now, stores, tenant};
use crate::store::{api_keys, tenants};

#[tokio::test]
async fn own_limits_stand_before_the_configured_ones_one_by_one() {
    for TestStore { store, engine, .. } in stores().await {
        let mut config = Config::for_tests("/nonexistent");
        config.monthly_calls = Some(1_000);
        let own = OwnLimits { rate_per_minute: Some(7), ..OwnLimits::default() };
        let id = tenant(&store, own).await;
        let row = tenants::get(&mut store.read().await.expect("a connection"), id).await.expect("a read");
        let limits = row.expect("the tenant").limits(&config);
        let expected = QuotaLimits { rate_per_minute: 7, concurrent_calls: 10, monthly_calls: Some(1_000) };
        assert_eq!(limits, expected, "{engine}");

        let mut tx = store.begin().await.expect("a transaction");
        let more =
            OwnLimits { monthly_calls: Some(MonthlyCap::None), concurrent_calls: Some(3), ..OwnLimits::default() };
        let row = tenants::set_limits_for_operator(&mut tx, id, more, now()).await.expect("changed").expect("a tenant");
        tx.commit().await.expect("committed");
        let expected = QuotaLimits { rate_per_minute: 7, concurrent_calls: 3, monthly_calls: None };
        assert_eq!(row.limits(&config), expected, "{engine}");
    }
}

#[tokio::test]
async fn limits_of_what_is_stored_are_set_one_by_one_and_restored() {
    for TestStore { store, engine, .. } in stores().await {
        let id = tenant(&store, OwnLimits::default()).await;
        let limits = async |changes: &[(Stored, Option<i64>)]| {
            let mut tx = store.begin().await.expect("a transaction");
            tenants::set_bounds_for_operator(&mut tx, id, changes, now()).await.expect("set");
            tx.commit().await.expect("committed");
            let row = tenants::get(&mut store.read().await.expect("a connection"), id).await.expect("a read");
            let row = row.expect("the tenant");
            (row.bound(Stored::Agents), row.bound(Stored::People))
        };
        assert_eq!(limits(&[]).await, (500, 200), "{engine}");
        assert_eq!(limits(&[(Stored::Agents, Some(7))]).await, (7, 200), "{engine}");
        assert_eq!(limits(&[(Stored::People, Some(0))]).await, (7, 0), "{engine}");
        assert_eq!(limits(&[(Stored::Agents, None)]).await, (500, 0), "{engine}");
        assert_eq!(limits(&[(Stored::People, None)]).await, (500, 200), "{engine}");
    }
}

#[tokio::test]
async fn a_key_is_found_by_its_prefix_and_is_nowhere_in_the_database() {
    for TestStore { store, engine, .. } in stores().await {
        let id = tenant(&store, OwnLimits::default()).await;
        let mut tx = store.begin().await.expect("a transaction");
        let issued = api_keys::issue(&mut tx, id, Environment::Dev, None, None, now()).await.expect("a key");
        tx.commit().await.expect("committed");
        let presented = PresentedKey::parse(issued.key.reveal()).expect("our own key");
        let mut conn = store.read().await.expect("a connection");
        let found = api_keys::find_for_authentication(&mut conn, presented.prefix()).await.expect("a read");
        let found = found.expect("the credential");
        assert!(found.accepts(presented.hash(), now()), "{engine}");
        assert_eq!(found.tenant_id, id.uuid(), "{engine}");
        let printed = format!("{issued:?}");
        assert!(!printed.contains(issued.key.reveal()), "{printed}");
    }
}
