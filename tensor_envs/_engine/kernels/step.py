"""Kernels of one step: actions of the uniform policy, steps with resets, masks and observations, events of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import UINT32
from tensor_envs._engine.game import uniform_action
from tensor_envs._engine.kernels.base import NEVER, Autoreset, Coords, Tracer, store
from tensor_envs._engine.kernels.observe import Outputs, OutputStage


@dataclass(frozen=True)
class Sample:
    """Kernel that writes an action of the uniform policy for every game.

    Attributes:
        lanes: lanes of the state; None for those of the grid.
    """

    lanes: int | None = None
    name = "sample"

    class Arrays(NamedTuple):
        old: Any
        row_keys: Any
        actions: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        def sample(at: Coords) -> None:
            coords = at if self.lanes is None else t.coords_in(self.lanes, at)
            old = t.words(a.old).load(coords)
            keys = t.row_keys(a.row_keys, coords)
            s = t.layout.get_state(old)
            mask = t.layout.get_mask(old)
            action = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=False)
            store(a.actions, at.batch, [action])

        t.block.each(sample)


@dataclass(frozen=True)
class Events:
    """Kernel that writes the events of the given actions."""

    name = "events"

    class Arrays(NamedTuple):
        old: Any
        row_keys: Any
        actions: Any
        events: Any  # int32

    def trace(self, t: Tracer, a: Arrays) -> None:
        def play(at: Coords) -> None:
            words = t.words(a.old).load(at)
            keys = t.row_keys(a.row_keys, at)
            s = t.layout.get_state(words)
            mask = t.layout.get_mask(words)
            flags = t.layout.get_flags(words)
            store(a.events, at.batch, t.play(s, flags, *t.given_action(mask, a.actions, at), "disabled", keys).events)

        t.block.each(play)


@dataclass(frozen=True)
class Step:
    """Kernel that plays one action in every game.

    Attributes:
        reset: the reset mode.
        uniform: whether the actions are those of the uniform policy, which the kernel writes to `actions`.
        wide: whether given actions are int64, each as two words.
    """

    reset: Autoreset = "disabled"
    uniform: bool = False
    wide: bool = False

    class Arrays(NamedTuple):
        new: Any
        old: Any  # None: the step is made in place
        row_keys: Any
        actions: Any  # int32
        out: Outputs | None = None  # outputs after the step, for the player to move

    @property
    def name(self) -> str:
        return "uniform" if self.uniform else "step"

    def trace(self, t: Tracer, a: Arrays) -> None:
        new = t.words(a.new)
        old = t.words(a.new if a.old is None else a.old)
        same_step = self.reset == "same_step"
        branches = t.resets_in_branch(self.reset)
        resetting = t.block.registers(1, UINT32)
        # A thread of a GPU keeps the fields in registers until its game has reset, so that the mask is computed once.
        held = t.registers() if branches and t.grid.gpu else None

        def play(at: Coords) -> None:
            words = old.load(at)
            keys = t.row_keys(a.row_keys, at)
            s = t.layout.get_state(words)
            mask = t.layout.get_mask(words)
            old_flags = NEVER if same_step else t.layout.get_flags(words)
            legal = None
            if self.uniform:
                action = uniform_action(s, mask, t.game.spec.num_actions, keys[3:], live=same_step)
                store(a.actions, at.batch, [action])
            else:
                action, legal = t.given_action(mask, a.actions, at, self.wide)
            s, rewards, flags, resets, mask_of, _ = t.play(s, old_flags, action, legal, self.reset, keys)
            if branches:
                store(resetting, at.register, [resets])
            if held is None:
                new.store(at, s=s, flags=flags, rewards=rewards, mask=mask_of())
            else:
                # The mask follows after the reset, in `write_back`.
                held.store(at, s=s, flags=flags)
                new.store(at, rewards=rewards)

        def write_back(at: Coords) -> None:
            assert held is not None
            words = held.load(at)
            mask = t.live_mask(t.layout.get_state(words), t.layout.get_flags(words), self.reset)
            new.store_words(at, words, t.layout.field_words)
            new.store(at, mask=mask)

        t.block.each(play)
        if branches:
            t.auto_reset(held or new, resetting, a.row_keys)
        if held is not None:
            t.block.each(write_back)
        if a.out is not None:
            OutputStage(t, a.out).trace(new)
