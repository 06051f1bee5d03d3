//! Whether callers may be transferred where an agent's tools would transfer them.

use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::dial_policy::DialRefused;
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use crate::calls::tariff::numbering_plan;
use crate::store::dial_policy::DialAttempt;
use crate::store::{Conn, dial_policy};

/// Warnings about destinations that the tenant's dial policy refuses whenever it is asked.
pub(super) async fn refused(
    conn: &mut Conn,
    tenant: TenantId,
    agent: &AgentConfig,
    now: Timestamp,
) -> Result<Vec<String>, sqlx::Error> {
    let mut warnings = Vec::new();
    for (tool, of) in agent.tools.iter().enumerate() {
        for (place, destination) in of.destinations.iter().enumerate() {
            let Ok(number) = destination.number.parse::<PhoneNumber>() else { continue };
            let attempt = DialAttempt { to: &number, plan: numbering_plan(&number), counts_at: None };
            let decision = dial_policy::judge(conn, tenant, attempt, now).await?;
            let Err(refused) = decision else { continue };
            if !matches!(refused, DialRefused::PerNumber(_) | DialRefused::Cost(_)) {
                warnings.push(format!(
                    "tools.{tool}.destinations.{place}.number {refused}: no caller is transferred there."
                ));
            }
        }
    }
    Ok(warnings)
}
