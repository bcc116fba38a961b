"""Rounds of betting in games of poker, whose bets and turns do not depend on the cards."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tensor_envs.rules import int32, scalar
from tensor_envs.rules.chance import KeyedChance, NoChance
from tensor_envs.rules.plain import ended, open_actions, state_of, values_of

Betting = dict[str, Any]  # fields of a state, with cards of no meaning


# parts of names, and how else they are said
IN_WORDS = (
    ("all-in", "all in"),
    (" 100%", " pot"),
    (" 100%", " the pot"),
    (" 50%", " half pot"),
    (" 50%", " half the pot"),
)


def betting(rules: Any, history: Sequence[int]) -> Betting:
    """Return the fields after some actions. ValueError for an illegal action."""
    return _betting(rules, tuple(history))


@lru_cache(maxsize=1024)
def _betting(rules: Any, history: tuple[int, ...]) -> Betting:
    if not history:
        return values_of(state_of(rules, rules.init(KeyedChance((0, 0)))).asdict()) | ended(False)
    *before, action = history
    fields = betting(rules, before)
    legal = open_actions(rules, {}, fields)
    if action not in legal:
        raise ValueError(f"history[{len(before)}] must be one of {legal}, got {action}")
    outcome = rules.step(state_of(rules, fields), int32(action), NoChance())
    after = outcome.state.replace(ply=int32(len(history)))
    return values_of(after.asdict()) | ended(bool(scalar(outcome.terminated).value))


def positions(rules: Any, history: Sequence[int]) -> list[Betting]:
    """Return the fields before each action and after the last one."""
    return [betting(rules, history[:ply]) for ply in range(len(history) + 1)]


def rounds(
    rules: Any, history: Sequence[int], field: str, name: Callable[[Betting, Betting, int], str]
) -> list[list[str]]:
    """Return the names of the actions in each round so far.

    Args:
        rules, history: of the game.
        field: name of the field that has the number of the round.
        name: returns the name of an action from the fields before and after it.
    """
    before = positions(rules, history)
    moves = [*zip(before, before[1:], history, strict=False)]
    numbers = range(before[-1][field] + 1)
    return [[name(s, after, action) for s, after, action in moves if s[field] == number] for number in numbers]


def scores(rules: Any, game: dict[str, Any]) -> list[str]:
    """Return the chips of each player in the pot."""
    return [f"{bet} in the pot" for bet in betting(rules, game["history"])["bets"]]


def spellings(names: Mapping[int, str], bets: Sequence[int]) -> dict[str, int]:
    """Return more names of legal actions: "check" and "bet" where there is nothing to call, "all in", "raise pot".

    Args:
        names: names of the legal actions.
        bets: chips of both players in the pot.
    """
    owes_nothing = bets[0] == bets[1]
    more = dict[str, int]()
    for action, name in names.items():
        for text in (name, *(name.replace(*pair) for pair in IN_WORDS)):
            more[text] = action
            if owes_nothing:  # a call of nothing is a check, and a raise of nothing a bet
                more[text.replace("call", "check").replace("raise", "bet")] = action
    return more
