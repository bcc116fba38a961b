"""The environment: one class for every game, final. Games differ in their rules alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.arguments import check_legal, flags, int32_buffer, integers
from tensor_envs.core.checks import instance, integer, one_of
from tensor_envs.core.device import (
    DeviceName,
    constant,
    device_of,
    empty_buffer,
    is_capturing,
    is_gpu,
    resolve,
    upload,
)
from tensor_envs.core.entry import GameEntry
from tensor_envs.core.game import Game
from tensor_envs.core.jit import jit
from tensor_envs.core.kernel import call
from tensor_envs.core.plan import LANES, STREAM_ROWS, Parameters, Plan, Reset, Task
from tensor_envs.core.random import seed_words
from tensor_envs.core.replay import Launch, Replay
from tensor_envs.core.spec import Spec, Symmetry
from tensor_envs.core.state import State, pack
from tensor_envs.ops.bits import num_words

MAX_BATCH = 2**31 - 1
ROWS = 2**32  # of a seed
LEFT_OUT = {"ply": 0, "episode": 0, "key": (0, 0)}  # of a dictionary; the key is worked out from seed and row


class Env:
    """A game under fixed rules, for any number of games at once. Made by `tensor_envs.make`.

    Attributes: `id`, `version`, `rules` (the frozen dataclass of rule fields), `spec`, `illegal`.
    """

    def __init__(self, entry: GameEntry, rules: Any, name: str, illegal: str = "lose"):
        one_of("illegal", illegal, ("lose", "raise"))
        self.entry, self.rules, self.id, self.version = entry, rules, name, entry.version
        self.illegal = illegal
        self.game = Game(rules)
        self.spec: Spec = replace(rules.spec, id=name, version=entry.version)
        taken = [field.name for field in self.spec.fields if field.name in dir(State)]
        if taken:
            raise ValueError(f"the field name {taken[0]!r} of {name!r} is a state's own; choose another")
        self.layout, self.places = self.spec.layout(), self.spec.places()
        self.fields = self.game.fields
        self.num_players, self.num_actions = self.spec.num_players, self.spec.num_actions
        self.observation_shape = self.spec.observation_shape
        self._replays: dict[tuple[Any, ...], Replay] = {}
        self.read, self._observe = jit(State.lazy), jit(self._lazy_observation)  # outside of a jit

    def __repr__(self) -> str:
        """With the rule fields that have not their default."""
        values = ((f, getattr(self.rules, f.name)) for f in fields(self.rules))
        chosen = ", ".join(f"{f.name}={value!r}" for f, value in values if value != f.default)
        return f"<Env {self.id}-v{self.version}{' ' * bool(chosen)}{chosen}>"

    def __reduce__(self) -> Any:
        return Env, (self.entry, self.rules, self.id, self.illegal)

    # *** states ***

    def init(self, batch: int, seed: int = 0, device: Any = None, first_row: int = 0) -> State:
        """B new games, row r being game r of the seed whatever the batch size.

        device: any tinygrad device; a tuple of them shards the batch axis; None is tinygrad's default. first_row: the
        rows are first_row, first_row + 1, ... of the seed, so that several processes share one large batch. ValueError
        or TypeError for a batch below 1, a seed outside 0..2^64-1, a row above 2^32-1, a device that is not there, or
        a batch that the devices cannot share equally.
        """
        return self.run(self.buffers(*self._stream(batch, seed, device, first_row)), "new")

    def step(self, state: State, action: Any) -> State:
        """Play one action in every game; earlier states stay valid.

        action: integers [B], a Tensor on the state's device or anything that NumPy takes. A finished game stays as it
        is, with rewards 0, whatever its action. Compiled at the first call for a batch size and device; inside a
        TinyJit of the caller's it becomes part of that. TypeError or ValueError for a state of another environment
        and for actions of another shape, dtype or device.
        """
        self.check_state(state)
        return self.run(state, "step", actions=self.actions(state, action))

    def reset(self, state: State, mask: Any = None) -> State:
        """Start the next episode where `mask` (bool [B]; default: every finished game) is True; rewards are 0."""
        self.check_state(state)
        if mask is None:
            return self.run(state, "restart")
        return self.run(state, "restart", actions=int32_buffer(flags("mask", mask, state)))

    def take(self, state: State, rows: Any) -> State:
        """A batch of the games at some rows of a state, each with its own chance going on; a row may come many times.

        rows: integers [N] in 0..B-1, a Tensor on the state's device or anything that NumPy takes. TypeError or
        ValueError for another dtype or shape, for rows beyond the batch (a Tensor's are not looked at, and held within
        it) and for a state on several devices.
        """
        self.check_state(state)
        if state.shards > 1:
            raise ValueError(f"take needs a state on one device, got one on {state.device}")
        rows = int32_buffer(integers("rows", rows, state, below=state.batch))
        count = int(rows.shape[0])
        lanes = blocking(count, state.device)[1]
        new = self.buffers(empty_buffer(count * STREAM_ROWS, dtypes.uint32, state.device), lanes)
        used = self._outputs(new)._replace(
            actions=rows,
            old_fields=state.fields,
            old_mask=state.mask,
            old_flags=state.flags,
            old_rewards=state.reward_rows,
            old_stream=state.stream,
        )
        old = state.plan("take")
        plan = replace(old, blocks=count // lanes, lanes=lanes, source=(old.blocks, old.lanes))
        done = self._launch(plan, state.device, used)
        return State(self, (*done.fields, done.mask, done.flags, done.rewards, done.stream), lanes)

    def check_state(self, state: Any) -> State:
        """The state, if it is one of this environment, else TypeError or ValueError."""
        if not isinstance(state, State):
            raise TypeError(f"state must be a State, got {type(state).__name__}")
        if state.env is not self and (state.env.rules != self.rules or state.env.entry != self.entry):
            raise ValueError(f"the state belongs to {state.env!r}, not to {self!r}")
        return state

    def actions(self, state: State, action: Any) -> Tensor:
        """An action argument as an int32 buffer [B]; see `step` for the errors."""
        actions = int32_buffer(integers("action", action, state, state.batch))
        if self.illegal == "raise":
            check_legal(state, actions)
        return actions

    def observe(self, state: State, player: Any = None) -> Tensor:
        """What a player sees, [B, *observation_shape] of dtype spec.observation_dtype; lazy while a jit captures.

        player: None (each game's player to move), a seat for all games, or integers [B], a Tensor or what NumPy takes.
        """
        self.check_state(state)
        if isinstance(player, (Tensor, np.ndarray, list, tuple)):
            player = integers("player", player, state, state.batch, self.num_players)
        elif player is not None:
            player = integer("player", player, 0, self.num_players - 1)
        return self._observe(state, player)

    def _lazy_observation(self, state: State, player: Tensor | int | None) -> Tensor:
        mover = state.lazy("current_player")
        if isinstance(player, Tensor):
            seats = player.cast(dtypes.int32)
        else:
            seats = mover if player is None else mover.const_like(player)
        return self.rules.observe(state.game_state(), seats)

    # *** one game as plain Python, and in writing ***

    def state_to_dict(self, state: State, i: int = 0, player: int | None = None) -> dict[str, Any]:
        """Game i with the field names and encodings of its rules file; to a player (a seat): without what is hidden."""
        self.check_state(state)
        i = integer("i", i, 0, state.batch - 1)
        fields = {name: column[i].tolist() for name, column in state.numpy().items()}
        game = self.entry.load("notation").to_dict(self.rules, fields)
        if player is None:
            return game
        seat = integer("player", player, 0, self.num_players - 1)
        hide = getattr(self.entry.load("render"), "seen_by", None)
        return game if hide is None else hide(self.rules, game, seat)

    def state_from_dicts(self, games: Sequence[dict[str, Any]], seed: int = 0, device: Any = None) -> State:
        """A batch from plain games; row r gets the chance of row r, episode 0, of the seed.

        ValueError that names the game and what is wrong with it if one is no position of this game.
        """
        notation = self.entry.load("notation")
        values = []
        for i, game in enumerate(games):
            try:
                values.append(LEFT_OUT | notation.from_dict(self.rules, game))
                if missing := self.fields.keys() - values[-1].keys():
                    raise ValueError(f"{', '.join(sorted(missing))} missing")
            except (ValueError, TypeError, KeyError) as error:
                what = f"{error} missing" if isinstance(error, KeyError) else error
                raise ValueError(f"game {i} is no state of {self.id!r}: {what}") from None
        fresh = self.buffers(*self._stream(len(games), seed, device, 0))
        fields = [upload(array, fresh.device) for array in pack(self.layout, values, fresh.lanes)]
        flags = np.array([[v["terminated"], v["truncated"]] for v in values], dtype=bool)
        flag_rows = upload(flags.reshape(-1, fresh.lanes, 2).transpose(0, 2, 1), fresh.device)
        old = State(self, (*fields, fresh.mask, flag_rows, fresh.reward_rows, fresh.stream), fresh.lanes)
        return self.run(old, "derive")

    def action_to_string(self, action: int) -> str:
        """The name of an action, such as "(0,2)". ValueError if there is none of that number."""
        action = integer("action", action, 0, self.num_actions - 1)
        return self.entry.load("notation").action_to_string(self.rules, action)

    def string_to_action(self, name: str) -> int:
        """The action of a name. ValueError, with examples, if none is called so."""
        instance("name", name, str)
        wanted = name.replace(" ", "")
        for action in range(self.num_actions):
            if self.action_to_string(action).replace(" ", "") == wanted:
                return action
        examples = ", ".join(self.action_to_string(a) for a in range(min(3, self.num_actions)))
        raise ValueError(f"no action of {self.id!r} is called {name!r}; actions are called {examples}, ...")

    def to_string(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Game i as text: all of it, or without what is hidden from a player (a seat)."""
        return self.entry.load("render").to_string(self.rules, self.state_to_dict(state, i, player))

    def render(self, state: State, i: int = 0, player: int | None = None) -> str:
        """Game i as an SVG document: all of it, or without what is hidden from a player (a seat).

        Parts of the picture that stand for actions have these as `data-actions`, numbers with spaces between them.
        """
        return self.entry.load("render").to_svg(self.rules, self.state_to_dict(state, i, player))

    def symmetries(self) -> Iterator[Symmetry]:
        """Index maps under which the game is unchanged (see `core.spec.Symmetry`), the identity first."""
        return self.entry.load("notation").symmetries(self.rules)

    # *** kernels ***

    def run(
        self,
        state: State,
        task: Task,
        reset: Reset = "none",
        *,
        actions: Tensor | None = None,
        out: State | None = None,
    ) -> State:
        """Run one kernel on a state (see `core.plan.Plan`) -> the state after it, in the buffers of `out` if any."""
        done = self._launch(state.plan(task, reset), state.device, self._used(state, task, out, actions))
        return self._after(state, done)

    def _after(self, state: State, done: Parameters) -> State:
        return State(self, (*done.fields, done.mask, done.flags, done.rewards, state.stream), state.lanes)

    def roll_out(self, state: State, steps: int, reset: Reset) -> tuple[State, Tensor]:
        """Many steps of the uniform policy -> the state after them, and the totals (see `Parameters`)."""
        used = self._used(state, "rollout", None, None)._replace(
            totals=empty_buffer(state.batch * 2 * self.num_players, dtypes.float32, state.device),
            scalars=constant((steps,) * state.shards, state.device),
        )
        done = self._launch(state.plan("rollout", reset), state.device, used)
        return self._after(state, done), done.totals

    def bound(self, state: State, task: Task, reset: Reset, actions: Tensor, out: State) -> Launch:
        """The same call of `run` again and again, with nothing to be found out any more."""
        used = self._used(state, task, out, actions)
        return self._replay(state.plan(task, reset), state.device, used).bound(*used.flat())

    def _used(self, state: State, task: Task, out: State | None, actions: Tensor | None) -> Parameters:
        new = self.buffers(state.stream, state.lanes) if out is None else out
        used = self._outputs(new)._replace(actions=actions, stream=state.stream)
        if task == "new":
            return used
        return used._replace(old_fields=state.fields, old_mask=state.mask, old_flags=state.flags)

    def _outputs(self, new: State) -> Parameters:
        return Parameters(new.fields, new.mask, new.flags, new.reward_rows, stream=new.stream)

    def play_out(self, state: State, copies: int, action: Any, seed: int, limit: int) -> Tensor:
        """Uniform games from copies of every game -> their totals (see `Parameters`), lanes as in `blocking`."""
        self.check_state(state)
        stream, lanes = self._stream(state.batch * copies, seed, state.device, 0)
        plan = state.plan("playout")
        plan = replace(
            plan,
            blocks=plan.blocks * plan.lanes * copies // lanes,
            lanes=lanes,
            source=(plan.blocks, plan.lanes),
        )
        used = Parameters(
            (),
            actions=None if action is None else self.actions(state, action),
            totals=empty_buffer(state.batch * copies * 2 * self.num_players, dtypes.float32, state.device),
            old_fields=state.fields,
            old_flags=state.flags,
            stream=stream,
            scalars=constant((limit,) * state.shards, state.device),
        )
        return self._launch(plan, state.device, used).totals

    def uniform_actions(self, state: State) -> Tensor:
        """The uniform policy's actions, int32 [B]; 0 for a game that is over."""
        self.check_state(state)
        actions = empty_buffer(state.batch, dtypes.int32, state.device)
        used = Parameters(
            (), actions=actions, old_fields=state.fields, old_mask=state.mask, stream=state.stream
        )
        return self._launch(state.plan("choose"), state.device, used).actions

    def _launch(self, plan: Plan, device: DeviceName, used: Parameters) -> Parameters:
        """Eagerly this replays a captured call; while somebody's TinyJit records, it adds a node to their graph.

        What is written is what comes back: in a graph the arrays given are those from before.
        """
        if is_capturing():
            return call(self.game, plan, used)
        self._replay(plan, device, used)(*used.flat())
        return used

    def _replay(self, plan: Plan, device: DeviceName, used: Parameters) -> Replay:
        key = (plan, device, *(part is None for part in used))  # some tasks do with actions and without
        if key not in self._replays:
            game, form = self.game, used.like([True] * len(used.flat()))
            self._replays[key] = Replay(lambda *ts: Tensor.realize(*call(game, plan, form.like(ts)).flat()))
        return self._replays[key]

    def buffers(self, stream: Tensor, lanes: int) -> State:
        """A state whose buffers are allocated and not written yet."""
        batch = int(stream.shape[0]) // STREAM_ROWS

        def empty(rows: int, dtype: DType) -> Tensor:
            return empty_buffer(batch * rows, dtype, device_of(stream))

        fields = [empty(sum(f.size for f in group), dtype) for dtype, group in self.layout.items()]
        mask = empty(num_words(self.num_actions), dtypes.uint32)
        return State(
            self,
            (*fields, mask, empty(2, dtypes.bool), empty(self.num_players, dtypes.float32), stream),
            lanes,
        )

    def _stream(self, batch: Any, seed: int, device: Any, first_row: int) -> tuple[Tensor, int]:
        """What is fixed for life in every row (words of the seed, row, uniform policy's key), and the lanes."""
        batch, (low, high) = integer("batch", batch, 1, MAX_BATCH), seed_words(seed)
        first = integer("first_row", first_row, 0, ROWS - batch)
        where = resolve(device)
        shards, lanes = blocking(batch, where)
        share = batch // shards
        about = np.array([[low, high, first + shard * share] for shard in range(shards)], np.uint32)
        scalars = constant(tuple(about.view(np.int32).ravel().tolist()), where)
        used = Parameters((), stream=empty_buffer(batch * STREAM_ROWS, dtypes.uint32, where), scalars=scalars)
        return self._launch(Plan(share // lanes, lanes, is_gpu(where), "seed"), where, used).stream, lanes


def blocking(batch: int, device: DeviceName) -> tuple[int, int]:
    """Number of devices that share a batch, and lanes of a block: the largest power of two to divide a share, or LANES.

    A power of two, so that a loop over lanes is whole vectors: its rest is slow, and one compiler gets it wrong.
    """
    shards = 1 if isinstance(device, str) else len(device)
    if batch % shards:
        raise ValueError(f"batch must be a multiple of the {shards} devices, got {batch}")
    share = batch // shards
    return shards, math.gcd(share, LANES)
