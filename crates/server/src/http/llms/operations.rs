//! The operations of the API as text: what each takes, returns and refuses.

use std::fmt::Write as _;

use serde_json::Value;

const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Writes every operation of a document.
pub(super) fn text(document: &Value) -> String {
    let mut all = "\n# Operations\n".to_owned();
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            if let Some(operation) = operations.get(method) {
                let at = format!("{} {path}", method.to_uppercase());
                let _ = write!(all, "\n{}", Writer { document }.operation(&at, operation));
            }
        }
    }
    all
}

struct Writer<'a> {
    document: &'a Value,
}

impl<'a> Writer<'a> {
    fn operation(&self, at: &str, operation: &'a Value) -> String {
        let word = |name: &str| operation[name].as_str().unwrap_or_default();
        let mut text =
            format!("## {}\n\n`{at}` (`{}`). {}\n", word("summary"), word("operationId"), word("description"));
        let parameters: Vec<_> =
            operation["parameters"].as_array().into_iter().flatten().map(|one| self.parameter(one)).collect();
        list(&mut text, "Parameters", &parameters);
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        if let Some(name) = named(body) {
            list(&mut text, &format!("Body `{name}`"), &self.fields(self.resolved(body)));
        }
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (status, response) in responses.filter(|(status, _)| status.as_str() < "400") {
            let schemas = self.resolved(response)["content"].as_object().into_iter().flatten();
            let names: Vec<_> = schemas.filter_map(|(_, content)| named(&content["schema"])).collect();
            let names = if names.is_empty() { String::new() } else { format!(": `{}`", names.join("` or `")) };
            let _ = writeln!(text, "- Returns {status}{names}");
        }
        for (status, codes) in operation["x-error-codes"].as_object().into_iter().flatten() {
            let codes: Vec<_> = codes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let _ = writeln!(text, "- Error {status}: `{}`", codes.join("`, `"));
        }
        text
    }

    fn parameter(&self, parameter: &'a Value) -> String {
        let parameter = self.resolved(parameter);
        let word = |name: &str| parameter[name].as_str().unwrap_or_default();
        let required = if parameter["required"] == true { ", required" } else { "" };
        format!("`{}` ({}{required}): {}", word("name"), word("in"), word("description"))
    }

    /// The fields of an object, and of what it is put together from.
    fn fields(&self, schema: &'a Value) -> Vec<String> {
        let required =
            |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let own = schema["properties"].as_object().into_iter().flatten().map(|(name, field)| {
            let alternatives = field["oneOf"].as_array().into_iter().flatten();
            let own = std::iter::once(field).chain(alternatives);
            let described = own.clone().chain(own.map(|one| self.resolved(one)));
            let description = described.filter_map(|one| one["description"].as_str()).next().unwrap_or_default();
            format!("`{name}`{}: {description}", if required(name) { " (required)" } else { "" })
        });
        let parts = schema["allOf"].as_array().into_iter().flatten().flat_map(|part| self.fields(self.resolved(part)));
        parts.chain(own).collect()
    }

    fn resolved(&self, value: &'a Value) -> &'a Value {
        let pointer = value["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
        pointer.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(value)
    }
}

fn named(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn list(text: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(text, "- {title}:");
        for line in lines {
            let _ = writeln!(text, "  - {}", line.trim_end_matches(": "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::openapi;

    #[test]
    fn every_operation_is_written_with_what_it_takes_returns_and_refuses() {
        let document = openapi();
        let text = text(&document);
        for operations in document["paths"].as_object().expect("paths").values() {
            for operation in operations.as_object().expect("operations").values() {
                let id = operation["operationId"].as_str().expect("an id");
                assert!(text.contains(&format!("(`{id}`). ")), "{id}");
            }
        }
        for line in [
            "`POST /v1/calls` (`create_call`). ",
            "  - `agent_id` (required): ",
            "  - `privacy`: Redaction and retention.",
            "  - `Idempotency-Key` (header): ",
            "- Returns 201: `CallWithWarnings`",
            "- Error 409: `idempotency_key_reused`, `request_in_progress`",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }
}
