"""Secrets that a rule refers to by the name of an environment variable, so that no file holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from crawler.errors import BadSetting


def secret_from_environment(name: str, *, argument: str, environment: Mapping[str, str] = os.environ) -> str:
    """What the variable holds; ``argument`` is the option that names it. The value is in no message."""
    value = environment.get(name, "").strip()
    if not value:
        raise BadSetting(f"{argument}: the environment variable {name} is not set", argument=argument)
    if not value.isascii() or not value.isprintable():
        raise BadSetting(f"{argument}: the value of {name} cannot stand in a header", argument=argument)
    return value
