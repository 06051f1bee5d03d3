"""Writes the models of the API from docs/openapi.json, with datamodel-code-generator.

Two modules: `models.py` has what the service sends, as pydantic models that accept whatever a later service adds; `params.py` has what it
takes, as TypedDicts, in which a field can be absent, `None` or a value.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

# Only the service decides what is valid. A client that checks as well would refuse what a later service allows.
CONSTRAINTS = [
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "maxProperties",
    "propertyNames",
    "example",
    "examples",
    "default",
]


WRITTEN = "WithWarnings"


def name_of(schema: str) -> str:
    """`CallWithWarnings` -> `Call`."""
    return "FieldError" if schema == "ErrorField" else schema.removesuffix(WRITTEN)


def resolved(document: Schema) -> Schema:
    """The document with what operations share in its place; only schemas stay references."""

    def resolve(part: Any) -> Any:
        if isinstance(part, list):
            return [resolve(one) for one in part]
        if not isinstance(part, dict):
            return part
        kind, _, name = part.get("$ref", "").removeprefix("#/components/").partition("/")
        if kind in ("headers", "parameters", "responses"):
            return resolve(document["components"][kind][name])
        return {key: resolve(value) for key, value in part.items()}

    schemas = document["components"]["schemas"]
    # The data of an event is read by its kind, in events.py, and kept as it came elsewhere.
    for kind in schemas["CallEvent"]["oneOf"]:
        (_, own) = schemas[reference(kind) or ""]["allOf"]
        own["properties"]["data"] = {"type": "object", "additionalProperties": True}
    return {**document, "paths": resolve(document["paths"]), "components": {**document["components"], "schemas": schemas}}


def reference(schema: Schema) -> str | None:
    return schema["$ref"].rsplit("/", 1)[-1] if "$ref" in schema else None


def reachable(schemas: dict[str, Schema], roots: set[str]) -> set[str]:
    found: set[str] = set()
    waiting = set(roots)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= {one for one in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))} - found
    return found


def roots(document: Schema) -> tuple[set[str], set[str]]:
    """The schemas that operations send, and those that they take."""
    sent, taken = set(), set()
    for path in document["paths"].values():
        for operation in path.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                taken.add(reference(content["schema"]))
            for answer in operation["responses"].values():
                for media, content in answer.get("content", {}).items():
                    found = reference(content["schema"])
                    # What a stream sends is read in events.py.
                    if found and media != "text/event-stream":
                        sent.add(found)
            for parameter in operation.get("parameters", []):
                taken |= set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(parameter)))
    return sent, taken


def simplify(schema: Any, renamed: dict[str, str]) -> Any:
    """Without constraints; closed sets become open ones; references are renamed."""
    if isinstance(schema, list):
        return [simplify(one, renamed) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": f"#/components/schemas/{renamed[reference(schema)]}"}
    words = schema.get("enum") or schema.get("x-extensible-enum")
    if words and schema.get("type") == "string":
        return {"anyOf": [{"type": "string", "enum": words}, {"type": "string"}]}
    if schema.get("additionalProperties") is True:
        schema = {**schema, "additionalProperties": {}}
    result = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: with_description(simplify(one, renamed), one) for name, one in value.items()}
        elif key not in CONSTRAINTS and not (key == "format" and value in ("uuid", "uri", "float", "double", "int32", "int64")):
            result[key] = simplify(value, renamed)
    if result.get("type") == "array" and "description" in result:
        result["default"] = []
    if result.get("oneOf") and {"type": "null"} in result["oneOf"]:
        result["anyOf"] = result.pop("oneOf")
    return result


def with_description(simple: Schema, schema: Schema) -> Schema:
    """The description of a field, which may stand beside a reference or in one of its alternatives."""
    text = schema.get("description") or next((one["description"] for one in schema.get("oneOf", []) if "description" in one), None)
    if text is None:
        return simple
    return {"allOf": [simple], "description": text} if "$ref" in simple else {**simple, "description": text}


def inlined(schemas: dict[str, Schema], schema: Schema) -> Schema:
    """One object of what `allOf` combines; of what `oneOf` distinguishes, with the fields of each."""
    parts = [inlined(schemas, schemas[reference(part)] if "$ref" in part else part) for part in schema.get("allOf", [])]
    kinds = [inlined(schemas, schemas[reference(kind)] if "$ref" in kind else kind) for kind in schema.get("oneOf", [])]
    if kinds and all("properties" in kind for kind in kinds):
        parts.append(either(kinds))
    elif not parts:
        return schema
    whole: Schema = {"type": "object", "properties": {}, "required": []}
    for part in [*parts, schema]:
        whole["properties"] |= part.get("properties", {})
        whole["required"] += part.get("required", [])
    return {**{key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "discriminator")}, **whole}


def either(kinds: list[Schema]) -> Schema:
    """An object that is of one of these kinds: a later service may have more of them."""
    properties: Schema = {}
    for kind in kinds:
        for name, one in kind["properties"].items():
            known = properties.setdefault(name, [])
            if all(without_words(one) != without_words(other) for other in known):
                known.append(one)
    return {
        "properties": {name: found[0] if len(found) == 1 else alternatives(found) for name, found in properties.items()},
        "required": [name for name in properties if all(name in kind.get("required", []) for kind in kinds)],
    }


def without_words(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in ("description", "example")}


def alternatives(found: list[Schema]) -> Schema:
    words = [one.get("enum") or ([one["const"]] if "const" in one else None) for one in found]
    if all(words):
        return {"type": "string", "enum": list(dict.fromkeys(word for one in words for word in one or []))}
    return {"anyOf": found}


def is_page(schema: Schema) -> bool:
    return {"data", "has_more", "next_cursor"} <= schema.get("properties", {}).keys()


def answers(document: Schema) -> dict[str, Schema]:
    schemas = document["components"]["schemas"]
    sent, _ = roots(document)
    # Pages are the client's own, and errors are exceptions.
    wanted = {name for name in reachable(schemas, sent) if not is_page(schemas[name]) and name != "ErrorBody"}
    renamed = {name: name_of(name) for name in schemas}
    result: dict[str, Schema] = {}
    for name in sorted(wanted, key=lambda one: (one.endswith(WRITTEN), one)):
        schema = simplify(inlined(schemas, schemas[name]), renamed)
        if name.endswith(WRITTEN):
            # One type for each thing: those that were just written list their warnings, others have none.
            result[name_of(name)]["properties"]["warnings"] = {"type": "array", "items": {"type": "string"}, "default": []}
        elif name_of(name) in result:
            sys.exit(f"Two schemas would be called {name_of(name)}: rename one in name_of.")
        else:
            result[name_of(name)] = schema
    return pruned(result, {name_of(one) for name in sent - {"ErrorBody"} for one in item_of(schemas, name)})


def item_of(schemas: dict[str, Schema], name: str) -> list[str]:
    """The schema itself, or that of what a page holds."""
    return [reference(schemas[name]["properties"]["data"]["items"])] if is_page(schemas[name]) else [name]


def pruned(schemas: dict[str, Schema], roots: set[str]) -> dict[str, Schema]:
    wanted = reachable(schemas, roots)
    return {name: schema for name, schema in schemas.items() if name in wanted}


def bodies(document: Schema) -> dict[str, Schema]:
    schemas = document["components"]["schemas"]
    _, taken = roots(document)
    result = {}
    for name in sorted(reachable(schemas, taken)):
        # What is sent is of one kind; only what comes may be of a kind that is not known yet.
        whole = schemas[name] if "discriminator" in schemas[name] else inlined(schemas, schemas[name])
        schema = with_times(simplify(whole, {one: one for one in schemas}))
        for keyword in [one for one in schema.get("properties", {}) if one == "from"]:
            # A keyword of Python; the client sends it as `from`.
            schema["properties"][f"{keyword}_"] = schema["properties"].pop(keyword)
            schema["required"] = [f"{one}_" if one == keyword else one for one in schema.get("required", [])]
        result[name] = schema
    return pruned(result, taken)


def with_times(schema: Any) -> Any:
    """A time may be a datetime or RFC 3339."""
    if isinstance(schema, list):
        return [with_times(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "date-time":
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        other = [{"type": one} for one in kinds]
        return {
            **{key: one for key, one in schema.items() if key not in ("type", "format")},
            "anyOf": [{"type": "string", "format": "date-time"}, *other],
        }
    return {key: with_times(one) for key, one in schema.items()}


HEADER = '"""{}\n\nWritten by generate.py from docs/openapi.json: do not edit.\n"""'
COMMON = [
    "--input-file-type",
    "openapi",
    "--target-python-version",
    "3.10",
    "--use-union-operator",
    "--use-standard-collections",
    "--enum-field-as-literal",
    "all",
    "--disable-timestamp",
    "--use-double-quotes",
    "--use-schema-description",
    "--keep-model-order",
    "--strict-nullable",
    "--collapse-root-models",
    "--formatters",
    "builtin",
]


def write(schemas: dict[str, Schema], output: Path, title: str, *options: str) -> None:
    document = {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": {}, "components": {"schemas": schemas}}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "openapi.json"
        source.write_text(json.dumps(document))
        tool = str(Path(sys.executable).parent / "datamodel-codegen")
        subprocess.run(
            [tool, "--input", str(source), "--output", str(output), "--custom-file-header", HEADER.format(title), *COMMON, *options],
            check=True,
        )


def main(document: Schema, folder: Path) -> None:
    write(
        answers(document),
        folder / "models.py",
        "What the service sends.",
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--base-class",
        "switchhook._model.Model",
        "--use-field-description",
        "--output-datetime-class",
        "AwareDatetime",
    )
    write(
        bodies(document),
        folder / "params.py",
        "What the service takes.",
        "--output-model-type",
        "typing.TypedDict",
        "--use-field-description",
        "--output-datetime-class",
        "datetime",
    )


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    main(resolved(json.loads((here / "../../docs/openapi.json").read_text())), here / "src/switchhook")
