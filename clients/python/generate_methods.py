"""Writes a method for each operation of the API, once for the client that blocks and once for asyncio."""

import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generate_models import is_page, item_of, name_of

Schema = dict[str, Any]

HEADER = '''"""{title}

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from collections.abc import {iterator}, Mapping, Sequence
from datetime import datetime

from typing_extensions import Unpack

from . import events as streams
from . import models, params
from ._pages import {pages}
from ._request import Request, given, keyed, path
from .{transport} import {resource}
'''


@dataclass
class Operation:
    """One operation of the document with its entry in operations.json."""

    method: str
    path: str
    schema: Schema
    entry: Schema
    schemas: dict[str, Schema]

    @property
    def resource(self) -> str:
        return (self.entry.get("method") or self.entry["stream"]).split(".")[0]

    def parameters(self, place: str) -> list[Schema]:
        return [one for one in self.schema.get("parameters", []) if one["in"] == place]

    def body(self) -> str | None:
        content = self.schema.get("requestBody", {}).get("content", {}).get("application/json")
        return content["schema"]["$ref"].rsplit("/", 1)[-1] if content else None

    def answer(self, statuses: Sequence[str] = ("201", "200", "202")) -> tuple[str, str]:
        """What it is, `page`, `model`, `bytes` or `none`, and of what. Where there are 200 and 201, the 200 is a dry run's."""
        for status in statuses:
            content = self.schema["responses"].get(status, {}).get("content", {})
            if "application/json" in content:
                name = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
                return ("page" if is_page(self.schemas[name]) else "model"), f"models.{name_of(item_of(self.schemas, name)[0])}"
            if content:
                return "bytes", "bytes"
        return "none", "None"


def operations(document: Schema, names: dict[str, Schema]) -> list[Operation]:
    schemas = document["components"]["schemas"]
    found = {
        schema["operationId"]: Operation(method.upper(), path, schema, names.get(schema["operationId"], {}), schemas)
        for path, methods in document["paths"].items()
        for method, schema in methods.items()
    }
    if unnamed := sorted(found.keys() - names.keys()):
        sys.exit(f"clients/operations.json has no name for {', '.join(unnamed)}.")
    if gone := sorted(names.keys() - found.keys()):
        sys.exit(f"clients/operations.json names what the API does not have: {', '.join(gone)}.")
    return [found[name] for name in names]


def type_of(schema: Schema) -> str:
    if "$ref" in schema:
        return f"params.{schema['$ref'].rsplit('/', 1)[-1]}"
    if schema.get("type") == "array":
        one = type_of(schema["items"])
        return f"{one} | Sequence[{one}]"
    if schema.get("format") == "date-time":
        return "datetime | str"
    if schema.get("type") == "object":
        return "Mapping[str, str]"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    (kind,) = (kind for kind in kinds if kind != "null")  # Every argument can be None.
    return {"integer": "int", "boolean": "bool", "number": "float"}.get(kind, "str")


def python_name(name: str) -> str:
    return "from_" if name == "from" else name


def docstring(operation: Operation, more: str = "") -> str:
    parts = [operation.schema["summary"] + ".", more, operation.schema.get("description", "").replace("\n", " ")]
    described = [one for one in operation.parameters("query") if one["name"] not in ("limit", "cursor")]
    if described:
        parts.append("\n".join(f"{python_name(one['name'])}: {one['description']}" for one in described))
    paragraphs = [
        "\n".join(textwrap.fill(line, 130, break_long_words=False, break_on_hyphens=False) for line in part.splitlines())
        for part in parts
        if part
    ]
    text = "\n\n".join(paragraphs)
    return f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'


def method(operation: Operation, is_async: bool) -> str:
    kind, answer = operation.answer()
    name = operation.entry["method"].split(".")[1]
    arguments, request = signature(operation), [f'"{operation.method}"', path_of(operation)]
    query = [f'"{one["name"]}": {python_name(one["name"])}' for one in operation.parameters("query")]
    if query:
        request.append(f"query={{{', '.join(query)}}}")
    headers = [one["name"] for one in operation.parameters("header")]
    if "Idempotency-Key" in headers:
        request.append("headers=keyed(idempotency_key)")
    elif "Range" in headers:
        request.append("headers=given(Range=range, Accept='audio/wav')")
    if operation.body():
        request.append("body=body")
    if operation.entry.get("repeatable"):
        request.append("repeatable=True")
    whole = f"Request({', '.join(request)})"
    pages, wait, define = ("AsyncPages", "await ", "async def") if is_async else ("Pages", "", "def")
    if kind == "page":
        define, answer, result = "def", f"{pages}[{answer}]", f"return self._pages({whole}, {answer})"
    elif kind == "model":
        result = f"return {wait}self._model({whole}, {answer})"
    elif kind == "bytes":
        result = f"return ({wait}self._send({whole})).content"
    else:
        result = f"{wait}self._send({whole})"
    return f"    {define} {name}({arguments}) -> {answer}:\n{indent(docstring(operation))}\n        {result}\n"


