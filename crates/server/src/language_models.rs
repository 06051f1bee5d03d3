//! The language models that `switchhook dev` connects and `switchhook init` writes: providers of keys, and servers on this machine.

/// A provider that is known by its keys.
#[derive(Debug)]
pub struct Hosted {
    /// The environment variable with its key.
    pub variable: &'static str,
    /// The name of its connection.
    pub name: &'static str,
    /// The adapter.
    pub provider: &'static str,
    /// How its keys begin; the longest that fits counts.
    pub prefix: &'static str,
    /// Its address and a fast model, where they are not the adapter's defaults.
    pub server: Option<(&'static str, &'static str)>,
}

/// A server with OpenAI's API on this machine, at its usual port.
#[derive(Debug)]
pub struct Local {
    /// The name of its connection.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its address.
    pub url: &'static str,
}

/// Providers of keys, in the order in which they are tried.
pub const HOSTED: [Hosted; 5] = [
    Hosted { variable: "OPENAI_API_KEY", name: "openai", provider: "openai", prefix: "sk-", server: None },
    Hosted { variable: "ANTHROPIC_API_KEY", name: "anthropic", provider: "anthropic", prefix: "sk-ant-", server: None },
    Hosted { variable: "GEMINI_API_KEY", name: "gemini", provider: "gemini", prefix: "AIza", server: None },
    Hosted {
        variable: "GROQ_API_KEY",
        name: "groq",
        provider: "openai",
        prefix: "gsk_",
        server: Some(("https://api.groq.com/openai/v1", "openai/gpt-oss-120b")),
    },
    Hosted {
        variable: "OPENROUTER_API_KEY",
        name: "openrouter",
        provider: "openai",
        prefix: "sk-or-",
        server: Some(("https://openrouter.ai/api/v1", "openai/gpt-oss-120b")),
    },
];

/// Servers on this machine, in the order in which they are tried.
pub const LOCAL: [Local; 4] = [
    Local { name: "ollama", title: "Ollama", url: "http://127.0.0.1:11434/v1" },
    Local { name: "llama.cpp", title: "llama.cpp", url: "http://127.0.0.1:8080/v1" },
    Local { name: "lm-studio", title: "LM Studio", url: "http://127.0.0.1:1234/v1" },
    Local { name: "vllm", title: "vLLM", url: "http://127.0.0.1:8000/v1" },
];

/// The names of all of them, for a sentence.
#[must_use]
pub fn names() -> String {
    let names: Vec<_> = HOSTED.iter().map(|hosted| hosted.name).chain(LOCAL.iter().map(|local| local.name)).collect();
    let (last, others) = names.split_last().expect("there are several");
    format!("{} or {last}", others.join(", "))
}
