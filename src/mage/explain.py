"""What pydantic found wrong with a recipe, as sentences that name the key, the value and what is accepted."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """All mistakes in one line; what may stand in one place in several forms is said once, with `or` between them.

    >>> class Tea(BaseModel, extra="forbid"):
    ...     cups: int = 1
    >>> try:
    ...     Tea.model_validate({"cups": "many", "sugar": 1})
    ... except ValidationError as error:
    ...     explain(error, Tea)
    "cups = 'many': should be a valid integer, unable to parse string as an integer; sugar: unknown key; known: cups"
    """
    sentences: dict[str, str] = {}
    for item in error.errors():
        if item["type"] == "too_short" and len(item["input"]):
            continue  # its items are wrong, and each of them is told by itself
        location = item["loc"] if item["type"] == "extra_forbidden" else _path(item["loc"])
        key = ".".join(map(str, location))
        sentence = _sentence(key, item, model)
        told = sentences.get(key)
        sentences[key] = sentence if told is None else f"{told}, or {sentence.rpartition(': ')[2]}"
    return "; ".join(sentences.values())


def _path(location: Location) -> Location:
    """The location without the parts by which pydantic tells the members of a union apart."""
    return tuple(part for part in location if isinstance(part, int) or part.isidentifier())


def _sentence(key: str, item: Any, model: type[BaseModel]) -> str:
    match item["type"]:
        case "extra_forbidden":
            return f"{key}: unknown key{_known(item['loc'][:-1], model)}"
        case "missing":
            return f"{key}: missing in {item['input']!r}"
        case "tuple_type":
            return f"{key} = {item['input']!r}: should be a list"
        case "too_short":
            return f"{key} = {item['input']!r}: should have at least {item['ctx']['min_length']} item"
        case "model_type" | "model_attributes_type":
            return f"{key} = {item['input']!r}: should be a table{_known(_path(item['loc']), model)}"
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if not key:
        return str(message)
    return f"{key} = {item['input']!r}: {message[0].lower()}{message[1:]}"


def _known(path: Location, model: type[BaseModel]) -> str:
    """The keys of the section at `path`."""
    for part in path:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next(kind for kind in (annotation, *get_args(annotation)) if _is_section(kind))
    return f"; known: {', '.join(sorted(model.model_fields))}"


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
