//! Whether callers may be transferred where an agent's tools would transfer them.

use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use crate::calls::dial_permission;
use crate::store::Conn;

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
            if let Some(refused) = dial_permission::lasting_refusal(conn, tenant, number, now).await? {
                warnings.push(format!(
                    "tools.{tool}.destinations.{place}.number {refused}: no caller is transferred there."
                ));
            }
        }
    }
    Ok(warnings)
}
