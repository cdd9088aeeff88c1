"""What is counted, in the format that Prometheus reads. One registry a process; every room adds its own to it.

Labels come from closed sets (names of tools, roles, routes, codes), never from what a caller sent, so that no caller can
make the number of series grow, and nothing stored is ever a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from crawler.calls import call_counts
from crawler.usage import usage_counts
from facts.errors import HarvesterError
from facts.uncrawled import QueueStatistics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REGISTRY: Final = CollectorRegistry(auto_describe=True)
_REQUESTS: Final = Counter(
    "harvester_http_requests", "Requests answered.", ("method", "route", "status"), registry=REGISTRY
)
_REQUEST_SECONDS: Final = Histogram(
    "harvester_http_request_seconds",
    "From the first byte to the answer.",
    ("route",),
    buckets=_BUCKETS,
    registry=REGISTRY,
)
_MODEL_CALLS: Final = Counter(
    "harvester_model_calls", "Calls to model endpoints, by what came back.", ("outcome",), registry=REGISTRY
)
_MODEL_ANSWERS_REFUSED: Final = Counter(
    "harvester_model_answers_refused", "Answers of models that could not be taken.", ("reason",), registry=REGISTRY
)
_MODEL_TOKENS: Final = Counter("harvester_model_tokens", "Tokens that model endpoints reported.", registry=REGISTRY)


def note_request(*, method: str, route: str, status: int, seconds: float) -> None:
    _REQUESTS.labels(method if method in _METHODS else "other", route, str(status)).inc()
    _REQUEST_SECONDS.labels(route).observe(seconds)


def note_model_call(outcome: str) -> None:
    _MODEL_CALLS.labels(outcome).inc()


def note_model_answer(*, tokens: int | None, refused: str | None) -> None:
    """``refused``: the reason, of a closed set; None: the answer was taken."""
    _MODEL_TOKENS.inc(tokens or 0)
    if refused is not None:
        _MODEL_ANSWERS_REFUSED.labels(refused).inc()


class ToolCalls(Collector):
    """Tool calls of every surface, which the registry counts."""

    def collect(self) -> Iterable[Metric]:
        said = "Tool calls of every surface, by outcome: ok, or the code of the error."
        family = CounterMetricFamily("harvester_tool_calls", said, labels=("tool", "outcome"))
        for labels, count in call_counts().items():
            family.add_metric(labels, count)
        yield family


class UsageCounts(Collector):
    """The usage events, which are counted where they are raised."""

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("harvester_usage", "Usage events.", labels=("event", "role"))
        for (usage, role), count in usage_counts().items():
            family.add_metric((usage.value, role.value), count)
        yield family


REGISTRY.register(ToolCalls())
REGISTRY.register(UsageCounts())


class QueueGauges(Collector):
    """The queue as it is when somebody looks; with the database away it says that, and no number."""

    def __init__(self, look: Callable[[], QueueStatistics]) -> None:
        self._look = look

    def describe(self) -> Iterable[Metric]:
        """Without looking: registering must not ask the database."""
        return ()

    def collect(self) -> Iterable[Metric]:
        try:
            queue = self._look()
        except HarvesterError:
            yield GaugeMetricFamily("harvester_database_up", "Whether the database answered.", 0)
            return
        yield GaugeMetricFamily("harvester_database_up", "Whether the database answered.", 1)
        states = {
            "pending": queue.pending, "leased": queue.leased, "parked": queue.parked, "tombstones": queue.tombstones,
            "no_rule": queue.no_rule,
        }  # fmt: skip
        facts = GaugeMetricFamily("harvester_queue_facts", "Facts on the crawl queue.", labels=("state",))
        for state, count in states.items():
            facts.add_metric((state,), count)
        yield facts
        oldest = queue.oldest_pending_at
        age = 0.0 if oldest is None else (datetime.now(UTC) - oldest).total_seconds()
        yield GaugeMetricFamily("harvester_queue_oldest_seconds", "Age of the oldest pending fact.", max(age, 0.0))


def exposition(*registries: CollectorRegistry) -> bytes:
    """Everything in these registries, as Prometheus reads it."""
    return b"".join(generate_latest(each) for each in registries)
