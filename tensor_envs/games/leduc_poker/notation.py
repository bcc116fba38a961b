"""How positions and actions of Leduc poker are written."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.leduc_poker.rules import ANTE, CALL, CARDS, FOLD, RAISE, ROUND_BITS, LeducPoker
from tensor_envs.rules import GameState, Symmetry, integer, scalar
from tensor_envs.rules.chance import NoChance

NAMES = ("fold", "call", "raise")


def to_dict(rules: LeducPoker, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"cards": [of player 0, of player 1], "public": card, "history": actions in order} (L7)."""
    kinds = {1: CALL, 2: RAISE}
    pairs = [s["history"] >> bit & 3 for bit in range(0, 2 * ROUND_BITS, 2)]
    history = [kinds[pair] for pair in pairs if pair]
    folded = [FOLD] * (s["ply"] - len(history))  # which `history` does not note
    return {"cards": list(s["cards"]), "public": s["public"], "history": history + folded}


def from_dict(rules: LeducPoker, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`: the actions are played."""
    cards = nested("cards", game["cards"], (2,), 0, CARDS - 1)
    public = nested("public", game["public"], (), 0, CARDS - 1)
    history = nested("history", game["history"], (None,), 0, len(NAMES) - 1)
    if len({*cards, public}) != 3:
        raise ValueError(f"cards and public must be three different cards, got {[*cards, public]}")
    zeros = dict.fromkeys(("round", "actions", "raises", "history", "current_player", "ply"), integer(0))
    known = {
        "cards": [integer(card) for card in cards],
        "public": integer(public),
        "bets": [integer(ANTE)] * 2,
    }
    s, over = GameState(known | zeros), False
    for ply, action in enumerate(history):
        legal = () if over else actions_of(s)
        if action not in legal:
            raise ValueError(f"history[{ply}] must be one of {[*legal]}, got {action}")
        outcome = rules.step(s, integer(action), NoChance())
        s, over = outcome.state.replace(ply=integer(ply + 1)), bool(scalar(outcome.terminated).value)
    return {name: plain(value) for name, value in s.asdict().items()} | {
        "terminated": over,
        "truncated": False,
    }


def actions_of(s: GameState) -> list[int]:
    """The legal actions of a game that goes on."""
    return [action for action, legal in enumerate(LeducPoker().legal_action_mask(s)) if scalar(legal).value]


def plain(value: Any) -> Any:
    """Plain numbers of scalars."""
    return [x.value for x in value] if isinstance(value, list) else value.value


def action_to_string(rules: LeducPoker, action: int) -> str:
    """ "fold", "call" or "raise" (L3)."""
    return NAMES[action]


def symmetries(rules: LeducPoker) -> Iterator[Symmetry]:
    """The identity: suits do not count, but a deal is no action that could be mapped."""
    yield Symmetry(tuple(range(len(NAMES))), tuple(range(rules.spec.observation_shape[0])), {})
