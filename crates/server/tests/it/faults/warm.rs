//! The first request after a start.

use phonenumber::metadata::DATABASE;

use crate::harness::TestService;

#[tokio::test]
async fn the_numbering_plans_are_built_before_the_service_is_ready() {
    let service = TestService::start().await;
    assert!(once_cell::sync::Lazy::get(&DATABASE).is_some());
    service.stop().await;
}
