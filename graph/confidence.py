"""Noisy-OR confidence that is exact and does not depend on the order of arrival.

An edge keeps how many of its counting observations are certain (confidence 1) and the sum of ``-ln(1-c)`` of the
others as a scaled integer; both only ever add and subtract, so a withdrawal leaves exactly what the others give.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

SCALE = 10**15
DIGITS = 12


@lru_cache(maxsize=4_096)
def weight(confidence: float) -> int:
    """``-ln(1 - confidence)`` in units of 1/SCALE; 0 for a certain observation, which is counted apart."""
    return 0 if confidence >= 1.0 else round(-math.log1p(-confidence) * SCALE)


@lru_cache(maxsize=4_096)
def confidence_of(total: int) -> float:
    """The confidence that a sum of weights stands for."""
    # Zero is added so that nothing is zero and not minus zero, which reads differently as text.
    return round(-math.expm1(-total / SCALE), DIGITS) + 0.0


@lru_cache(maxsize=4_096)
def once(confidence: float) -> "Strength":
    """The strength of a single observation."""
    return Strength().plus(confidence)


class Strength(NamedTuple):
    """What the counting observations of one edge add up to."""

    observations: int = 0
    certain: int = 0
    weight: int = 0

    def plus(self, confidence: float, times: int = 1) -> "Strength":
        """With ``times`` more (or, negative, fewer) observations of this confidence."""
        return Strength(
            observations=self.observations + times,
            certain=self.certain + (times if confidence >= 1.0 else 0),
            weight=self.weight + times * weight(confidence),
        )

    @property
    def confidence(self) -> float:
        """1 - product over the counting observations of (1 - c)."""
        return 1.0 if self.certain else confidence_of(self.weight)


def combine_confidence(values: Iterable[float]) -> float:
    """Noisy-OR of independent confidences."""
    total = Strength()
    for value in values:
        total = total.plus(value)
    return total.confidence
