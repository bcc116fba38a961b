"""How positions and actions of Kuhn poker are written."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import nested, shown
from tensor_envs.games.kuhn_poker.rules import BET, CARDS, PASS, KuhnPoker
from tensor_envs.rules import Symmetry

NAMES = ("pass", "bet")
OPEN: tuple[list[int], ...] = ([], [PASS], [BET], [PASS, BET])  # the histories of games that go on
ENDED = ([PASS, PASS], [BET, PASS], [BET, BET], [PASS, BET, PASS], [PASS, BET, BET])


def to_dict(rules: KuhnPoker, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"cards": [of player 0, of player 1], "history": the actions in order} (K6)."""
    return {"cards": list(s["cards"]), "history": [s["bets"] >> i & 1 for i in range(s["ply"])]}


def from_dict(rules: KuhnPoker, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`."""
    cards = nested("cards", game["cards"], (2,), 0, CARDS - 1)
    history = nested("history", game["history"], (None,), PASS, BET)
    if cards[0] == cards[1]:
        raise ValueError(f"cards must be two different cards, got {cards}")
    if history not in (*OPEN, *ENDED):
        raise ValueError(f"history must be that of a game, such as [0, 1], got {shown(history)}")
    plies = len(history)
    over = {"terminated": history in ENDED, "truncated": False, "ply": plies, "current_player": plies % 2}
    return {"cards": cards, "bets": sum(bet << i for i, bet in enumerate(history)), **over}


def action_to_string(rules: KuhnPoker, action: int) -> str:
    """ "pass" or "bet" (K2)."""
    return NAMES[action]


def symmetries(rules: KuhnPoker) -> Iterator[Symmetry]:
    """The identity: the cards differ in rank, and the players in what they may do."""
    yield Symmetry(tuple(range(len(NAMES))), tuple(range(rules.spec.observation_shape[0])), {})
