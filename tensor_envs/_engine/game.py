"""Game: its rules, and the code around them that all games share.

All games share chance, the number of plies, episodes, illegal actions, truncation and the uniform policy. The code is
written in the language of rules: with plain numbers it plays one game in Python, and traced it becomes a kernel.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._compiler.tape import BOOL, FLOAT32, INT32, UINT32, Tape, record
from tensor_envs._validate import instance, wrong_type
from tensor_envs.rules.chance import Chance, KeyedChance, NoChance, scale, threefry
from tensor_envs.rules.kernel import loop, registers, sum_in_range
from tensor_envs.rules.lists import (
    MemoryArray,
    flat,
    nested,
    nth_bit,
    num_words,
    pack_flags,
    plain_numbers,
    popcount,
    shape_of,
)
from tensor_envs.rules.observation import Number, Part, named_parts
from tensor_envs.rules.scalar import WORD_BITS, Scalar, Value, int32, maximum, minimum, scalar, uint32, where
from tensor_envs.rules.spec import Field, GameState, Outcome, Rules, Spec, wrong_shape

if TYPE_CHECKING:
    from tensor_envs._engine.layout import MaskWords


PROMISE = 1000  # bound of the absolute value of a promise
LONG_MASK = 32  # words from which a mask is searched in two stages, see `uniform_action`
WORD_GROUP = 8  # words of a group in the first stage
PLAIN_INTS = (bool, int, np.bool_, np.integer)  # types of plain numbers that rules may give
PLAIN_NUMBERS = (*PLAIN_INTS, float, np.floating)


class Game:
    """Rules of one game, together with chance, episodes, illegal actions and limits, which all games share."""

    def __init__(self, rules: Rules):
        kind = type(rules)
        parameters = getattr(kind, "__dataclass_params__", None)
        if not dataclasses.is_dataclass(kind) or parameters is None or not parameters.frozen:
            raise TypeError(f"rules must be a frozen dataclass, got {kind.__name__}")
        self.rules: Rules = rules
        self.spec: Spec = rules.spec
        self.fields: dict[str, Field] = {field.name: field for field in self.spec.all_fields}
        self.has_memory: bool = any(field.memory for field in self.spec.fields)

    def chance(self, s: GameState) -> Chance:
        """Return the source of random numbers for a state's next step."""
        return KeyedChance(s.key) if self.spec.chance else NoChance()

    def key(self, row_keys: Sequence[Value], episode: Value) -> list[Scalar]:
        """Return the random key of a row's episode, two words."""
        return list(threefry(row_keys[:2], (row_keys[2], episode)))

    def init(self, row_keys: Sequence[Value], episode: Value) -> GameState:
        """Return the first state of a row's episode."""
        if not self.spec.chance:
            return self.first_state(NoChance(), episode=episode)
        key = self.key(row_keys, episode)
        return self.first_state(KeyedChance(key), episode=episode, key=key)

    def first_state(self, chance: Chance, **common: Any) -> GameState:
        """Return the first state of an episode.

        Args:
            chance: source of the rules' random numbers.
            common: values of fields that all games have; those that are left out are 0.
        """
        values: dict[str, Any] = {
            name: MemoryArray(lambda i: uint32(0), field.size)
            if field.memory
            else nested([0] * field.size, field.shape)
            for name, field in self.fields.items()
        }
        initial = self.rules.init(chance)
        instance("what init gives", initial, dict)
        if unknown := initial.keys() - values.keys():
            raise ValueError(f"init gives {', '.join(sorted(unknown))}; the fields are {', '.join(values)}")
        return self.typed(values | common | dict(initial), "init")

    @cached_property
    def init_instructions(self) -> int:
        """Number of instructions that compute a first state."""
        # Trace it on a temporary tape. The keys are registers, since constants would be folded.
        with record(Tape()) as tape:
            keys = registers(5, UINT32)
            self.init([keys[k] for k in range(5)], uint32(0))
            return tape.count

    def typed(self, values: dict[str, Any], context: str) -> GameState:
        """Convert the values of all fields to scalars of the fields' kinds, and check plain numbers against the bounds.

        context: name of the rules' method, for errors.
        """
        typed = {name: self._typed(field, values[name], context) for name, field in self.fields.items()}
        return GameState(typed, self.spec.num_players)

    def _typed(self, field: Field, value: Any, context: str) -> Any:
        """Convert the value of a field, see `typed`."""
        if field.memory:
            if not isinstance(value, MemoryArray):
                raise TypeError(f"{context}: the memory field {field.name!r} must be a MemoryArray")
            return value
        if (shape := shape_of(value)) != field.shape:
            raise ValueError(f"{context}: {wrong_shape(field, shape)}")
        numbers = flat(value)
        # Numbers that are plain and within the bounds need no conversion. Checking them together is faster.
        plain = plain_numbers(numbers, field.dtype)
        if not plain or (field.kind == "int32" and not field.low <= min(plain) <= max(plain) <= field.high):  # type: ignore[operator]
            numbers = [_as_kind(field, x, context) for x in numbers]
        return nested(numbers, field.shape)

    def step(
        self, s: GameState, action: Scalar, legal: Scalar | None
    ) -> tuple[GameState, list[Scalar], Scalar, Scalar]:
        """Play an action.

        Args:
            s: the state.
            action: number of the action, in range.
            legal: whether the action is legal; None if it always is.

        Returns:
            The next state (after an illegal action, the same one), rewards [P], terminated, truncated.
        """
        after, rewards, terminated, truncated, _ = self.step_with_events(s, action, legal)
        return after if legal is None else self.where(legal, after, s), rewards, terminated, truncated

    def step_with_events(
        self, s: GameState, action: Scalar, legal: Scalar | None
    ) -> tuple[GameState, list[Scalar], Scalar, Scalar, list[Scalar]]:
        """Play an action like `step`, but return the events as well, and the rules' state even after an illegal action.

        Returns:
            The state, rewards [P], terminated, truncated, events [E].
        """
        # Rules are written for legal actions. In plain Python they are not called for an illegal one. In a kernel they
        # are computed for it, since vectors have no branches, and the result is not used.
        if legal is not None and legal.is_plain and not legal.value:
            events = dict.fromkeys(self.spec.events, 0)
            outcome = Outcome(s, [0] * self.spec.num_players, terminated=True, events=events)
        else:
            outcome = self.rules.step(s, action, self.chance(s))
        instance("what step gives", outcome, Outcome)
        instance("the state of an Outcome", outcome.state, GameState)
        instance("the rewards of an Outcome", outcome.rewards, Sequence)
        ply = s.ply + 1
        players = self.spec.num_players
        if len(outcome.rewards) != players:
            raise ValueError(f"step must give {players} rewards, one a player, got {len(outcome.rewards)}")
        terminated = flag("terminated", outcome.terminated)
        truncated = flag("truncated", outcome.truncated)
        if self.spec.max_plies is not None:
            truncated = truncated | (ply >= self.spec.max_plies)
        # A game that ends by its rules in the last allowed step is not truncated.
        truncated = truncated & ~terminated
        after = self.typed(outcome.state.replace(ply=ply).asdict(), "step")
        rewards = [_given(f"rewards[{p}]", r, PLAIN_NUMBERS).to(FLOAT32) for p, r in enumerate(outcome.rewards)]
        if legal is not None:
            # A player who takes an illegal action loses 1, and the other players share it.
            share = 1 / max(players - 1, 1)
            penalties = [where(s.current_player == p, -1.0, share) for p in range(players)]
            rewards = where(legal, rewards, penalties)
            # An illegal action terminates the game, so it is not truncated.
            terminated = terminated | ~legal
            truncated = truncated & legal
        return after, rewards, terminated, truncated, self._events(outcome, legal)

    def _events(self, outcome: Outcome, legal: Scalar | None) -> list[Scalar]:
        """Return the events of an outcome as ints, in the order of the Spec; 0 after an illegal action."""
        instance("the events of an Outcome", outcome.events, Mapping)
        if outcome.events.keys() != {*self.spec.events}:
            expected, got = (", ".join(names) or "none" for names in (self.spec.events, outcome.events))
            raise ValueError(f"step must report the events of the Spec, {expected}; got {got}")
        events = [scalar(outcome.events[name]) for name in self.spec.events]
        for name, event in zip(self.spec.events, events, strict=True):
            if event.dtype not in (BOOL, INT32):
                raise TypeError(f"the event {name!r} must be a bool or an int32, got {event.kind}")
        return [int32(event) if legal is None else where(legal, int32(event), 0) for event in events]

    @property
    def determinizes(self) -> bool:
        """Whether the rules can resample the information that is hidden from a player."""
        return not self.spec.perfect_information and hasattr(self.rules, "determinize")

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the information that is hidden from a player by the rules' `determinize`, and check the result."""
        resampled = self.rules.determinize(s, player, chance)  # type: ignore[attr-defined] # optional
        instance("what determinize gives", resampled, GameState)
        return self.typed(resampled.asdict(), "determinize")

    def promise(self, s: GameState) -> Scalar | None:
        """Return the rules' promise of a position for the player not to move, clamped; None if they have no promise."""
        if not hasattr(self.rules, "promise"):
            return None
        promise = scalar(self.rules.promise(s))
        if promise.dtype is not INT32:
            raise TypeError(f"promise must give an int, got {promise.kind}")
        return maximum(minimum(promise, PROMISE), -PROMISE)

    def mask(self, s: GameState) -> MaskWords:
        """Return the rules' legal_action_mask as words of 32 actions, checked."""
        mask = self.rules.legal_action_mask(s)
        actions = self.spec.num_actions
        words = num_words(actions)
        if isinstance(mask, MemoryArray):
            if len(mask) == words:
                return mask
            raise ValueError(f"legal_action_mask must give {words} words, got {len(mask)}")
        values = [_given("an entry of legal_action_mask", x, PLAIN_INTS, UINT32) for x in flat(mask)]
        if len(values) == actions and all(x.dtype is BOOL for x in values):
            return pack_flags(values)
        if len(values) == words and all(x.dtype is UINT32 for x in values):
            # Clear the bits beyond the last action, which the rules may have set.
            rest = actions % WORD_BITS
            return [*values[:-1], values[-1] & (1 << rest) - 1] if rest else values
        kinds = ", ".join(sorted({x.kind for x in values}))
        raise ValueError(
            f"legal_action_mask must give {actions} bools, one an action, or {words} words of 32 actions; "
            f"got {len(values)} of kind {kinds}" + (": write x != 0" if kinds == "int32" else "")
        )

    def observe(self, s: GameState, mask: MaskWords, player: Scalar) -> list[Part]:
        """Return the parts of a player's observation, checked. `mask` is 0 once the game is over."""
        parts = [part for group in self.named_parts(s, mask, player).values() for part in group]
        size = math.prod(self.spec.observation_shape)
        dtype = self.spec.observation_dtype
        if sum(part.size for part in parts) != size:
            raise ValueError(
                f"observe must give the {size} entries of {self.spec.observation_shape}, "
                f"got {sum(part.size for part in parts)}"
            )
        for part in parts:
            if isinstance(part, Number) and (dtype == "bool" or (part.value.dtype is FLOAT32 and dtype != "float32")):
                raise TypeError(f"observe gives a number of kind {part.value.kind}; its dtype is {dtype}")
        return parts

    def named_parts(self, s: GameState, mask: MaskWords, player: Scalar) -> dict[str, list[Part]]:
        """Return the parts of a player's observation by their names."""
        state = GameState(s.asdict() | {"legal_action_mask": mask}, self.spec.num_players)
        return named_parts(self.rules.observe(state, player))

    def where(self, condition: Scalar, a: GameState, b: GameState) -> GameState:
        """Select between two states, field by field."""
        # With a plain condition, no field needs a selection.
        if condition.is_plain:
            return a if condition.value else b
        chosen: dict[str, Any] = {}
        for name, field in self.fields.items():
            x = getattr(a, name)
            y = getattr(b, name)
            chosen[name] = _where_array(condition, x, y) if field.memory else where(condition, x, y)
        return GameState(chosen, self.spec.num_players)


