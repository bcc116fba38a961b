"""Actions as data: named ranges of action numbers, decoded in `step` and assembled in `legal_action_mask`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensor_envs._compiler.tape import BOOL, UINT32, UINT64
from tensor_envs._validate import integer, shown
from tensor_envs.rules.lists import add_bits, flat, halves, num_words, pack, pack_flags
from tensor_envs.rules.scalar import Scalar, Value, int32, maximum, minimum, refuse, scalar, uint32, where

MAX_ACTIONS = 2**31 - 1


@dataclass(frozen=True)
class Choice:
    """Position of an action relative to a range of actions.

    Attributes:
        chosen: whether the action is in the range.
        index: its index in the range, from 0; the nearest one if the action is not in it.
    """

    chosen: Scalar
    index: Scalar


class ActionParts:
    """Decoded action of one game, with a `Choice` for each range as an attribute of its name."""

    def __init__(self, actions: Actions, action: Value):
        self._actions = actions
        self._action = int32(action)

    def __getattr__(self, name: str) -> Choice:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._actions.choice(name, self._action)


class Actions:
    """Named ranges of actions, one after the other from action 0.

    A range of 0 actions is allowed: rule fields may turn a kind of action off. If rules have an attribute `actions`,
    it also names actions by default.

    Args:
        **sizes: number of actions of each range by its name.

    Attributes:
        count: number of all actions.

    Raises:
        ValueError, TypeError: a size below 0, or no action at all.

    Examples:
        >>> actions = Actions(across=64, along=64, move=12)
        >>> a = actions.decode(int32(130))
        >>> actions.count, actions["move"], a.move.chosen, a.move.index, a.along.index
        (140, range(128, 140), bool(True), int32(2), int32(63))
        >>> actions.mask(across=uint64(1) << 40, move=[True] * 12)
        [uint32(0), uint32(256), uint32(0), uint32(0), uint32(4095)]
    """

    def __init__(self, **sizes: int):
        self._ranges: dict[str, range] = {}
        self.count = 0
        for name, size in sizes.items():
            if name.startswith("_"):
                raise ValueError(f"the name of a range of actions must not begin with _, got {shown(name)}")
            size = int(size) if isinstance(size, bool) else integer(name, size, 0, MAX_ACTIONS)
            self._ranges[name] = range(self.count, self.count + size)
            self.count += size
        integer("the number of all actions", self.count, 1, MAX_ACTIONS)

    def __repr__(self) -> str:
        return f"Actions({', '.join(f'{name}={len(span)}' for name, span in self._ranges.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Actions) and list(self._ranges.items()) == list(other._ranges.items())

    def __hash__(self) -> int:
        return hash(tuple(self._ranges.items()))

    def __getitem__(self, name: str) -> range:
        """Return the numbers of a range's actions. ValueError for another name."""
        if name not in self._ranges:
            refuse(f"no actions {name!r}; they are {', '.join(self._ranges)}", ValueError)
        return self._ranges[name]

    def decode(self, action: Value) -> ActionParts:
        """Return an action's `Choice` for every range, as in `decode(action).move.chosen` and `.index`."""
        return ActionParts(self, action)

    def choice(self, name: str, action: Scalar) -> Choice:
        """Return whether an action is in a range, and its index there. ValueError if no range has this name."""
        span = self[name]
        chosen = scalar(len(span) > 0)
        if span.start > 0:
            chosen = chosen & (action >= span.start)
        if span.stop < self.count:
            chosen = chosen & (action < span.stop)
        index = minimum(maximum(action - span.start, 0), max(len(span) - 1, 0))
        return Choice(chosen, index)

    def mask(self, **legal: Any) -> list[Scalar]:
        """Assemble a legal action mask from its parts.

        Args:
            **legal: legal actions of a range of n actions, by its name: a bool for all of them, n bools (nested lists
                allowed), or a set as a uint32, a uint64 or a list of words. Other ranges have no legal action.

        Returns:
            The words of the mask.

        Raises:
            ValueError: no such range, or a part of another size.
        """
        words = [uint32(0)] * num_words(self.count)
        for name, part in legal.items():
            span = self[name]
            add_bits(words, span.start, _words(name, part, len(span)), len(span))
        return words

    def name(self, action: int) -> str:
        """Return the default name of an action: "move 3", or "draw" in a range of one action.

        Examples:
            >>> actions = Actions(move=2, draw=1)
            >>> [actions.name(action) for action in range(3)]
            ['move 0', 'move 1', 'draw']
        """
        action = integer("action", action, 0, self.count - 1)
        name, span = next((name, span) for name, span in self._ranges.items() if action in span)
        words = name.replace("_", " ")
        return words if len(span) == 1 else f"{words} {action - span.start}"


def _words(name: str, legal: Any, size: int) -> list[Scalar]:
    """Return the legal actions of a range as words."""
    values = [scalar(x, UINT32) for x in flat(legal)]
    count = num_words(size)
    # One condition holds for the whole range.
    if isinstance(legal, (bool, Scalar)) and values[0].dtype is BOOL:
        return [where(values[0], uint32(w), 0) for w in pack(range(size), size)]
    if values and values[0].dtype is UINT64 and len(values) == 1:
        values = [*halves(values[0])][: max(count, 1)]
    # Conditions come before words: a range of one action has one of either.
    if all(x.dtype is BOOL for x in values) and len(values) == size:
        return pack_flags(values)
    if not all(x.dtype is UINT32 for x in values) or len(values) != count:
        kinds = ", ".join(sorted({x.kind for x in values}))
        refuse(
            f"{name} must be a bool, {size} bools, or a set of {size} members in {count} words; got {len(values)} of "
            f"kind {kinds}",
            ValueError,
        )
    return values
