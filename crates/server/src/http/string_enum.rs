//! Schemas of enums whose values are strings.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// Returns the schema of a string that has one of these values.
pub(super) fn string_enum(description: &str, values: impl IntoIterator<Item = &'static str>) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).enum_values(Some(values)).into()
}
