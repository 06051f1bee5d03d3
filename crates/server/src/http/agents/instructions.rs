//! Whether a language model follows an agent's instructions.

use switchhook_core::agent::{AgentConfig, GreetingMode};
use switchhook_core::id::TenantId;

use crate::catalogue::{self, ConnectionKind};
use crate::store::page::PageRequest;
use crate::store::{Conn, connections};

/// The provider whose language model is a script.
const SCRIPTED: &str = "scripted";

/// A warning if nothing follows the agent's instructions.
pub(super) async fn ignored(
    conn: &mut Conn,
    tenant: TenantId,
    agent: &AgentConfig,
) -> Result<Option<String>, sqlx::Error> {
    if !agent.follows_demo_script() {
        let id = agent.llm.as_ref().and_then(|llm| llm.connection_id).filter(|_| agent.realtime.is_none());
        let Some(id) = id else { return Ok(None) };
        let row = connections::get(conn, tenant, id).await?.filter(|row| row.provider == SCRIPTED);
        return Ok(
            row.map(|row| format!("llm: {} follows a script for demos and tests, not the instructions.", row.name))
        );
    }
    let named = language_models(conn, tenant).await?;
    let which = match named.as_slice() {
        [] => "create a connection to a language model with POST /v1/connections and set llm.connection_id to its id"
            .to_owned(),
        names => format!("set llm.connection_id to the id of a connection to a language model ({})", names.join(", ")),
    };
    let greeting =
        if agent.greeting.mode == GreetingMode::Speak { ", and its greeting says that it is a demo" } else { "" };
    Ok(Some(format!(
        "llm: no language model is set, so the agent does not follow its instructions: it books restaurant tables by a demo \
         script{greeting}. To change that, {which}."
    )))
}

/// The newest connections of the tenant to language models, by name.
async fn language_models(conn: &mut Conn, tenant: TenantId) -> Result<Vec<String>, sqlx::Error> {
    let page = connections::list(conn, tenant, PageRequest::first(100)).await?;
    let models = page.rows.into_iter().filter(|row| {
        row.provider != SCRIPTED && catalogue::kinds(&row.provider, &row.settings).contains(&ConnectionKind::Llm)
    });
    Ok(models.take(3).map(|row| row.name).collect())
}
