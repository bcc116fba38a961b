"""Dictionaries and action names of Kuhn poker."""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import nested, shown
from tensor_envs.games.kuhn_poker.rules import BET, CARDS, PASS, KuhnPoker
from tensor_envs.rules.plain import ended

NAMES = ("pass", "bet")
OPEN: tuple[list[int], ...] = ([], [PASS], [BET], [PASS, BET])  # histories of games that go on
ENDED = ([PASS, PASS], [BET, PASS], [BET, BET], [PASS, BET, PASS], [PASS, BET, BET])
# no symmetries but the identity: the cards differ in rank, and the players in their legal actions


def to_dict(rules: KuhnPoker, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"cards": [of player 0, of player 1], "history": actions in order} for the fields of a game (K6)."""
    return {"cards": list(s["cards"]), "history": [s["bets"] >> i & 1 for i in range(s["ply"])]}


def from_dict(rules: KuhnPoker, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    cards = nested("cards", game["cards"], (2,), 0, CARDS - 1)
    history = nested("history", game["history"], (None,), PASS, BET)
    if cards[0] == cards[1]:
        raise ValueError(f"cards must be two different cards, got {cards}")
    if history not in (*OPEN, *ENDED):
        raise ValueError(f"history must be that of a game, such as [0, 1], got {shown(history)}")
    plies = len(history)
    bets = sum(bet << i for i, bet in enumerate(history))
    turn = {"ply": plies, "current_player": plies % 2}
    return {"cards": cards, "bets": bets, **ended(history in ENDED), **turn}


def spellings(rules: KuhnPoker, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return more names of actions: "check" for a pass before a bet, "fold" and "call" after one."""
    answers = s["ply"] > 0 and s["bets"] >> s["ply"] - 1 & 1 == BET
    return {"fold": PASS, "call": BET} if answers else {"check": PASS}


def action_to_string(rules: KuhnPoker, action: int) -> str:
    """Return "pass" or "bet" (K2)."""
    return NAMES[action]
