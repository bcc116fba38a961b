"""Order of variants by balance and decisiveness, for sweeps over rule fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensor_envs.lab.estimates import Measurement

if TYPE_CHECKING:
    from tensor_envs.lab.report import VariantReport

LEAD = "winner's lead at 0.5"


@dataclass(frozen=True)
class Standing:
    """Entry of a ranking of variants; README.md defines the numbers.

    Attributes:
        variant: the variant.
        balance, decisiveness: numbers up to 1, which is best.
        front: whether no other variant exceeds it in both numbers.

    Examples:
        >>> envs = te.lab.variants(te.make("tic_tac_toe"), {})
        >>> te.lab.measure(envs, players=["uniform"], games=64).ranking[0].front
        True
    """

    variant: VariantReport
    balance: Measurement
    decisiveness: Measurement
    front: bool


def ranking(variants: Sequence[VariantReport]) -> list[Standing]:
    """Rank variants: first the front, and then by the sum of both numbers; no entries in games for one player."""
    if any(strongest(variant) is None for variant in variants):
        return []
    valued = all((str(strongest(variant)), LEAD) in variant.numbers for variant in variants)
    numbers = [(_balance(variant), _decisiveness(variant, valued)) for variant in variants]
    standings = list[Standing]()
    for variant, (balance, decisiveness) in zip(variants, numbers, strict=True):
        exceeded = any(
            other_balance.value > balance.value and other_decisiveness.value > decisiveness.value
            for other_balance, other_decisiveness in numbers
        )
        standings.append(Standing(variant, balance, decisiveness, not exceeded))
    return sorted(standings, key=lambda entry: (not entry.front, -entry.balance.value - entry.decisiveness.value))


def strongest(variant: VariantReport) -> str | None:
    """Return the strongest search, else the uniform player; None in games without draws, those for one player."""
    players = [who for who in variant.actions if (who, "draws") in variant.numbers and who != "trained"]
    return players[-1] if players else None


def _balance(variant: VariantReport) -> Measurement:
    """Return 1 minus the largest advantage of a seat or of the first move, relative to the largest possible one."""
    who = strongest(variant)
    scores = {what: number for (player, what), number in variant.numbers.items() if player == who and "score" in what}
    seats = sum("score of player" in what for what in scores)
    fair = 1 / max(seats, 2)  # games for two have only the score of player 0
    worst = max(scores.values(), key=lambda score: abs(score.value - fair))
    value = 1 - abs(worst.value - fair) / (1 - fair)
    error = worst.half_width / (1 - fair)
    return Measurement(value, max(value - error, 0), min(value + error, 1), worst.error / (1 - fair))


def _decisiveness(variant: VariantReport, valued: bool) -> Measurement:
    """Return the share of games with a winner, times the winner's lead at half of the game if positions have values."""
    who = str(strongest(variant))
    draws = variant.numbers[who, "draws"]
    won = 1 - draws.value
    if not valued:
        return Measurement(won, 1 - draws.high, 1 - draws.low, draws.error)
    lead = variant.numbers[who, LEAD]
    return Measurement(lead.value * won, lead.low * won, lead.high * won, lead.error * won)