def _given(name: str, value: Any, kinds: tuple[type, ...], like: Any = None) -> Scalar:
    """Return what rules give as a scalar. TypeError, which names it, unless it is a scalar or a number of the kinds."""
    if not isinstance(value, (Scalar, *kinds)):
        raise wrong_type(name, "a scalar or a number" if float in kinds else "a scalar, a bool or an int", value)
    return scalar(value, like)


def flag(name: str, value: Any) -> Scalar:
    """Return a condition of the rules as a scalar. TypeError unless it is a bool."""
    condition = _given(name, value, PLAIN_NUMBERS)
    if condition.dtype is not BOOL:
        raise TypeError(f"{name} must be a bool, got {condition.kind}: write x != 0")
    return condition


def _as_kind(field: Field, x: Any, context: str) -> Scalar:
    """Convert a value to its field's kind, with the same checks for plain numbers and for scalars of a kernel."""
    if not isinstance(x, Scalar):
        if field.kind == "bool" and x not in (0, 1):
            raise ValueError(f"{context}: field {field.name!r} must be a bool, got {x!r}")
        if isinstance(x, float):
            raise TypeError(f"{context}: field {field.name!r} is of kind {field.kind}, got {x!r}")
        x = scalar(bool(x) if field.kind == "bool" else x, field.dtype)
    if x.dtype is BOOL:
        x = x.to(field.dtype)
    if x.dtype is not field.dtype:
        raise TypeError(f"{context}: field {field.name!r} is of kind {field.kind}, got a scalar of kind {x.kind}")
    if x.is_plain and field.kind == "int32" and not field.low <= int(x.value) <= field.high:  # type: ignore[operator]
        raise ValueError(f"{context}: field {field.name!r} must be in {field.low}..{field.high}, got {int(x.value)}")
    return x


