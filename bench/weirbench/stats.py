"""Medians, spreads, ratios and verdicts. Plain functions of numbers: nothing here measures."""

import math
import statistics
from dataclasses import dataclass

NOISY_SPREAD = 0.15  # (max - min) / median above which a cell is marked
NOISY_OTHERS = 0.05  # share of the server's core that others took
SERVER_BUSY = 0.95  # from here on the server was the limit
CLIENT_IDLE = 0.70  # up to here the client was not
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    median: float
    low: float
    high: float

    @property
    def spread(self):
        return (self.high - self.low) / self.median if self.median else 0.0


def summarise(values):
    values = list(values)
    if not values:
        raise ValueError("nothing was measured")
    return Summary(statistics.median(values), min(values), max(values))


def percentiles(values):
    """By nearest rank: the smallest value that as many are not above. None of it is a mean."""
    values = sorted(values)
    if not values:
        raise ValueError("nothing was logged")
    return {name: values[max(-(-per_mille * len(values) // 1000), 1) - 1]
            for name, per_mille in (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999))}


def client_bound(server_share, client_share):
    """Was the client the limit? Then requests per second are only a lower bound."""
    return server_share < SERVER_BUSY and client_share > CLIENT_IDLE


def noisy(spread, others_share):
    return spread > NOISY_SPREAD or others_share > NOISY_OTHERS


@dataclass(frozen=True)
class Ratio:
    """The median of quotients of rounds that ran in turn; between low and high it truly is."""

    value: float
    low: float
    high: float


def ratio(ours, theirs):
    """
    `ours` and `theirs` are {number of the round: value}; the same round of both ran one after the
    other, so what drifts has no part in their quotient. A round that one of them was not in is left out.
    """
    quotients = sorted(ours[n] / theirs[n] for n in ours.keys() & theirs.keys())
    if not quotients:
        raise ValueError("no round in common")
    outside = outliers(len(quotients))
    return Ratio(statistics.median(quotients), quotients[outside], quotients[-1 - outside])


def outliers(count):
    """
    How many of the smallest, and of the largest, of so many values may be left out, and the median of
    all that could have been measured still lies between the others in CONFIDENCE of all cases. By the
    sign test: each value is above it or below it as a coin falls. None of them where there are few.
    """
    outside, chance = 0, 2 * 0.5 ** count  # that all lie on one side of it
    while outside < (count - 1) // 2:
        chance += 2 * math.comb(count, outside + 1) * 0.5 ** count
        if chance > 1 - CONFIDENCE:
            break
        outside += 1
    return outside


def best(medians):
    """Name of the smallest of {name: median}, or None; the first of equals."""
    return min(medians, key=medians.get, default=None)


def verdict(found, target):
    """'met' or 'missed', with '?' where the rounds leave that open; None without a target."""
    if target is None:
        return None
    word = "met" if found.value <= target else "missed"
    sure = found.high <= target if word == "met" else found.low > target
    return word if sure else word + "?"
