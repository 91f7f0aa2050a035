"""A checker of JSON values against a schema, for the keywords that `model.schema.json` uses."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}

COMPARED = {
    "minimum": ("at least", operator.ge),
    "maximum": ("at most", operator.le),
    "exclusiveMinimum": ("above", operator.gt),
    "exclusiveMaximum": ("below", operator.lt),
}


@cache
def definitions() -> Schema:
    """Return the definitions of `model.schema.json`."""
    text = Path(__file__).with_name("model.schema.json").read_text(encoding="utf-8")
    found: Schema = json.loads(text)["$defs"]
    return found


def check(value: object, name: str) -> None:
    """Raise a ValueError about the first entry of a value that its definition does not allow.

    >>> check({"power": 0.5, "usual": 2.0}, "margins")
    >>> check({"power": 0.5, "usual": -2.0}, "margins")
    Traceback (most recent call last):
        ...
    ValueError: content.usual must be above 0, got -2.0
    """
    for fault in _faults(value, definitions()[name], "content"):
        raise ValueError(fault)


def _resolved(schema: Schema) -> Schema:
    """Return a schema with the definition that it refers to, if it does."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    return {**_resolved(definitions()[name]), **schema, "$ref": ""} if name else schema


def _faults(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """Yield what is wrong with a value, entry by entry."""
    schema = _resolved(schema)
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(type(value) in TYPES[name] for name in names):
            yield f"{path} must be of type {' or '.join(names)}, got {value!r:.40}"
            return
    options = [schema["const"]] if "const" in schema else schema.get("enum", [value])
    if not any(
        value == one and isinstance(value, bool) == isinstance(one, bool) for one in options
    ):
        yield f"{path} must be {' or '.join(map(repr, options))}, got {value!r:.40}"
    if "oneOf" in schema:
        tried = [list(_faults(value, one, path)) for one in reversed(schema["oneOf"])]
        if all(tried):
            yield min(tried, key=len)[0]
    if isinstance(value, dict):
        yield from _faults_of_entries(value, schema, path)
    elif isinstance(value, list):
        yield from _faults_of_items(value, schema, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        for keyword, (words, holds) in COMPARED.items():
            if keyword in schema and not holds(value, schema[keyword]):
                yield f"{path} must be {words} {schema[keyword]:g}, got {value!r:.40}"


def _faults_of_entries(value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path} lacks the entry {name!r}"
    for name, entry in value.items():
        if name in properties:
            yield from _faults(entry, properties[name], f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{path} has an unknown entry, {name!r:.40}"


def _faults_of_items(value: list[Any], schema: Schema, path: str) -> Iterator[str]:
    low, n = schema.get("minItems", 0), len(value)
    if not low <= n <= schema.get("maxItems", n):
        yield f"{path} must have {low} items{'' if 'maxItems' in schema else ' or more'}, got {n}"
    items, types = _resolved(schema.get("items", {})), set(map(type, value))
    if types <= {int, float, str}:  # each value once; of numbers, those at the ends
        different = list({(type(one), one): one for one in value}.values())
        if schema.get("uniqueItems") and len(different) < n:
            yield f"{path} must have different items"
        is_range = n > 2 and str not in types and items.get("type") == "number"
        value = [min(value), max(value)] if is_range else different
    for i, item in enumerate(value):
        yield from _faults(item, items, f"{path}[{i}]" if len(value) == n else f"{path}[...]")
