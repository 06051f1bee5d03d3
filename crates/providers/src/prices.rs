//! The price table, which operators and customers can override.
//!
//! Prices come from `prices.default.toml`, overridden by the operator's file (`prices` in the configuration) and then by
//! `settings.prices` of a connection. A model has the prices of the longest name in the table that its name begins with, so that
//! dated versions need no separate row, unless `-mini`, `-lite`, `-pro` or the like follow. `*` is any other model.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Costs, Usage};

/// The prices built into the service.
const DEFAULTS: &str = include_str!("../prices.default.toml");
/// Stands for every model without a row.
const ANY: &str = "*";
/// Suffixes that denote another model, unlike dates and versions.
const OTHER_MODELS: [&str; 8] = ["hd", "large", "lite", "max", "mini", "nano", "pro", "small"];

/// Prices of one model, in US dollars. A missing price means that the model does not offer the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Per minute of transcribed audio.
    pub stt_minute: Option<f64>,
    /// Per million tokens read.
    pub llm_input_million: Option<f64>,
    /// Per million tokens read from the provider's cache; the price of other tokens when absent.
    pub llm_cached_million: Option<f64>,
    /// Per million tokens written to the cache; the price of other tokens when absent.
    pub llm_cache_write_million: Option<f64>,
    /// Per million tokens written.
    pub llm_output_million: Option<f64>,
    /// Per million audio input tokens of a speech-to-speech model.
    pub audio_input_million: Option<f64>,
    /// The same from its cache; the price of other tokens when absent.
    pub audio_cached_million: Option<f64>,
    /// Per million audio output tokens of a speech-to-speech model.
    pub audio_output_million: Option<f64>,
    /// Per million characters spoken.
    pub tts_characters_million: Option<f64>,
}

/// The prices of one provider, by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceList(BTreeMap<String, Rates>);

/// The prices of all providers, by their names.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<String, BTreeMap<String, Rates>>);

impl Rates {
    /// Adds the cost to `usage`, and marks it as incomplete if something was used that has no price. A cost that the provider itself
    /// reports takes precedence.
    #[must_use]
    pub fn price(rates: Option<&Self>, usage: Usage) -> Usage {
        if usage.cost_usd > 0.0 {
            // Only language models report their cost.
            let reported = Costs { llm_usd: usage.cost_usd, ..Costs::default() };
            let costs = if usage.costs == Costs::default() { reported } else { usage.costs };
            return Usage { costs, ..usage };
        }
        let rates = rates.copied().unwrap_or_default();
        let mut priced = usage;
        priced.costs.stt_usd =
            cost(&mut priced, &[(usage.stt_audio_ms, rates.stt_minute.map(|minute| minute * 1_000_000.0 / 60_000.0))]);
        let model = cost(&mut priced, &rates.of_text(&usage));
        let audio = cost(&mut priced, &rates.of_audio(&usage));
        // The text of a speech-to-speech model counts as speech to speech.
        let speaks = usage.audio_input_tokens + usage.audio_output_tokens > 0;
        (priced.costs.llm_usd, priced.costs.realtime_usd) = if speaks { (0.0, model + audio) } else { (model, 0.0) };
        priced.costs.tts_usd = cost(&mut priced, &[(usage.tts_characters, rates.tts_characters_million)]);
        let Costs { stt_usd, llm_usd, tts_usd, realtime_usd, .. } = priced.costs;
        priced.cost_usd = stt_usd + llm_usd + tts_usd + realtime_usd;
        priced
    }

    /// Returns counts of text tokens and their prices per million.
    fn of_text(&self, usage: &Usage) -> [(u64, Option<f64>); 4] {
        let cached = usage.llm_cached_tokens.min(usage.llm_input_tokens);
        let written_to_cache = usage.llm_cache_write_tokens.min(usage.llm_input_tokens - cached);
        let fresh = usage.llm_input_tokens - cached - written_to_cache;
        let input = self.llm_input_million;
        [
            (fresh, input),
            (cached, self.llm_cached_million.or(input)),
            (written_to_cache, self.llm_cache_write_million.or(input)),
            (usage.llm_output_tokens, self.llm_output_million),
        ]
    }

    /// Returns counts of audio tokens and their prices per million.
    fn of_audio(&self, usage: &Usage) -> [(u64, Option<f64>); 3] {
        let cached = usage.audio_cached_tokens.min(usage.audio_input_tokens);
        let audio = self.audio_input_million;
        [
            (usage.audio_input_tokens - cached, audio),
            (cached, self.audio_cached_million.or(audio)),
            (usage.audio_output_tokens, self.audio_output_million),
        ]
    }

