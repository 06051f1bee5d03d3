//! AssemblyAI.

pub mod stt;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::stt::STT_SETTINGS;

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "assemblyai",
    kinds: &[ProviderKind::Stt],
    build: Build::Adapter(build),
    settings: &[STT_SETTINGS],
    unpriced: &[],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(stt::connect(config)?),
        // Which one it is depends on the agent's language; they have one price.
        default_models: DefaultModels::of(config, stt::ENGLISH, "", "")?,
        ..Provider::default()
    })
}
