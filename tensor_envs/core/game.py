"""One game, scalars in and out: the rules with all that is the same in every game.

Keys and chance, the ply count, episodes, illegal actions, truncation and the uniform policy live here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

from tinygrad import UOp, dtypes
from tinygrad.dtype import AddrSpace, DType

from tensor_envs.core.memory import MemoryArray, loop, number, sum_of, tracing
from tensor_envs.core.random import KeyedChance, NoChance, scale, threefry
from tensor_envs.core.spec import Chance, GameState, Mask, Rules, Scalar
from tensor_envs.ops.bits import WORD, nth_bit, num_words, popcount

f32 = dtypes.float32


def constant(value: Any, dtype: DType) -> Scalar:
    return value.cast(dtype) if isinstance(value, UOp) else UOp.const(value, dtype)


def either(a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
    return a if b is False else b if a is False else a | b


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Game:
    """The rules with everything that is the same in every game: chance, plies, ends, illegal actions, resets."""

    def __init__(self, rules: Rules):
        self.rules, self.spec = rules, rules.spec
        self.fields = {field.name: field for field in self.spec.all_fields}
        self.has_memory = any(field.memory for field in self.spec.fields)

    def chance(self, s: GameState) -> Chance:
        return KeyedChance((s.key[0], s.key[1])) if self.spec.chance else NoChance()

    def key(self, stream: Sequence[Scalar], episode: Scalar) -> tuple[Scalar, Scalar]:
        """The game key of an episode of a batch row."""
        return threefry((stream[0], stream[1]), (stream[2], episode))

    def new(self, stream: Sequence[Scalar], episode: Scalar) -> GameState:
        """The first state of an episode of a batch row."""
        values: dict[str, Any] = {}
        for name, field in self.fields.items():
            zero = UOp.const(0, field.scalar_dtype)
            array = _everywhere(zero, field.size) if field.memory else [zero] * field.size
            values[name] = array if field.shape else zero
        values["episode"] = episode
        chance: Chance = NoChance()
        if self.spec.chance:
            key = self.key(stream, episode)
            values["key"], chance = list(key), KeyedChance(key)
        given = self.rules.init(chance)
        if unknown := given.keys() - values.keys():
            raise ValueError(f"init gives {', '.join(sorted(unknown))}; the fields are {', '.join(values)}")
        values.update(given)
        for name, field in self.fields.items():
            if not field.memory:  # the rules may give plain numbers
                typed = [constant(value, field.scalar_dtype) for value in flat(values[name])]
                values[name] = typed if field.shape else typed[0]
        return GameState(values)

    @cached_property
    def size_of_new(self) -> int:
        """Operations of a first state."""
        with tracing():
            words = UOp.placeholder((5,), dtypes.uint32, number(), AddrSpace.REG)
            s = self.new([words[k].load() for k in range(5)], UOp.const(0, dtypes.uint32))
        values = [getattr(s, name) for name, field in self.fields.items() if not field.memory]
        return len(UOp.group(*(x for value in values for x in flat(value))).toposort())

    def play(
        self, s: GameState, action: Scalar, legal: Scalar | None
    ) -> tuple[GameState, list[Scalar], Scalar, Scalar]:
        """One action -> state, rewards [P], terminated, truncated. `legal` None: known to be legal."""
        outcome = self.rules.step(s, action, self.chance(s))
        ply, players = s.ply + 1, self.spec.num_players
        if len(outcome.rewards) != players:
            raise ValueError(f"step must give {players} rewards, one a player, got {len(outcome.rewards)}")
        terminated, truncated = constant(outcome.terminated, dtypes.bool), outcome.truncated
        if self.spec.max_plies is not None:
            truncated = either(truncated, (ply < self.spec.max_plies).logical_not())
        truncated = constant(truncated, dtypes.bool) & terminated.logical_not()
        after, rewards = outcome.state.replace(ply=ply), [constant(r, f32) for r in outcome.rewards]
        if legal is not None:
            after = self.where(legal, after, s)
            # the mover of an illegal action loses 1, which the others share
            share = 1 / max(self.spec.num_players - 1, 1)
            for player, reward in enumerate(rewards):
                penalty = s.current_player.eq(player).where(constant(-1.0, f32), constant(share, f32))
                rewards[player] = legal.where(reward, penalty)
            terminated, truncated = terminated | legal.logical_not(), truncated & legal
        return after, rewards, terminated, truncated

    def mask(self, s: GameState) -> Mask:
        """The rules' legal_action_mask, checked."""
        mask, words = self.rules.legal_action_mask(s), num_words(self.spec.num_actions)
        kinds = [] if isinstance(mask, MemoryArray) else [w.dtype for w in mask if isinstance(w, UOp)]
        if len(mask) != words or any(dtype is not dtypes.uint32 for dtype in kinds):
            raise ValueError(
                f"legal_action_mask must give {words} words of 32 actions, uint32, as ops.bits.pack_flags does; "
                f"got {len(mask)} of {kinds}"
            )
        return mask

    def where(self, condition: Scalar, a: GameState, b: GameState) -> GameState:
        """condition ? a : b, field by field."""
        chosen: dict[str, Any] = {}
        for name, field in self.fields.items():
            x, y = getattr(a, name), getattr(b, name)
            if field.memory:
                chosen[name] = _either_array(condition, x, y)
                continue
            dtype = field.scalar_dtype
            pairs = zip(flat(x), flat(y), strict=True)
            picked = [condition.where(constant(p, dtype), constant(q, dtype)) for p, q in pairs]
            chosen[name] = picked if field.shape else picked[0]
        return GameState(chosen)


