//! Checks carriers: whether they can reach this service, and where they send inbound calls.

use std::time::Duration;

use switchhook_carriers::callback::InboundRoute;
use switchhook_core::id::ConnectionId;
use switchhook_core::phone_number::PhoneNumber;
use url::Url;

use super::Finding;
use crate::calls::setup::Setup;
use crate::catalogue::CatalogueEntry;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::{Store, numbers};

/// Maximum numbers checked per connection.
const MAX_NUMBERS: i64 = 100;
/// Timeout per number.
const NUMBER_TIMEOUT: Duration = Duration::from_secs(15);

/// Checks a carrier connection beyond its credentials.
pub(super) async fn numbers(setup: &Setup, store: &Store, row: &ConnectionRow) -> Result<Vec<Finding>, sqlx::Error> {
    let Some(topic) = CatalogueEntry::named(&row.provider).and_then(CatalogueEntry::inbound_topic) else {
        return Ok(Vec::new());
    };
    let addresses = setup.addresses();
    let mut findings: Vec<_> = unreachable(&row.name, addresses.public_url()).into_iter().collect();
    let id = ConnectionId::from_uuid(row.id);
    let wanted = addresses.for_connection(&row.provider, id).report(topic);
    let found = numbers::list_of_connection(&mut store.read().await?, id, MAX_NUMBERS).await?;
    let Ok(carrier) = setup.carrier_of(row) else { return Ok(findings) };
    let Some(webhooks) = &carrier.webhooks else { return Ok(findings) };
    for number in found {
        let Ok(dialled) = number.number.parse::<PhoneNumber>() else { continue };
        let inbound = match tokio::time::timeout(NUMBER_TIMEOUT, webhooks.inbound_route(&dialled)).await {
            Ok(Ok(inbound)) => inbound,
            Ok(Err(error)) => {
                let detail = format!(
                    "The carrier did not report where it sends the number's calls: {}.",
                    error.message.trim_end_matches('.')
                );
                findings.push(Finding::warning(
                    name(&number),
                    detail,
                    "Fix the connection first, then run doctor again.",
                ));
                break;
            }
            Err(_) => break,
        };
        findings.extend(inbound_finding(&number, &inbound, &wanted));
    }
    Ok(findings)
}

fn name(number: &NumberRow) -> String {
    format!("number {}", number.label.clone().unwrap_or_else(|| number.id.to_string()))
}

/// Carriers require TLS for media streams.
fn unreachable(connection: &str, public_url: &str) -> Option<Finding> {
    let secure = public_url.parse::<Url>().is_ok_and(|url| url.scheme() == "https");
    (!secure).then(|| {
        Finding::problem(
            format!("public address for {connection}"),
            format!("{public_url} is not https://. Carriers open media streams over wss:// only."),
            "Set SWITCHHOOK_PUBLIC_URL to an https:// address of this service: a TLS proxy or a tunnel (docs/carriers.md).",
        )
    })
}

fn inbound_finding(number: &NumberRow, inbound: &InboundRoute, wanted: &str) -> Option<Finding> {
    let fix = format!("PATCH /v1/numbers/{} with {{\"configure_carrier\": true}}.", number.id);
    let unanswered = number.inbound_agent_id.is_none();
    match inbound {
        InboundRoute::NotOnAccount => Some(Finding::warning(
            name(number),
            "The carrier's account does not have this number: nobody can call it, and calls from it need a verified caller ID.",
            "Buy it there, verify it as a caller ID, or delete the number here.",
        )),
        InboundRoute::To(url) if url == wanted => Some(Finding::ok(name(number), "The carrier sends its calls here.")),
        InboundRoute::Unset | InboundRoute::To(_) if unanswered => None,
        InboundRoute::Unset => Some(Finding::problem(
            name(number),
            "The carrier does not forward its calls, although an agent is assigned.",
            fix,
        )),
        InboundRoute::To(url) => {
            let host = url.parse::<Url>().ok().and_then(|url| url.host_str().map(str::to_owned));
            let where_to = host.unwrap_or_else(|| "an invalid address".to_owned());
            let detail = format!("The carrier sends its calls to another address, at {where_to}.");
            Some(Finding::problem(name(number), detail, fix))
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn a_number_whose_calls_go_elsewhere_is_found() {
        let wanted = "https://voice.example.com/carrier/twilio/connections/x/voice";
        let number = |agent: Option<Uuid>| NumberRow {
            id: Uuid::nil(),
            tenant_id: Uuid::nil(),
            number: "+12025550199".to_owned(),
            label: None,
            connection_id: Uuid::nil(),
            provider: "twilio".to_owned(),
            inbound_agent_id: agent,
            created_at: 0,
            updated_at: 0,
        };
        let to = |url: &str| InboundRoute::To(url.to_owned());
        let agent = Some(Uuid::nil());
        for (inbound, agent, status) in [
            (to(wanted), agent, Some(Status::Ok)),
            (to("https://demo.example.com/welcome"), agent, Some(Status::Problem)),
            (to("https://demo.example.com/welcome"), None, None),
            (InboundRoute::Unset, agent, Some(Status::Problem)),
            (InboundRoute::Unset, None, None),
            (InboundRoute::NotOnAccount, None, Some(Status::Warning)),
        ] {
            let found = inbound_finding(&number(agent), &inbound, wanted);
            assert_eq!(found.map(|finding| finding.status), status, "{inbound:?} {agent:?}");
        }
        assert!(unreachable("x", "http://127.0.0.1:8080").is_some());
        assert!(unreachable("x", "https://voice.example.com").is_none());
    }
}
