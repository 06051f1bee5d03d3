//! Adapters of providers against doubles of them.

mod llm;