    fn is_valid(&self) -> bool {
        let all = [
            self.stt_minute,
            self.llm_input_million,
            self.llm_cached_million,
            self.llm_cache_write_million,
            self.llm_output_million,
            self.audio_input_million,
            self.audio_cached_million,
            self.audio_output_million,
            self.tts_characters_million,
        ];
        all.into_iter().flatten().all(|price| price.is_finite() && price >= 0.0)
    }
}

/// Returns the cost of the items that have a price, in dollars: a price in dollars per million is one in millionths of a dollar each.
fn cost(usage: &mut Usage, items: &[(u64, Option<f64>)]) -> f64 {
    let mut micros = 0.0;
    for (count, price) in items.iter().filter(|(count, _)| *count > 0) {
        match price {
            #[expect(clippy::cast_precision_loss, reason = "what a call uses is far below 2^52")]
            Some(price) => micros += *count as f64 * price,
            None => usage.unpriced = true,
        }
    }
    micros / 1_000_000.0
}

impl PriceList {
    /// Returns the rates of a model; `None` when they are unknown.
    #[must_use]
    pub fn of(&self, model: Option<&str>) -> Option<&Rates> {
        let model = model.unwrap_or_default();
        let model = model.rsplit('/').next().unwrap_or(model);
        let begins = |name: &str| {
            let rest = model.strip_prefix(name)?;
            let same = !rest.split(['-', '_', ':', '.']).any(|part| OTHER_MODELS.contains(&part));
            (same && rest.chars().next().is_none_or(|next| !next.is_alphanumeric())).then_some(name.len())
        };
        let best =
            self.0.iter().filter_map(|(name, rates)| Some((begins(name)?, rates))).max_by_key(|(length, _)| *length);
        best.map(|(_, rates)| rates).or_else(|| self.0.get(ANY))
    }

    /// Adds a connection's own prices, which take precedence. They replace all others if they include a price for any model, since a
    /// self-hosted server may use the names of other models.
    ///
    /// # Errors
    /// A sentence that says what is wrong with `settings.prices`.
    pub fn with(mut self, settings: &Map<String, Value>) -> Result<Self, String> {
        let Some(own) = settings.get("prices").filter(|own| !own.is_null()) else { return Ok(self) };
        let own = own.as_object().ok_or("settings.prices must be an object of prices by model.")?;
        if own.contains_key(ANY) {
            self.0.clear();
        }
        for (model, rates) in own {
            let read = Rates::deserialize(rates).map_err(|error| format!("settings.prices.{model}: {error}."))?;
            if !read.is_valid() {
                return Err(format!("settings.prices.{model}: prices must not be negative."));
            }
            self.0.insert(model.clone(), read);
        }
        Ok(self)
    }
}

impl Prices {
    /// Loads the defaults, overridden by the operator's file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a valid price table.
    pub fn load(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut prices = Self::parse(DEFAULTS).context("the prices that come with the service")?;
        if let Some(file) = file {
            let named = || format!("the prices in {}", file.display());
            let text = std::fs::read_to_string(file).with_context(named)?;
            for (provider, models) in Self::parse(&text).with_context(named)?.0 {
                prices.0.entry(provider).or_default().extend(models);
            }
        }
        Ok(prices)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let prices: BTreeMap<String, BTreeMap<String, Rates>> = toml::from_str(text)?;
        for (provider, models) in &prices {
            if let Some((model, _)) = models.iter().find(|(_, rates)| !rates.is_valid()) {
                anyhow::bail!("{provider}.{model}: prices must not be negative");
            }
        }
        Ok(Self(prices))
    }