def _where_array(condition: Scalar, x: MemoryArray, y: MemoryArray) -> MemoryArray:
    """Select between two memory fields, element by element."""
    return MemoryArray(lambda i: where(condition, x[i], y[i]), x.size)


def uniform_action(s: GameState, mask: MaskWords, count: int, policy_key: Sequence[Value], live: bool) -> Scalar:
    """Return an action of the uniform policy.

    Args:
        s: the state.
        mask: its legal actions.
        count: number of actions of the game.
        policy_key: random key of the policy.
        live: whether an action is always legal; otherwise the result is 0 if no action is.
    """
    random = threefry(policy_key, (uint32(s.ply), s.episode))[0]
    # Only `width` bits of a word can be actions. With fewer bits, `nth_bit` needs fewer steps.
    width = min(WORD_BITS, 1 << (count - 1).bit_length())
    if isinstance(mask, MemoryArray):
        total = sum_in_range(len(mask), lambda w: popcount(mask[w]))
        chosen = nth_in_memory(mask, scale(random, total))
        return chosen if live else where(total == 0, 0, chosen)
    words: Sequence[Scalar] = mask
    counts = [popcount(w) for w in words]
    total = sum(counts, start=int32(0))
    # Draw the number of an action among the legal ones. Their probabilities differ by at most 2^-32.
    n = scale(random, total)
    first_word = int32(0)
    # In a long mask find a group of words first, then a word of this group, which takes half as many selections.
    if len(words) >= LONG_MASK:
        starts = range(0, len(words), WORD_GROUP)
        groups = [[*words[k : k + WORD_GROUP], *[uint32(0)] * (k + WORD_GROUP - len(words))] for k in starts]
        sums = [sum(counts[k : k + WORD_GROUP], start=int32(0)) for k in starts]
        group, words, skipped = _part_with(n, groups, sums)
        n = n - skipped
        first_word = group * WORD_GROUP
        counts = [popcount(w) for w in words]
    number, (word,), skipped = _part_with(n, [[w] for w in words], counts)
    chosen = WORD_BITS * (first_word + number) + nth_bit(word, n - skipped, width)
    return chosen if live else where(total == 0, 0, chosen)


