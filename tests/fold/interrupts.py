"""Statements as the places where things happen: a kill, a dropped connection, a pause that lets another one run.

A `Script` is attached to a thread; the driver's `execute` asks it before each statement of that thread.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

_scripts = threading.local()


class Killed(BaseException):
    """The process dies here: nothing catches this, the server rolls back what was open."""


class Script:
    """What happens before the n-th statement (counted from 0); `reached` says that it happened."""

    def __init__(self, statement: int, act: "Callable[[psycopg.Cursor[Any]], None]") -> None:
        self._left = statement
        self._act = act
        self.reached = False

    def before(self, cursor: "psycopg.Cursor[Any]") -> None:
        if self._left == 0 and not self.reached:
            self.reached = True
            self._act(cursor)
        self._left -= 1


def kill(_cursor: "psycopg.Cursor[Any]") -> None:
    """Die."""
    raise Killed


def drop(cursor: "psycopg.Cursor[Any]") -> None:
    """Lose the connection, as when a network or a server goes away."""
    cursor.connection.close()


@contextmanager
def following(script: Script) -> Iterator[Script]:
    """Attach a script to this thread."""
    _scripts.current = script
    try:
        yield script
    finally:
        _scripts.current = None


@contextmanager
def interruptible() -> Iterator[None]:
    """Statements of every thread ask its script, if there is one."""
    execute = psycopg.Cursor.execute

    def asking(self: "psycopg.Cursor[Any]", *args: Any, **kwargs: Any) -> Any:
        script: Script | None = getattr(_scripts, "current", None)
        if script is not None:
            script.before(self)
        return execute(self, *args, **kwargs)

    psycopg.Cursor.execute = asking  # type: ignore[method-assign]
    try:
        yield
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]