    /// Returns the providers in the table.
    #[cfg(test)]
    pub(super) fn providers(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the prices of one provider.
    #[must_use]
    pub fn of(&self, provider: &str) -> PriceList {
        PriceList(self.0.get(provider).cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(prices: Value) -> Map<String, Value> {
        Map::from_iter([("prices".to_owned(), prices)])
    }

    #[test]
    fn a_call_costs_what_the_table_says() {
        let prices = Prices::load(None).expect("the defaults are a table").of("openai");
        let used = Usage {
            llm_input_tokens: 1_000_000,
            llm_cached_tokens: 400_000,
            llm_output_tokens: 10_000,
            ..Usage::default()
        };
        let own = json!({ "gpt-4o-mini": { "llm_input_million": 0.15, "llm_cached_million": 0.075, "llm_output_million": 0.6 } });
        let prices = prices.with(&settings(own)).expect("a table");
        let cost = |model: &str, usage: Usage| {
            let priced = Rates::price(prices.of(Some(model)), usage);
            ((priced.cost_usd * 1_000_000.0).round(), priced.unpriced)
        };
        assert_eq!(cost("gpt-4o-mini-2024-07-18", used), (126_000.0, false), "0.6 x 0.15 + 0.4 x 0.075 + 0.01 x 0.6");
        assert_eq!(cost("openai/gpt-4o-mini", used), (126_000.0, false), "however it is routed to");
        assert!(cost("gpt-4o-minimal", used).1, "another model");
        assert_eq!(cost("gpt-4o-mini", Usage { tts_characters: 9, ..Usage::default() }), (0.0, true));
        let free = json!({ "*": { "llm_input_million": 0, "llm_output_million": 0 } });
        let free = prices.clone().with(&settings(free)).expect("a table");
        assert_eq!(Rates::price(free.of(Some("gpt-4o-mini")), used), used, "whatever it is called");
        let minute = Rates { stt_minute: Some(0.006), ..Rates::default() };
        let heard = Rates::price(Some(&minute), Usage { stt_audio_ms: 90_000, ..Usage::default() });
        assert!((heard.cost_usd - 0.009).abs() < 1e-9);
        let shipped = Prices::load(None).expect("the defaults are a table");
        let gemini = |model: &str| shipped.of("gemini").of(Some(model)).and_then(|rates| rates.llm_input_million);
        assert!(gemini("gemini-2.5-flash-preview-09-2025").is_some());
        assert_eq!(gemini("gemini-2.5-flash-lite-001"), None, "another model, of which nothing is known");
        let openai = |model: &str| shipped.of("openai").of(Some(model)).and_then(|rates| rates.tts_characters_million);
        assert_eq!([openai("tts-1-1106"), openai("tts-1-hd-1106")], [Some(15.0), Some(30.0)]);
        let reported = Usage { cost_usd: 0.25, ..used };
        assert_eq!(cost("gpt-4o-mini", reported), (250_000.0, false), "as the provider says itself");
        assert_eq!(Rates::price(None, reported).costs, Costs { llm_usd: 0.25, ..Costs::default() });
    }

    #[test]
    fn each_part_of_a_call_has_its_cost() {
        let rates = Rates {
            stt_minute: Some(0.06),
            llm_input_million: Some(1.0),
            audio_input_million: Some(10.0),
            tts_characters_million: Some(100.0),
            ..Rates::default()
        };
        let price = |usage: Usage| Rates::price(Some(&rates), usage);
        let heard = price(Usage { stt_audio_ms: 60_000, ..Usage::default() });
        let thought = price(Usage { llm_input_tokens: 2_000_000, ..Usage::default() });
        let said = price(Usage { tts_characters: 10_000, ..Usage::default() });
        let sum = heard + thought + said;
        assert_eq!(sum.costs, Costs { stt_usd: 0.06, llm_usd: 2.0, tts_usd: 1.0, ..Costs::default() });
        assert!((sum.cost_usd - 3.06).abs() < 1e-9);
        let spoke = price(Usage { llm_input_tokens: 1_000_000, audio_input_tokens: 100_000, ..Usage::default() });
        assert_eq!(spoke.costs, Costs { realtime_usd: 2.0, ..Costs::default() });
        assert_eq!(price(spoke), spoke, "once");
    }

    #[test]
    fn tables_are_edited_by_operators_and_customers() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("prices.toml");
        std::fs::write(&file, "[openai]\n\"*\" = { llm_input_million = 9 }\n[openai.house]\nllm_input_million = 1\n")
            .expect("written");
        let prices = Prices::load(Some(&file)).expect("a table");
        let input = |model: &str| prices.of("openai").of(Some(model)).and_then(|rates| rates.llm_input_million);
        assert_eq!((input("house"), input("unknown")), (Some(1.0), Some(9.0)));
        assert!(input("gpt-4o-mini").is_some_and(|price| price < 9.0), "the defaults are still there");
        assert_eq!(prices.of("local").of(None).map(|rates| rates.tts_characters_million), Some(Some(0.0)));
        std::fs::write(&file, "[openai.house]\nper_call = 1\n").expect("written");
        assert!(Prices::load(Some(&file)).is_err());
        let wrong = PriceList::default().with(&settings(json!({ "m": { "llm_input_million": -1 } })));
        assert!(wrong.expect_err("negative").contains("settings.prices.m"));
    }
}
