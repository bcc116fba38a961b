"""Games whose arrays live on the host, and batches of games for one player."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.kernels import until
from tensor_envs._engine.kernels.observe import DTYPE_BY_NAME, Observe, Outputs
from tensor_envs._engine.kernels.until import PlayUntil
from tensor_envs._runtime.buffers import cached_upload, download, host_memory, write
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.launcher import Launch
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.threads import synchronize
from tensor_envs._validate import instance, integer, integers, one_of, shown, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.envs.vector import VectorEnv

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy

MAX_EPISODE_STEPS = 2**24  # kernels count decisions in float32


class HostBuffer:
    """A device buffer of some values for each game. On CPU devices the host uses its memory itself, after `wait`.

    The values of a game are adjacent, or with `by_lanes` those of a block's lanes.
    """

    def __init__(self, layout: BatchLayout, values: int, dtype: DType, by_lanes: bool = False):
        self.tensor = layout.empty(values, dtype)
        self._layout = layout
        self._by_lanes = by_lanes
        self._memory = host_memory(self.tensor)
        self._views = [self._view(part) for part in self._memory]

    def __reduce__(self) -> Any:
        """Refuse to copy or pickle: kernels are bound to the memory."""
        raise TypeError(
            "an adapter's games cannot be copied or pickled: make another environment and reset it with the same seed"
        )

    def wait(self) -> None:
        """Wait until no kernel uses the memory any more."""
        synchronize(self._layout.device)

    def _view(self, part: np.ndarray) -> np.ndarray:
        """Return one device's memory as an array [games, values] or, where it is by lanes, [values, blocks, lanes]."""
        grid = self._layout.grid
        if self._by_lanes:
            return part.reshape(grid.blocks, -1, grid.lanes).transpose(1, 0, 2)
        return part.reshape(grid.rows, -1)[: self._layout.shard_size]

    def read(self, *shape: int) -> np.ndarray:
        """Copy the batch's values to an array of this shape or, where memory is by lanes, [values, B]."""
        layout = self._layout
        views = self._views or [self._view(part) for part in np.split(download(self.tensor), layout.shards)]
        if not self._by_lanes:
            return np.concatenate(views).reshape(shape)
        columns = np.empty((len(views[0]), layout.shards, *views[0].shape[1:]), views[0].dtype)
        for shard, view in enumerate(views):
            columns[:, shard] = view
        return columns.reshape(len(columns), layout.shards, -1)[:, :, : layout.shard_size].reshape(len(columns), -1)

    def write(self, values: np.ndarray) -> None:
        """Write one value for each game; padding may keep old values."""
        if not self._memory:
            write(self.tensor, self._layout.padded(values))
        for part, piece in zip(self._memory, values.reshape(self._layout.shards, -1), strict=False):
            part[: self._layout.shard_size] = piece


def observation_buffer(env: Env, layout: BatchLayout) -> HostBuffer:
    """Return a buffer for observations; int8 stands for bool."""
    dtype = DTYPE_BY_NAME[env.spec.observation_dtype]
    return HostBuffer(layout, math.prod(env.observation_shape), dtypes.int8 if dtype is dtypes.bool else dtype)


