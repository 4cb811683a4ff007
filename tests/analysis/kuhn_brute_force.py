"""The adaptive optimum of Kuhn poker by trying every pure strategy: shares nothing with the library."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from kuhn_tables import Table

DEALS = tuple(itertools.permutations(range(3), 2))
Deal = tuple[int, int]
Hidden = tuple[Table, Deal | None]  # the deal is part of what is hidden when it recurs
Plan = tuple[str, str, str]  # for each card: what to do first, then what to do when it comes to that
PLANS = {
    0: tuple(itertools.product(["bet", "check-fold", "check-call"], repeat=3)),
    1: tuple(itertools.product(["check-fold", "check-call", "bet-fold", "bet-call"], repeat=3)),
}


@cache
def play(seat: int, plan: Plan, opponent: Table, deal: Deal) -> list[tuple[float, tuple[object, ...], float]]:
    """(probability, what the agent has seen, its payoff) of one hand."""
    return list(_play(seat, plan, opponent, deal))


def _play(seat: int, plan: Plan, opponent: Table, deal: Deal) -> Iterator[tuple[float, tuple[object, ...], float]]:
    mine, theirs = deal[seat], deal[1 - seat]
    lead, call = opponent.lead[theirs], opponent.call[theirs]
    sign = 1 if mine > theirs else -1
    leads, calls = plan[mine].split("-")[0] == "bet", plan[mine].endswith("call")
    answered = [(call, ("bet called", mine, theirs), 2 * sign), (1 - call, ("bet folded", mine), 1)]
    facing = [("called", mine, theirs), 2 * sign] if calls else [("folded", mine), -1]
    checked = ("checked", mine, theirs)
    if seat == 0:
        outcomes = answered if leads else [(lead, *facing), (1 - lead, checked, sign)]
    else:
        after_check = answered if leads else [(1.0, checked, sign)]
        outcomes = [(lead, *facing), *((probability * (1 - lead), *rest) for probability, *rest in after_check)]
    for probability, seen, payoff in outcomes:
        if probability > 0:
            yield probability, seen, payoff


def adaptive(seat: int, belief: dict[Hidden, float], episodes: int) -> float:
    """Largest expected payoff of the last of some episodes, times the total of `belief`."""
    return _adaptive(seat, tuple(belief.items()), episodes)


@cache
def _adaptive(seat: int, belief: tuple[tuple[Hidden, float], ...], episodes: int) -> float:
    best = float("-inf")
    for plan in PLANS[seat]:
        value = 0.0
        after: dict[tuple[object, ...], dict[Hidden, float]] = defaultdict(lambda: defaultdict(float))
        for (opponent, known_deal), weight in belief:
            for deal in DEALS if known_deal is None else [known_deal]:
                share = weight / (len(DEALS) if known_deal is None else 1)
                for probability, seen, payoff in play(seat, plan, opponent, deal):
                    value += share * probability * payoff
                    after[seen][opponent, known_deal] += share * probability
        if episodes > 1:
            value = sum(adaptive(seat, posterior, episodes - 1) for posterior in after.values())
        best = max(best, value)
    return best
