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
        // The default depends on the agent's language; both models have the same price.
        default_models: DefaultModels::of(config, stt::ENGLISH, "", "")?,
        ..Provider::default()
    })
}
