//! Texts by which a conversation that is too long is distinguished from a rate limit.

/// How providers describe a conversation that is too long, in their error codes or, where these are missing, in their sentences.
pub(super) const TOO_LONG: [&str; 26] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "maximum context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
    // Anthropic, where the response would not fit.
    "exceed context limit",
    // OpenAI, MiniMax, Moonshot, Bedrock, Cohere and xAI.
    "exceeds the context window",
    "context window exceeds limit",
    "exceeded model token limit",
    "input is too long for requested model",
    "total number of tokens in the prompt",
    "maximum prompt length is",
    // llama.cpp, and LM Studio in several versions.
    "exceeds the available context size",
    "greater than the context length",
    "when context the overflows",
    "when the context overflows",
    ">= n_ctx",
    // Ollama.
    "prompt too long",
    "exceeds the context length",
    // SGLang, vLLM, Together and TGI.
    "longer than the model's context length",
    "tokens) exceeds the maximum allowed length",
    "longer than the maximum model length",
    "exceeds the maximum allowed input length",
    "`inputs` must have less than",
    "`inputs` tokens + `max_new_tokens` must be",
];
/// How OpenAI describes a request that is larger than the rate limit, with the status of one: waiting does not help.
pub(super) const OVERSIZED: [&str; 2] = ["request too large for", "output tokens must be reduced"];
/// How providers describe a rate limit in sentences. Some count tokens, and resemble those above.
pub(super) const RATE_LIMIT: [&str; 6] = [
    "rate limit",
    "too many requests",
    "too many tokens, please wait",
    "throttlingexception",
    "tokens per day",
    "tokens per min",
];
/// Parts of their codes. A tool may have such a name, so that it stands in a sentence about its schema.
pub(super) const RATE_LIMIT_CODES: [&str; 3] = ["rate_limit", "ratelimit", "throttl"];