def dry_run(operation: Operation, is_async: bool) -> str:
    name, (_, answer) = operation.entry["dry_run"].split(".")[1], operation.answer(("200",))
    wait, define = ("await ", "async def") if is_async else ("", "def")
    request = f'Request("{operation.method}", {path_of(operation)}, body={{**body, "dry_run": True}}, repeatable=True)'
    return (
        f"    {define} {name}(self, **body: Unpack[params.{operation.body()}]) -> {answer}:\n"
        f'        """Checks what the other method would do, and does nothing."""\n'
        f"        return {wait}self._model({request}, {answer})\n"
    )


def signature(operation: Operation) -> str:
    positional = [f"{one['name']}: {type_of(one['schema'])}" for one in operation.parameters("path")]
    named = [f"{python_name(one['name'])}: {type_of(one['schema'])} | None = None" for one in operation.parameters("query")]
    headers = [one["name"] for one in operation.parameters("header")]
    if "Idempotency-Key" in headers:
        named.append("idempotency_key: str | None = None")
    if "Range" in headers:
        named.append("range: str | None = None")
    body = operation.body()
    parts = ["self", *positional, *(["/"] if positional else []), *(["*", *named] if named else [])]
    return ", ".join([*parts, *([f"**body: Unpack[params.{body}]"] if body else [])])


def path_of(operation: Operation) -> str:
    names = re.findall(r"{(\w+)}", operation.path)
    return f'path("{re.sub(r"{.*?}", "{}", operation.path)}", {", ".join(names)})' if names else f'"{operation.path}"'


def stream(operation: Operation, is_async: bool) -> str:
    name, event = operation.entry["stream"].split(".")[1], operation.entry["event"]
    positional = [f"{one['name']}: {type_of(one['schema'])}" for one in operation.parameters("path")]
    arguments = ", ".join(["self", *positional, *(["/"] if positional else []), "*", "last_event_id: str | None = None"])
    kind = "streams.TranscriptEvent" if event == "TranscriptEvent" else f"models.{event}"
    iterator = f"AsyncGenerator[{kind}, None]" if is_async else f"Generator[{kind}, None, None]"
    parse = "streams." + re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
    last = tuple(operation.entry["last"])
    summary = "Follows them across reconnects. " + ("Ends with the call." if last else "Never ends by itself.")
    return (
        f"    def {name}({arguments}) -> {iterator}:\n"
        f"{indent(docstring(operation, summary))}\n"
        f'        return self._stream(Request("GET", {path_of(operation)}), {parse}, {last!r}, last_event_id)\n'
    )


def indent(text: str) -> str:
    return textwrap.indent(text, " " * 8, lambda line: bool(line.strip()))


def class_name(resource: str) -> str:
    return "".join(part.capitalize() for part in resource.split("_"))


def module(all_operations: list[Operation], is_async: bool) -> str:
    text = HEADER.format(
        title="The methods of the client for asyncio." if is_async else "The methods of the client.",
        iterator="AsyncGenerator" if is_async else "Generator",
        pages="AsyncPages" if is_async else "Pages",
        transport="_async_transport" if is_async else "_transport",
        resource="AsyncResource" if is_async else "Resource",
    )
    for resource in dict.fromkeys(one.resource for one in all_operations):
        prefix = "Async" if is_async else ""
        text += f"\n\nclass {prefix}{class_name(resource)}({prefix}Resource):\n"
        methods = []
        for operation in all_operations:
            if operation.resource == resource:
                kind = stream if "stream" in operation.entry else method
                methods.append(kind(operation, is_async))
                if "dry_run" in operation.entry:
                    methods.append(dry_run(operation, is_async))
        text += "\n".join(methods)
    return text


def main(document: Schema, names: dict[str, Schema], folder: Path) -> None:
    found = operations(document, names)
    (folder / "_resources.py").write_text(module(found, is_async=False))
    (folder / "_async_resources.py").write_text(module(found, is_async=True))
