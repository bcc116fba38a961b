"""What a player sees (section 6), as one lazy expression over the fields of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.spec import GameState
from tensor_envs.games.three_will.agents import FLAG, IN_WORD, SQUARE
from tensor_envs.games.three_will.data import (
    AGENTS,
    CHALLENGE,
    FACES,
    FMOVE,
    MOVE,
    PLAYERS,
    SIDE,
    SLOTS,
    SQUARES,
)

if TYPE_CHECKING:
    from tensor_envs.games.three_will.rules import ThreeWillRules

STANDINGS = 3  # active, held, locked
CARDS = 2 * PLAYERS + 1  # Double Risk and Free cards of both, the bank
SEEN = AGENTS * (2 * SIDE + STANDINGS) + FACES + CHALLENGE + 1 + CARDS + 3


def length(ids_visible: bool) -> int:
    return SEEN + AGENTS * ids_visible


def observation(rules: ThreeWillRules, s: GameState, player: Tensor) -> Tensor:
    """[B, length] float32, from the chair of each game's observing seat."""
    cards = max(1, rules.cards_total)
    dr, free = (chairs(pile.cast(dtypes.float32), player) for pile in (s.dr, s.free))
    bank = rules.cards_total - (dr + free).sum(1, keepdim=True)
    directed = (s.phase == MOVE) | (s.phase == FMOVE)
    last = (s.challenge_left, s.turns / rules.max_turns, s.current_player == player)
    parts = [
        board(s.agents, player),
        one_hot(s.die - 1, FACES) & directed.unsqueeze(1),
        one_hot(s.phase, CHALLENGE + 1),
        dr / max(1, rules.cards_each),
        free / cards,
        bank / cards,
        *(value.unsqueeze(1) for value in last),
    ]
    if rules.ids_visible:  # G27
        parts.append(chairs(numbers(s.bearers), player).flatten(1) / SLOTS)
    return Tensor.cat(*(part.cast(dtypes.float32) for part in parts), dim=1)


def board(words: Tensor, player: Tensor) -> Tensor:
    """[B, 304] bool: for every agent, own ones first, row, column and standing; Black's chair is turned by half."""
    bytes_ = (words.unsqueeze(-1) >> counted(IN_WORD) * 8).cast(dtypes.int32)
    agents = bytes_.reshape(-1, PLAYERS, SLOTS)
    square, lower = agents & SQUARE, (agents & FLAG) != 0
    goals = (counted(PLAYERS) == 0).where(SIDE - 1, 0).reshape(PLAYERS, 1)
    locked = square // SIDE == goals
    standings = (locked | lower).logical_not(), lower & locked.logical_not(), locked
    standing = chairs(Tensor.stack(*standings, dim=-1), player)
    square = (player == 0).reshape(-1, 1, 1).where(square, SQUARES - 1 - square)
    square = chairs(square, player)
    rows, columns = one_hot(square // SIDE, SIDE), one_hot(square % SIDE, SIDE)
    return rows.cat(columns, standing, dim=-1).flatten(1)


def chairs(pairs: Tensor, player: Tensor) -> Tensor:
    """[B, 2, ...], White first -> the observer first."""
    white = (player == 0).reshape(-1, *(1,) * (pairs.ndim - 1))
    return white.where(pairs, pairs.flip(1))


def numbers(bearers: Tensor) -> Tensor:
    """Slots by number, packed [B, 2] -> numbers by slot [B, 2, 8]."""
    eight = counted(SLOTS)
    slots = (bearers.unsqueeze(-1) >> eight * 4 & 0xF).unsqueeze(-2)  # [B, 2, 1, number - 1]
    return (slots == eight.unsqueeze(-1)).where(eight + 1, 0).sum(-1)


def one_hot(values: Tensor, classes: int) -> Tensor:
    return values.unsqueeze(-1) == counted(classes, values.dtype)


def counted(n: int, dtype: DType = dtypes.uint32) -> Tensor:
    """0, 1, .. n - 1."""
    return Tensor.arange(n, dtype=dtype)