def _part_with(
    n: Scalar, parts: Sequence[Sequence[Scalar]], counts: Sequence[Scalar]
) -> tuple[Scalar, Sequence[Scalar], Scalar]:
    """Return the part of a mask that has the n-th legal action, without a loop in the kernel.

    Args:
        n: number of the action among the legal ones, from 0.
        parts: words of each part; all parts have equally many.
        counts: number of legal actions in each part.

    Returns:
        The number of the part, its words, and the number of legal actions in the parts before it.
    """
    number = int32(0)
    chosen = list(parts[0])
    skipped = int32(0)
    # `before` is the number of legal actions in all parts before this one.
    for part, before in zip(parts[1:], accumulate(counts), strict=False):
        is_reached = n >= before
        number = number + int32(is_reached)
        chosen = where(is_reached, part, chosen)
        skipped = where(is_reached, before, skipped)
    return number, chosen, skipped


def nth_in_memory(mask: MemoryArray, n: Scalar) -> Scalar:
    """Return the n-th legal action of a mask that is too large to unroll, by a loop over its words."""
    if n.is_plain:
        skipped = 0
        w = 0
        while skipped + int(popcount(mask[w]).value) <= n.value:
            skipped += int(popcount(mask[w]).value)
            w += 1
        return w * WORD_BITS + nth_bit(mask[w], n - skipped)
    # The registers are the number of legal actions so far, the word with the n-th one, and the number before that word.
    state = registers(3, INT32)
    for k in range(3):
        state[k] = 0
    with loop(len(mask)) as i:
        total, chosen, before = (state[k] for k in range(3))
        count = popcount(mask[i])
        inside = (n >= total) & (n < total + count)
        state[0] = total + count
        state[1] = where(inside, i, chosen)
        state[2] = where(inside, total, before)
    return state[1] * WORD_BITS + nth_bit(mask[state[1]], n - state[2])
