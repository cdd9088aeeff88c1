"""Calls to one model endpoint: pace, budget, retries. Nothing here raises; what cannot be had now is put off.

A trouble is either everybody's (the endpoint is away, over its limits, or refuses the key): then facts are `Deferred` and
the rest of the batch is not even tried; or it may be the fact's own (a timeout, an error 500): then, after the retries, the
fact fails, so that one that brings the endpoint down is parked in the end.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import httpx

from crawler.extractors.contract import Deferred, Failure
from crawler.metrics import note_model_call

LONGEST_WAIT_SECONDS: Final = 60.0
_FIRST_WAIT_SECONDS: Final = 0.5
_REST_SECONDS: Final = 60.0
_SPENT_SECONDS: Final = 3_600.0
_LONGEST_ANSWER: Final = 4 * 1024 * 1024
_SHOWN: Final = 200
_AWAY: Final = frozenset({502, 503, 504})
_NOT_WITH_THIS_RULE: Final = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 405})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """``url`` is that of chat completions; ``retries`` come after the first attempt."""

    url: str
    key: str | None = field(repr=False)
    timeout_seconds: float
    retries: int
    concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The seam for tests: a clock in seconds, a wait, and a share of it."""

    clock: Callable[[], float]
    wait: Callable[[float], object]
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An attempt without an answer. ``wait``: what the endpoint asks for; ``final``: a retry cannot help."""

    label: str
    message: str
    everybodys: bool = False
    final: bool = False
    wait: float | None = None


class Limits:
    """What one rule may spend in one process, shared by its threads. None: no limit."""

    def __init__(
        self, timing: Timing, *, requests_per_minute: float | None, max_calls: int | None, max_tokens_total: int | None
    ) -> None:
        self._timing = timing
        self._gap = 0.0 if requests_per_minute is None else 60.0 / requests_per_minute
        self._max_calls = max_calls
        self._max_tokens = max_tokens_total
        self._lock = threading.Lock()
        self._next_at = 0.0
        self._rest: tuple[float, str] | None = None
        self.calls = 0
        self.tokens = 0

    def take(self) -> Deferred | None:
        """Leave for one call, waiting for its turn; or how long there will be none."""
        with self._lock:
            refused = self._refusal()
            if refused is not None:
                return refused
            now = self._timing.clock()
            starts = max(now, self._next_at)
            self._next_at = starts + self._gap
            self.calls += 1
        if starts > now:
            self._timing.wait(starts - now)
        return None

    def refusal(self) -> Deferred | None:
        with self._lock:
            return self._refusal()

    def hold(self, seconds: float) -> None:
        """No further call of any thread before that."""
        with self._lock:
            self._next_at = max(self._next_at, self._timing.clock() + seconds)

    def rest(self, seconds: float, reason: str) -> Deferred:
        with self._lock:
            self._rest = (self._timing.clock() + seconds, reason)
        return Deferred(seconds=seconds, reason=reason)

    def spend(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens

    def _refusal(self) -> Deferred | None:
        if self._max_calls is not None and self.calls >= self._max_calls:
            return Deferred(seconds=_SPENT_SECONDS, reason=f"max_calls ({self._max_calls}) is spent in this process")
        if self._max_tokens is not None and self.tokens >= self._max_tokens:
            reason = f"max_tokens_total ({self._max_tokens}) is spent in this process"
            return Deferred(seconds=_SPENT_SECONDS, reason=reason)
        if self._rest is not None and (left := self._rest[0] - self._timing.clock()) > 0:
            return Deferred(seconds=left, reason=self._rest[1])
        return None


class ModelClient:
    """Open for one batch; threads share it."""

    def __init__(self, endpoint: Endpoint, limits: Limits, timing: Timing) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._timing = timing
        key = {} if endpoint.key is None else {"Authorization": f"Bearer {endpoint.key}"}
        self._http = httpx.Client(
            headers={"Content-Type": "application/json", **key},
            timeout=endpoint.timeout_seconds,
            limits=httpx.Limits(max_connections=endpoint.concurrency),
        )

    def close(self) -> None:
        self._http.close()

    def ask(self, request: bytes) -> bytes | Failure | Deferred:
        """The body of the answer, after as many attempts as it takes and the rule allows."""
        for attempt in range(self._endpoint.retries + 1):
            refused = self._limits.take()
            if refused is not None:
                return refused
            said = self._attempt(request)
            note_model_call("ok" if isinstance(said, bytes) else said.label)
            if isinstance(said, bytes):
                return said
            wait = said.wait if said.wait is not None else self._back_off(attempt)
            if said.final or wait > LONGEST_WAIT_SECONDS or attempt == self._endpoint.retries:
                return self._given_up(said, wait)
            if said.everybodys:
                self._limits.hold(wait)
            else:
                self._timing.wait(wait)
        raise AssertionError("the last attempt returns")

    def _back_off(self, attempt: int) -> float:
        ceiling = min(_FIRST_WAIT_SECONDS * 2.0**attempt, LONGEST_WAIT_SECONDS)
        return ceiling * (0.5 + self._timing.jitter() / 2)

    def _given_up(self, trouble: Trouble, wait: float) -> Failure | Deferred:
        if trouble.everybodys:
            return self._limits.rest(max(wait, _REST_SECONDS), f"{trouble.label}: {trouble.message}")
        return Failure(label=f"llm: {trouble.label}", message=trouble.message)

    def _attempt(self, request: bytes) -> bytes | Trouble:
        until = self._timing.clock() + self._endpoint.timeout_seconds
        try:
            with self._http.stream("POST", self._endpoint.url, content=request) as response:
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _LONGEST_ANSWER:
                        return Trouble(label="too long", message=f"over {_LONGEST_ANSWER} bytes", final=True)
                    if self._timing.clock() > until:
                        return self._timed_out()
                return bytes(body) if response.status_code == httpx.codes.OK else _judged(response, bytes(body))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            return Trouble(label="unreachable", message=str(error), everybodys=True)
        except httpx.TimeoutException:
            return self._timed_out()
        except httpx.RequestError as error:
            return Trouble(label="connection lost", message=f"{type(error).__name__}: {error}")

    def _timed_out(self) -> Trouble:
        return Trouble(label="timeout", message=f"no answer within {self._endpoint.timeout_seconds:g} s")


def _judged(response: httpx.Response, body: bytes) -> Trouble:
    """What a status other than 200 means for the fact and for everybody."""
    status = response.status_code
    message = f"HTTP {status}: {body[:_SHOWN].decode('utf-8', 'replace')!r}"
    wait = _retry_after(response.headers.get("Retry-After"))
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return Trouble(label="rate limited", message=message, everybodys=True, wait=wait)
    if status in _AWAY:
        return Trouble(label="unavailable", message=message, everybodys=True, wait=wait)
    if status in _NOT_WITH_THIS_RULE:
        return Trouble(label="refused", message=message, everybodys=True, final=True)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return Trouble(label="server error", message=message, wait=wait)
    return Trouble(label="bad request", message=message, final=True)


def _retry_after(header: str | None) -> float | None:
    """Seconds; a date is left to the back-off, since two clocks may differ."""
    digits = (header or "").strip()
    return float(digits[:9]) if digits.isascii() and digits.isdecimal() else None