class HostGame:
    """One game that is stepped in place and read on the host.

    Attributes:
        rewards: rewards of the last step, for every player.
        mask: legal actions, int8 [A].
        terminated, truncated, over: how the game has ended, and whether it has.
    """

    def __init__(self, env: Env, seed: int, device: DeviceName):
        self.env = env
        self._vector = VectorEnv(env, 1, seed, device, "disabled")
        self._layout = self._vector.buffers.layout
        self._observation = observation_buffer(env, self._layout)
        self._bound_to: Tensor | None = None
        self._observe: list[Launch] = []
        self._read()

    @property
    def state(self) -> State:
        """A snapshot of the game as a State of batch 1."""
        return self._vector.state

    def restart(self) -> None:
        """Start the next episode."""
        self._vector.reset([True])
        self._read()

    def step(self, action: int) -> None:
        """Play an action."""
        self._vector.step([action])
        self._read()

    def copy(self, game: HostGame) -> None:
        """Replace the position by that of another game of the same environment."""
        self._vector.state = game.state
        self._read()

    def _read(self) -> None:
        layout = self.env.engine.layout
        self._words = words = self._layout.download(self._vector.buffers.words)[0]
        self.rewards: list[float] = words[layout.rewards : layout.mask].view(np.float32).tolist()
        bits = words[layout.mask :].astype("<u4").view(np.uint8)
        self.mask = np.unpackbits(bits, count=self.env.num_actions, bitorder="little").view(np.int8)
        self.terminated, self.truncated = (bool(self.number(name)) for name in ("terminated", "truncated"))
        self.over = self.terminated or self.truncated

    def number(self, name: str) -> int:
        """Return the value of a field that is a single number."""
        slot = self.env.engine.layout.slots[name][0]
        return (int(self._words[slot.word]) >> slot.shift & (1 << slot.width) - 1) + slot.low

    def observe(self, player: int) -> np.ndarray:
        """Return the observation of a player; int8 stands for bool."""
        engine = self.env.engine
        layout = self._layout
        words = self._vector.buffers.words
        if self._bound_to is words:
            self._observe[player]()
        else:
            kernel = Observe("each", layout.grid.lanes)
            out = Outputs(self._observation.tensor)
            players = [cached_upload((p,) * layout.rows, layout.device) for p in range(self.env.num_players)]
            arrays = [Observe.Arrays(out, words, p) for p in players]
            engine.run(kernel, layout, arrays[player])
            self._observe = [engine.bind(kernel, layout, a) for a in arrays]
            self._bound_to = words
        self._observation.wait()
        return self._observation.read(*self.env.observation_shape)