def _everywhere(value: Scalar, size: int) -> MemoryArray:
    return MemoryArray(lambda i: value, size)


def _either_array(condition: Scalar, x: MemoryArray, y: MemoryArray) -> MemoryArray:
    return MemoryArray(lambda i: condition.where(x[i], y[i]), x.size)


def uniform(s: GameState, mask: Mask, count: int, policy_key: Sequence[Scalar], live: bool) -> Scalar:
    """The uniform policy's action of `count`, by the mask; 0 where nothing is legal, which `live` says is nowhere."""
    bits = threefry((policy_key[0], policy_key[1]), (s.ply.cast(dtypes.uint32), s.episode))[0]
    width = min(WORD, 1 << (count - 1).bit_length())
    if isinstance(mask, MemoryArray):
        total = sum_of(len(mask), lambda w: popcount(mask[w]))
        chosen = nth_in_memory(mask, scale(bits, total))
        return chosen if live else total.eq(0).where(0, chosen)
    counts = [popcount(word, width) for word in mask]
    total = reduce(add, counts)
    n = scale(bits, total)
    # the word that holds the n-th legal action, and the number of that action within it
    word, first = mask[0], n.const_like(0)
    for i in range(1, len(mask)):
        beyond = (n < counts[i - 1]).logical_not() & first.eq(WORD * (i - 1))
        n = beyond.where(n - counts[i - 1], n)
        word, first = beyond.where(mask[i], word), beyond.where(first.const_like(WORD * i), first)
    chosen = first + nth_bit(word, n, width)
    return chosen if live else total.eq(0).where(0, chosen)


def nth_in_memory(mask: MemoryArray, n: Scalar) -> Scalar:
    """The n-th legal action by a mask that is too large to unroll: a loop finds the word that holds it."""
    found = UOp.placeholder(
        (3,), dtypes.int32, number(), AddrSpace.REG
    )  # actions passed, the word, those before it
    outer = found.after(*n.ranges)
    i, start = loop(len(mask)), UOp.group(*(outer[k].store(0) for k in range(3)))
    passed, which, before = (found.after(start, i)[k].load() for k in range(3))
    inside = popcount(mask[i])
    here = (n < passed).logical_not() & (n < passed + inside)
    values = (passed + inside, here.where(i.cast(dtypes.int32), which), here.where(passed, before))
    done = UOp.group(*(found.after(start, i)[k].store(value) for k, value in enumerate(values))).end(i)
    which, before = (found.after(done)[k].load() for k in (1, 2))
    return which * WORD + nth_bit(mask[which], n - before)
