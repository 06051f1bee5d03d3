//! `GET /v1/calls/{id}/deliveries`: where the call's events went.

use axum::Json;
use serde::Serialize;
use switchhook_core::id::CallId;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::PathId;
use crate::http::response::{JsonResponse, List};
use crate::http::webhooks::DeliveryWithAttempts;
use crate::store::page::PageRequest;
use crate::store::{calls, deliveries};

/// Delivery of one of the call's events.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallDelivery {
    /// The endpoint.
    webhook_id: Uuid,
    /// Current URL.
    #[schema(format = "uri", example = "https://example.com/hooks/calls")]
    url: String,
    #[serde(flatten)]
    delivery: DeliveryWithAttempts,
}

/// List a call's deliveries.
///
/// Lists webhook deliveries of its events, newest first, with their attempts.
#[utoipa::path(
    get, path = "/calls/{id}/deliveries", operation_id = "list_call_deliveries", tag = "Calls",
    params(("id" = Uuid, Path, description = "The call"), PageRequest),
    responses((status = 200, description = "A page of deliveries", body = List<CallDelivery>))
)]
pub(super) async fn list(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    page: Result<PageRequest, ApiError>,
) -> JsonResponse<List<CallDelivery>> {
    let mut conn = state.store.read().await?;
    calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?;
    let page = deliveries::of_call(&mut conn, tenant.id, id, page?).await?;
    let ids: Vec<Uuid> = page.rows.iter().map(|row| row.delivery.id).collect();
    let mut attempts = deliveries::attempts_of(&mut conn, tenant.id, &ids).await?;
    let shown = |row: deliveries::DeliveryOfCall| {
        let attempts = attempts.remove(&row.delivery.id).unwrap_or_default();
        CallDelivery {
            webhook_id: row.delivery.webhook_id,
            url: row.url,
            delivery: DeliveryWithAttempts::new(row.delivery, attempts),
        }
    };
    Ok(Json(List::of(page, shown)))
}