class SingleAgent:
    """The learner's side of B games; a policy plays the other players.

    Between calls every game is over or the learner is to move. A call is one kernel launch. An opponent that is a
    function, or a game with memory fields, takes one more launch for each consecutive action of the other players.

    Attributes:
        opponent: policy of the other players, "uniform" or a function of a State.
        observation: observations of the learner's player [B, *shape], int8 for bool. This and all that follow are new
            arrays after each call.
        action_mask: legal actions of the learner, int8 [B, A].
        over: whether games have ended, bool [B]; read-only.
        players: the learner's player, int64 [B], or the player to move if the learner moves for all.
        names_players: whether results name `players`, since the argument `player` is no single index.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    players: np.ndarray
    _report: np.ndarray  # the tally [values, B]
    _kernel: PlayUntil

    def __init__(
        self,
        env: Env,
        batch: int,
        player: int | str | Sequence[int],
        opponent: str | Policy,
        device: Any,
        max_episode_steps: int | None = None,
    ):
        instance("env", env, Env)
        self.env = env
        self.batch = batch
        self.seats = seats("player", player, env.num_players)
        self.names_players = isinstance(player, (str, tuple, list, range))
        self._layout = layout = env.engine.batch_layout(batch, open_device(device))
        self._actions = HostBuffer(layout, 1, dtypes.int32)
        self._mask = HostBuffer(layout, env.num_actions, dtypes.int8)
        self._observation = observation_buffer(env, layout)
        if self.seats is not None and len(self.seats) == 1:
            self.players = np.full(batch, self.seats[0])
        self._limit = max_episode_steps
        if max_episode_steps is not None:
            self._limit = integer("max_episode_steps", max_episode_steps, 1, MAX_EPISODE_STEPS)
        self.over = np.zeros(batch, np.bool_)
        self._is_waiting = False  # whether the other players' decisions are missing, because their policy has failed
        self._launches: list[PlayUntil.Arrays] = []
        self._set_opponent(opponent)
        self._tally = HostBuffer(layout, self._kernel.tally_values(env.num_players), dtypes.float32, by_lanes=True)

    def set_opponent(self, opponent: str | Policy) -> None:
        """Replace the policy of the other players, from their next decision on."""
        if self.seats is None:
            raise ValueError("with player='all' the learner moves for every player, so there is no opponent to set")
        self._set_opponent(opponent)

    def _set_opponent(self, opponent: str | Policy) -> None:
        if not callable(opponent) and opponent != "uniform":
            raise ValueError(f"opponent must be 'uniform' or a function of a State, got {shown(opponent)}")
        if self.seats is None and opponent != "uniform":
            raise ValueError("with player='all' the learner moves for every player, so opponent must not be given")
        self.opponent = opponent
        in_kernel = self.seats is not None and not callable(opponent) and not self.env.engine.game.has_memory
        self._policy = None if in_kernel or self.seats is None else opponent if callable(opponent) else uniform
        kernel = PlayUntil(self.seats, in_kernel, self._limit)
        if self._launches and kernel != self._kernel:
            self._prepare(kernel, self._launches[-1].row_keys, [arrays.new for arrays in self._launches])
        self._kernel = kernel

    def begin(self, seed: int) -> None:
        """Start new games; row r is game r of the seed."""
        self._is_waiting = False
        self._adopt(self.env.init(self.batch, seed, self._layout.device).buffers)
        self._advance(np.full(self.batch, until.OPEN, np.int32))

    def _adopt(self, buffers: BatchBuffers) -> None:
        """Play on from the games of these buffers, which this object then owns and may overwrite."""
        memory = self.env.engine.game.has_memory
        # in place, or from one buffer into the other in turn
        words = [self.env.engine.empty(buffers), buffers.words] if memory else [buffers.words]
        self._prepare(self._kernel, buffers.row_keys, words)

    def _prepare(self, kernel: PlayUntil, row_keys: Tensor, words: list[Tensor]) -> None:
        """Prepare the arrays of launches, which take turns if there are two `words`; the last one holds the games."""
        engine = self.env.engine
        layout = self._layout
        out = Outputs(self._observation.tensor, self._mask.tensor)
        others = None if self._policy is None else layout.empty(engine.layout.words)
        common = (self._actions.tensor, self._tally.tensor, out, others)
        self._launches = [
            PlayUntil.Arrays(new, None if new is old else old, row_keys, *common)
            for new, old in zip(words, words[::-1], strict=True)
        ]
        in_place = len(words) == 1
        self._bound: Launch | None = engine.bind(kernel, layout, self._launches[0]) if in_place else None

    def begin_from(self, rows: np.ndarray, words: np.ndarray, seed: int | None = None) -> None:
        """Start episodes from given positions where `rows`, bool [B], is True.

        Args:
            rows: all of them, if a seed is given.
            words: words of a position for each of these rows, uint32 [n, W]; their mask, rewards and keys are not used.
            seed: starts episode 0 of this seed; None starts the rows' next episodes.

        The chance of a game is that of its row and episode, and not that of the position.
        """
        engine = self.env.engine
        layout = self._layout
        self._check_turn(rows)
        if seed is not None:
            self._adopt(self.env.init(self.batch, seed, layout.device).buffers)
        current = self._state(self._launches[-1].new).buffers
        table = layout.download(current.words)
        episode = engine.layout.slots["episode"][0].word
        episodes = table[rows, episode] + np.uint32(seed is None)
        table[rows] = words
        table[rows, episode] = episodes
        loaded = current._replace(words=layout.upload(table))
        engine.copy(engine.refresh(loaded), live=False, new=current.words)
        self._advance(np.where(rows, np.int32(until.OPEN), np.int32(until.SKIP)))

    def restart(self, rows: np.ndarray) -> None:
        """Start the next episode where `rows`, bool [B], is True."""
        assert until.RESTART == until.SKIP + 1
        self._check_turn(rows)
        self._advance(np.add(rows, until.SKIP, dtype=np.int32))

    def step(self, action: Any, played: np.ndarray | None = None) -> None:
        """Play an action of the learner in every game, then the other players until the learner is to move again.

        A game that is over starts its next episode instead, with reward 0.

        Args:
            action: integers [B].
            played: the games to step, bool [B]; None for all. The others stay as they are.
        """
        self._check_turn(np.False_)
        ignored = self.over if self._limit is not None else np.False_  # a game at its limit ignores its action
        if played is not None:
            ignored = ignored | ~played
        if self.env.illegal == "raise" and ignored.any():
            given = host_ints("action", action, self.batch)
            action = np.where(ignored, self.action_mask.argmax(1), given)
        if isinstance(action, Tensor) or self.env.illegal == "raise":
            action = self._host_actions(self._state(self._launches[-1].new), action)
        commands = np.maximum(host_ints("action", action, self.batch), until.PASS)
        self._advance(commands if played is None else np.where(played, commands, np.int32(until.SKIP)))

    def _check_turn(self, rows: np.ndarray | np.bool_) -> None:
        """Raise RuntimeError if games wait for other players, unless all `rows` begin anew."""
        if self._is_waiting and not rows.all():
            raise RuntimeError("the opponent has failed in the last step, and its games wait for it: reset all games")
        self._is_waiting = False

    def _host_actions(self, state: State, action: Any) -> np.ndarray:
        """Return actions as a host array [B]; see `Env.step` for the errors."""
        return self._layout.download(self.env.action_buffer(state, action))[:, 0]

    def _advance(self, commands: np.ndarray) -> None:
        """Run a command for each game, see `PlayUntil`, until no game waits for the other players."""
        status = self._launch(commands)
        if self._policy is not None:
            self._is_waiting = True
            while (waits := status == until.OTHERS_TO_MOVE).any():
                state = self._state(self._launches[-1].others)
                actions = host_ints("opponent's actions", self._policy(state), self.batch)
                chosen = np.maximum(self._host_actions(state, actions), until.PASS)
                status = self._launch(np.where(waits, chosen, np.int32(until.SKIP)))
            self._is_waiting = False
        self.over = status != until.TO_MOVE
        if self.seats is None or len(self.seats) > 1:
            self.players = self._report[until.PLAYER].astype(np.int64)
        if status.max() == until.NO_DECISION:
            row = status.argmax()
            raise RuntimeError(
                f"{until.OPENINGS} games in a row ended before player {self.players[row]} could move, in row {row}"
            )
        self.observation = self._observation.read(self.batch, *self.env.observation_shape)
        self.action_mask = self._mask.read(self.batch, self.env.num_actions)

    def _launch(self, commands: np.ndarray) -> np.ndarray:
        """Launch one kernel and return the status of every game [B]."""
        self._actions.write(commands)
        if self._bound is None:
            self.env.engine.run(self._kernel, self._layout, self._launches[0])
        else:
            self._bound()
        self._launches.reverse()
        self._tally.wait()
        self._report = self._tally.read()
        status: np.ndarray = self._report[until.STATUS]
        return status

    @property
    def rewards(self) -> np.ndarray:
        """Rewards of the learner's player since its last decision, opening included, float32 [B].

        They are 0 at an episode's start. If the learner moves for every player, they are those of the player who has
        just moved.
        """
        rewards: np.ndarray = self._report[until.REWARD]
        return rewards

    @property
    def all_rewards(self) -> np.ndarray:
        """Rewards of the last ply for every player, float32 [B, P], if the learner moves for all."""
        return np.ascontiguousarray(self._report[until.REWARDS :].T)

    @property
    def terminated(self) -> np.ndarray:
        """Whether games have ended by the rules, a new array bool [B]."""
        terminated: np.ndarray = self._report[until.STATUS] == until.TERMINATED
        return terminated

    @property
    def truncated(self) -> np.ndarray:
        """Whether games were cut off, a new array bool [B]."""
        truncated: np.ndarray = self._report[until.STATUS] == until.TRUNCATED
        return truncated

    def _state(self, words: Tensor) -> State:
        return State(self.env, BatchBuffers(words, self._launches[0].row_keys, self._layout))

    @property
    def state(self) -> State:
        """A snapshot of all games."""
        buffers = self._state(self._launches[-1].new).buffers
        return State(self.env, self.env.engine.copy(buffers, live=False))


def seats(name: str, player: Any, players: int) -> tuple[int, ...] | None:
    """Return the learner's seats of an index, a list of them, "random" or "all"; None for "all".

    Raises:
        TypeError, ValueError: anything else, or an index out of range.
    """
    if isinstance(player, str):
        return None if one_of(name, player, ("random", "all")) == "all" else tuple(range(players))
    if isinstance(player, (tuple, list, range)):
        return integers(name, player, 0, players - 1)
    try:
        return (integer(name, player, 0, players - 1),)
    except TypeError:
        raise wrong_type(name, "an index, a list of indices, 'random' or 'all'", player) from None
