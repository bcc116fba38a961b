"""The step: one action in every game, with all that follows from it, in one kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tinygrad import UOp, dtypes

from tensor_envs.core.game import uniform_action
from tensor_envs.core.kernels.block import Coords, Words, store
from tensor_envs.core.kernels.observe import ObservationArrays, ObservationStage
from tensor_envs.core.kernels.tracer import NEVER, Reset, Tracer
from tensor_envs.rules.scalar import word


@dataclass(frozen=True)
class Sample:
    """Write an action of the uniform policy for every game."""

    name = "sample"

    class Arrays(NamedTuple):
        old: Any
        row_rng: Any
        actions: Any

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        def stage(at: Coords) -> list[UOp]:
            old, rng = t.words(a.old).load(at), t.row_rng(a.row_rng, at)
            s, mask = t.layout.get_state(old), t.layout.get_mask(old)
            action = uniform_action(s, mask, t.game.spec.num_actions, rng[3:], live=False)
            return store(a.actions, at.batch, [action])

        return t.block.end(t.block.each(stage))


@dataclass(frozen=True)
class Step:
    """Play the given actions, or uniformly random legal ones and write them out."""

    reset: Reset = "none"
    uniform: bool = False

    class Arrays(NamedTuple):
        new: Any
        old: Any  # None: the step is made in place
        row_rng: Any
        actions: Any  # int32
        seen: ObservationArrays | None = None  # the observation of the player then to move, if wanted

    @property
    def name(self) -> str:
        return "uniform" if self.uniform else "step"

    def trace(self, t: Tracer, a: Arrays) -> UOp:
        new, old = t.words(a.new), t.words(a.new if a.old is None else a.old)
        count, same_step = t.game.spec.num_actions, self.reset == "same_step"
        again_later = t.block.registers(1, dtypes.uint32) if t.resets_in_branch(self.reset) else None
        # where a thread's fields stand until its game may have begun again: then its mask is worked out once
        held = t.registers() if again_later is not None and t.grid.gpu else None

        def stage(at: Coords) -> list[UOp]:
            words, rng = old.load(at), t.row_rng(a.row_rng, at)
            s, mask = t.layout.get_state(words), t.layout.get_mask(words)
            was = NEVER if same_step else t.layout.get_flags(words)
            stores, legal = [], None
            if self.uniform:
                action = uniform_action(s, mask, count, rng[3:], live=same_step)
                stores = store(a.actions, at.batch, [action])
            else:
                action, legal = t.given_action(mask, a.actions, at)
            s, rewards, flags, again = t.play(s, was, action, legal, self.reset, rng)
            if again_later is not None:
                stores += store(again_later, at.register, [word(again)])
            if held is not None:
                return stores + held.store(at, s=s, flags=flags) + new.store(at, rewards=rewards)
            mask = t.live_mask(s, flags, self.reset)
            return stores + new.store(at, s=s, flags=flags, rewards=rewards, mask=mask)

        def finish(at: Coords, words: Words) -> list[UOp]:
            word = words.load(at)
            mask = t.live_mask(t.layout.get_state(word), t.layout.get_flags(word), self.reset)
            return new.store_words(at, word, t.layout.field_words) + new.store(at, mask=mask)

        done = t.block.each(stage)
        if again_later is not None:
            done = t.begin_again(held or new, again_later.after(done), a.row_rng, done)
        if held is not None:
            begun = held.after(done)
            done = t.block.each(lambda at: finish(at, begun))
        if a.seen is not None:
            done = ObservationStage(t, a.seen).trace(new.after(done))
        return t.block.end(done)
