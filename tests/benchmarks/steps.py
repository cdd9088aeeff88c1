"""Where the time of a run goes."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


@dataclass(kw_only=True)
class Steps:
    """Seconds a step, over a whole run."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of the block to a step."""
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds[step] += perf_counter() - began

    def shares(self) -> dict[str, float]:
        """Each step's part of all of them."""
        whole = sum(self.seconds.values()) or 1.0
        return {step: spent / whole for step, spent in sorted(self.seconds.items(), key=lambda item: -item[1])}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of one system: how many facts, how long, and on what."""

    system: str
    size: int
    facts: int
    seconds: float
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Facts a second."""
        return self.facts / self.seconds
