"""How tool arguments are read: both spellings of a name, lists as JSON strings, whole numbers, nothing unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from facts.errors import InvalidArgument
from facts.limits import unstorable

M = TypeVar("M", bound="Arguments")


class Arguments(BaseModel):
    """Base of every tool's arguments: fields in snake_case, camelCase accepted alike, unknown names refused."""

    # Whether the store judges every text of it, cleaning values and listing the faults of a batch.
    judged_by_store: ClassVar[bool] = False

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, arbitrary_types_allowed=True
    )


@dataclass(frozen=True, slots=True)
class Cap:
    """Metadata of a whole-number field: what lies above is cut, and the reply says so."""

    most: int


def _whole_number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a whole number")  # noqa: TRY004 - pydantic listens for ValueError
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise ValueError("must be a whole number") from None
    if isinstance(value, float):
        if not math.isfinite(value) or value != int(value):
            raise ValueError("must be a whole number")
        return int(value)
    return value


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic listens for ValueError
    return value


def decoded_json(value: object) -> object:
    """A list or object that arrives as JSON text, as some clients send them."""
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except ValueError:
            raise ValueError("must be a list or an object") from None
        return read
    return value


Count = Annotated[int, BeforeValidator(_whole_number), Field(ge=1, strict=True)]
Etag = Annotated[int, BeforeValidator(_whole_number), Field(strict=True)]
JsonList = BeforeValidator(decoded_json)
Texts = Annotated[list[str], JsonList]
Flag = Annotated[bool, Field(strict=True)]
Fraction = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, allow_inf_nan=False)]


def parse_arguments(model: type[M], given: Mapping[str, Any]) -> tuple[M, dict[str, int]]:
    """The checked arguments, and what was cut: ``{"limit": 500}``. The first fault is named, the others are listed."""
    if not isinstance(given, Mapping):
        raise InvalidArgument("arguments must be a JSON object", argument="args")
    try:
        if not model.judged_by_store:
            _require_storable(given, "")
        read = model.model_validate(dict(given))
    except RecursionError as error:
        raise InvalidArgument("the arguments are nested too deep", argument="args") from error
    except ValidationError as error:
        raise _complaint(error, model) from error
    return _capped(read)


def _require_storable(value: Any, path: str) -> None:
    """No text anywhere that the database cannot hold, not even to compare with."""
    if isinstance(value, str):
        fault = unstorable(value)
        if fault is not None:
            raise InvalidArgument(f"{path} {fault}", argument=path)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _require_storable(str(name), path or "the name of an argument")
            _require_storable(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            _require_storable(part, f"{path}.{number}")


def _capped(read: M) -> tuple[M, dict[str, int]]:
    cut: dict[str, int] = {}
    for name, field in type(read).model_fields.items():
        value = getattr(read, name)
        for mark in field.metadata:
            if isinstance(mark, Cap) and isinstance(value, int) and value > mark.most:
                cut[name] = mark.most
    capped = {field_alias(type(read), name): most for name, most in cut.items()}
    return (read.model_copy(update=cut) if cut else read), capped


def field_alias(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or name


def _complaint(error: ValidationError, model: type[BaseModel]) -> InvalidArgument:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    said = [_fault(fault["loc"], fault["type"], fault["msg"], model) for fault in faults]
    more = f" (and {len(said) - 5} more)" if len(said) > 5 else ""  # noqa: PLR2004 - enough to mend a call by
    message = "; ".join(text for _, text in said[:5]) + more
    return InvalidArgument(message, argument=said[0][0])


def _fault(location: tuple[int | str, ...], kind: str, message: str, model: type[BaseModel]) -> tuple[str, str]:
    path = ".".join(str(part) for part in location) or "args"
    text = message.removeprefix("Value error, ")
    if kind == "extra_forbidden":
        known = ", ".join(sorted(field_alias(model, name) for name in model.model_fields))
        return path, f"there is no argument {path!r}" + (f"; this tool takes {known}" if len(location) == 1 else "")
    if kind == "missing":
        return path, f"{path} is missing"
    return path, f"{path}: {text[:1].lower()}{text[1:]}"
