"""Rollouts of a policy, random playouts, and shares of a batch for several processes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import LANES, MAX_BATCH, BatchBuffers
from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.random import seed_words
from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.launch import eager, realize
from tensor_envs._validate import instance, integer, one_of, renames, shown
from tensor_envs.envs.counts import DecisionCounts
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State

TensorPolicy = Callable[[State], Tensor]
RolloutReset = Literal["same_step", "disabled"]
MAX_STEPS = 2**31 - 1
STEPS_PER_CHECK = 32  # steps of a captured policy between two checks whether all games are played


class Rollout(DecisionCounts):
    """Result of a rollout: last state and sums over all steps, with `count_actions` also counts of decisions.

    In a program with several threads, read its Tensors, and Tensors computed from them, with `te.to_numpy`: tinygrad's
    own `tolist` and `item` fail while another thread compiles.

    Attributes:
        state: last state.

    Examples:
        >>> te.rollout(te.make("tic_tac_toe"), "uniform", batch=4, steps=9, autoreset="disabled").episodes.tolist()
        [1, 1, 1, 1]
    """

    def __init__(self, state: State, totals: Tensor, begin: State, resets: bool, counts: Tensor | None = None):
        """Wrap the results of a rollout.

        Args:
            state: last state.
            totals: for each game P sums of rewards, then P numbers of wins, float32.
            begin: first state.
            resets: whether finished games were reset.
            counts: counts of decisions, if they were counted.
        """
        super().__init__(state.env, state.buffers.layout, counts)
        self.state = state
        self._totals = totals
        self._begin = begin
        self._resets = resets

    def __repr__(self) -> str:
        count = int(to_numpy(self.episodes).sum())
        return f"<Rollout of {self.state.batch} games on {self.state.device}, {count} episodes finished>"

    @property
    def returns(self) -> Tensor:
        """Sum of rewards of each player, float32 [B, P]; whole numbers are exact up to 2^24."""
        return eager(self._columns(0))

    @property
    def wins(self) -> Tensor:
        """Number of episodes that ended with a positive reward for each player, int32 [B, P]; exact up to 2^24."""
        return eager(self._columns(self.state.env.num_players).cast(dtypes.int32))

    def _columns(self, first: int) -> Tensor:
        """Return P columns of the totals. They are computed when read, which can take longer than a short rollout."""
        return self.state.buffers.layout.view(self._totals, first, self.state.env.num_players)

    @property
    def episodes(self) -> Tensor:
        """Number of finished episodes, int32 [B]."""
        begin = self._begin
        end = self.state
        if self._resets:
            return eager((end.episode - begin.episode).cast(dtypes.int32))
        finished_before = begin.terminated | begin.truncated
        finished = end.terminated | end.truncated
        return eager((finished & ~finished_before).cast(dtypes.int32))


def rollout(
    env: Env,
    policy: Literal["uniform"] | TensorPolicy,
    batch: int,
    steps: int | None = None,
    seed: int = 0,
    device: DeviceName | None = None,
    autoreset: RolloutReset = "same_step",
    first_row: int = 0,
    count_actions: bool = False,
    *,
    games: int | None = None,
) -> Rollout:
    """Play a policy in new games, for a number of steps or for a number of games.

    For statistics of games use `games`, by which every game that starts is counted. With `steps`, games that are
    unfinished after the last step are not counted. Most of these are long, so the statistics are biased to short games.

    Args:
        env: the environment.
        policy, steps, autoreset, count_actions, games: as in `rollout_from`.
        batch, seed, device, first_row: as in `Env.init`.

    Returns:
        The last state, returns, wins and finished episodes.

    Raises:
        ValueError, TypeError, RuntimeError: as in `rollout_from` and `Env.init`.

    Examples:
        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", batch=64, steps=100)
        >>> result.returns.shape, bool((result.episodes.numpy() >= 11).all())
        ((64, 2), True)

        How often each player wins, in exactly 1,000 games, of which every row plays 15 or 16:

        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", batch=64, games=1000)
        >>> result.episodes.sum().item(), (result.wins.numpy().sum(0) / 1000).round(1).tolist()
        (1000, [0.6, 0.3])

        How often each cell is taken in games of tic-tac-toe, and how many decisions have nine legal actions:

        >>> result = te.rollout(te.make("tic_tac_toe"), "uniform", 64, 9, autoreset="disabled", count_actions=True)
        >>> result.action_counts.sum().item() == result.state.ply.sum().item(), result.width_counts.sum(0)[8].item()
        (True, 64)
    """
    instance("env", env, Env)
    reset = _checked_reset(autoreset)
    length = _length(steps, games, reset)
    return _play(env.init(batch, seed, device, first_row), policy, length, reset, count_actions, fresh=True)


def rollout_from(
    state: State,
    policy: Literal["uniform"] | TensorPolicy,
    steps: int | None = None,
    autoreset: RolloutReset = "same_step",
    count_actions: bool = False,
    *,
    games: int | None = None,
) -> Rollout:
    """Play a policy in the games of a state, which stays valid.

    Args:
        state: the games.
        policy: "uniform" (one kernel for the whole rollout) or a function of a State to int32 actions [B] in tinygrad
            operations, which is captured together with the step.
        steps: number of actions in every row, 1..2^31-1.
        autoreset: "same_step" resets finished games before the first step and then in the step that ends them. With
            "disabled" finished games stay as they are, and the uniform policy stops when all games are over.
        count_actions: count how often, by whom and when every action is legal and taken, and the events of the rules.
            It needs the policy "uniform" and a game without memory fields. The counts are int32 and wrap beyond 2^31.
        games: number of games, 1..2^31-1, instead of `steps`. All rows finish equally many, or the first rows one more,
            and then wait at the start of their next game. The games must end under the policy.

    Returns:
        The last state, returns, wins and finished episodes.

    Raises:
        ValueError, TypeError: an argument out of range or of another type; a function as policy in an environment with
            illegal="raise"; `count_actions` where decisions cannot be counted; both or neither of `steps` and `games`;
            `games` with autoreset="disabled".
        RuntimeError: a function as policy inside a jit.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.rollout_from(env.step(env.init(2), [0, 4]), "uniform", steps=1).state.ply.tolist()
        [2, 2]
    """
    instance("state", state, State)
    reset = _checked_reset(autoreset)
    return _play(state, policy, _length(steps, games, reset), reset, count_actions, fresh=False)


class _Length(NamedTuple):
    """Length of a rollout: steps, or games if they are not None."""

    steps: int
    games: int | None


def _checked_reset(autoreset: Any) -> RolloutReset:
    """Return the argument `autoreset` after a check. Bools of version 0.2 are accepted until 0.4."""
    if isinstance(autoreset, bool):
        reset: RolloutReset = "same_step" if autoreset else "disabled"
        warnings.warn(f"write autoreset={reset!r}, not {autoreset}", DeprecationWarning, stacklevel=3)
        return reset
    one_of("autoreset", autoreset, get_args(RolloutReset))
    return autoreset  # type: ignore[no-any-return]


def _length(steps: int | None, games: int | None, autoreset: RolloutReset) -> _Length:
    """Return the length of a rollout. ValueError or TypeError unless exactly one of `steps` and `games` is given."""
    if (steps is None) == (games is None):
        raise ValueError(f"steps or games must be given, and only one of them, got {shown(steps)} and {shown(games)}")
    if steps is not None:
        return _Length(integer("steps", steps, 1, MAX_STEPS), None)
    if autoreset == "disabled":
        raise ValueError("autoreset must be 'same_step' for a number of games, got 'disabled'")
    return _Length(MAX_STEPS, integer("games", games, 1, MAX_STEPS))


def _play(
    state: State,
    policy: Literal["uniform"] | TensorPolicy,
    length: _Length,
    reset: RolloutReset,
    count: bool,
    fresh: bool,
) -> Rollout:
    """Play a policy in the games of a state.

    Args:
        state, policy: as in `rollout_from`.
        length: checked length of the rollout.
        reset: checked `autoreset`.
        count: whether to count decisions.
        fresh: whether the games are new, so that none of them is finished.
    """
    instance("count_actions", count, bool)
    if not callable(policy) and not (isinstance(policy, str) and policy == "uniform"):
        raise ValueError(f"policy must be 'uniform' or a function of a State, got {shown(policy)}")
    env = state.env
    resets = reset == "same_step"
    state = env.reset(state) if resets and not fresh else state
    if not callable(policy) and not env.engine.game.has_memory:
        buffers, totals, counts = env.engine.rollout(state.buffers, length.steps, reset, count, length.games)
        return Rollout(State(env, buffers), totals, state, resets, counts)
    if count:
        raise ValueError("count_actions must be False except for policy='uniform' in a game without memory fields")
    if callable(policy) and env.illegal == "raise":
        raise ValueError('a captured policy cannot have its actions checked: make the env with illegal="lose"')
    if stays_lazy():
        raise RuntimeError("a rollout of a policy captures its own steps, so a jit cannot capture it")
    function = policy if callable(policy) else uniform
    buffers, totals = _play_captured(function, state, length, reset)
    return Rollout(State(env, buffers), totals, state, resets)


@renames(n="num_playouts")
def playout(state: State, num_playouts: int, action: Any = None, seed: int = 0, limit: int = 2**31 - 1) -> Tensor:
    """Return the mean returns of random games, each from a game of a state to its end, by one kernel.

    Args:
        state: the games; the returns of a finished game are 0.
        num_playouts: number n of random games from each game. Playout c of game i has the random keys of row i * n + c
            of the seed. Use another seed for every call.
        action: integers [B], the first action of all playouts of a game, or None. All other actions are uniform.
        seed: as in `Env.init`.
        limit: maximum number of actions of a playout.

    Returns:
        float32 [B, P].

    Raises:
        ValueError, TypeError: another state, an action as in `Env.step`, or too few or too many playouts.
        NotImplementedError: a game too large to unroll.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.playout(env.init(4), num_playouts=8).shape
        (4, 2)
    """
    instance("state", state, State)
    env = state.env
    count = integer("num_playouts", num_playouts, 1, MAX_BATCH // state.batch)
    limit = integer("limit", limit, 1, 2**31 - 1)
    words = seed_words(seed)
    actions = None if action is None else env.action_buffer(state, action)
    returns = env.engine.playout(state.buffers, count, actions, words, limit)
    return eager(returns.reshape(state.batch, count, env.num_players).mean(1))


def _play_captured(
    policy: TensorPolicy, state: State, length: _Length, reset: RolloutReset
) -> tuple[BatchBuffers, Tensor]:
    """Play a policy by one captured graph per step, and return the last buffers and the totals of a `Rollout`."""
    env = state.env
    engine = env.engine
    buffers = state.buffers
    layout = buffers.layout
    actions = policy(state)
    if not isinstance(actions, Tensor):
        raise TypeError(f"policy must return a Tensor of integers, got {type(actions).__name__}")
    realize(actions)  # initialise the policy before the capture
    totals = upload(np.zeros(layout.rows * 2 * env.num_players, np.float32), state.device)
    # With a number of games, each row waits at the start of its last episode.
    targets = None if length.games is None else _last_episodes(state, length.games)
    last_episodes = () if targets is None else (layout.upload(targets[:, None]),)

    def step(old: Tensor, new: Tensor, row_keys: Tensor, totals: Tensor, *last_episodes: Tensor) -> None:
        """Play a step from the words `old` to `new`, and add its rewards and wins to the totals."""
        before = BatchBuffers(old, row_keys, layout)
        # With "same_step" the flags are those of the last transition: clear them for the policy.
        observed = State(env, engine.copy(before, live=True) if reset == "same_step" else before)
        actions = int_array("action", policy(observed), layout)
        after = State(env, engine.step(before, actions, reset, new))
        won = (after.terminated | after.truncated).unsqueeze(1) & (after.rewards > 0)
        sums = layout.by_lanes(after.rewards.cat(won.cast(dtypes.float32), dim=1))
        if not last_episodes:
            Tensor.realize(after.buffers.words, totals.assign(totals + sums.flatten()))
            return
        # A row that waits keeps its words, and its step is not added.
        plays = layout.by_lanes((observed.episode != layout.view(last_episodes[0], 0, 1)[:, 0]).unsqueeze(1))
        Tensor.realize(after.buffers.words, totals.assign(totals + plays.where(sums, 0.0).flatten()))
        words = (x.reshape(-1, engine.layout.words, layout.grid.lanes) for x in (new, old))
        Tensor.realize(new.assign(plays.where(*words).flatten()))

    # Two buffers alternate as input and output, so one launch is prepared for each direction.
    replay = CapturedFunction(step)
    words = [engine.empty(buffers), engine.empty(buffers)]
    replay(buffers.words, words[0], buffers.row_keys, totals, *last_episodes)
    arguments = [(words[1 - k], words[k], buffers.row_keys, totals, *last_episodes) for k in range(2)]
    launches = [replay.bind(*direction) for direction in arguments] if length.steps > 1 else []
    count = 1
    while count < length.steps:
        # Reading from the device drains its queue, so whether all games are played is checked only now and then.
        if targets is not None and count % STEPS_PER_CHECK == 0:
            current = State(env, buffers._replace(words=words[(count - 1) % 2]))
            if (to_numpy(current.episode) == targets).all():
                break
        launches[count % 2]()
        count += 1
    last = buffers._replace(words=words[(count - 1) % 2])
    if reset == "same_step":
        last = engine.copy(last, live=True)
    return last, totals


def _last_episodes(state: State, games: int) -> np.ndarray:
    """Return the episode of each row after its share of a number of games, uint32 [B]."""
    each, rest = divmod(games, state.batch)
    quotas = each + (np.arange(state.batch) < rest)
    return np.asarray(to_numpy(state.episode) + quotas.astype(np.uint32), np.uint32)


class Shard(NamedTuple):
    """Share of a batch: `batch` rows from `first_row` on, arguments of `Env.init`, `VectorEnv` and `rollout`.

    Examples:
        >>> te.shard(1000, rank=0, world_size=3)
        Shard(first_row=0, batch=320)
    """

    first_row: int
    batch: int


def shard(batch: int, rank: int | None = None, world_size: int | None = None) -> Shard:
    """Return the rows of a batch that a process plays.

    Row r of a seed is the same game in every process, so the concatenated shares of all ranks equal the batch of one
    process bit for bit. Shares are as equal as possible, in whole blocks of 64 games as long as there are enough.

    Args:
        batch: number of games of all processes, B.
        rank: rank of this process, 0..world_size-1; None: the environment variable RANK, which torchrun sets, else 0.
        world_size: number of processes, at most B; None: the environment variable WORLD_SIZE, else 1.

    Returns:
        first_row and batch of this process.

    Raises:
        ValueError, TypeError: numbers out of range, or environment variables that are no numbers.

    Examples:
        >>> first_row, batch = te.shard(1000, rank=1, world_size=3)
        >>> state = te.make("tic_tac_toe").init(batch, seed=5, first_row=first_row)
        >>> first_row, state.batch
        (320, 320)
    """
    batch = integer("batch", batch, 1, MAX_BATCH)
    world_size = _variable("WORLD_SIZE", 1) if world_size is None else world_size
    world_size = integer("world_size", world_size, 1, batch)
    rank = integer("rank", _variable("RANK", 0) if rank is None else rank, 0, world_size - 1)
    block = LANES if batch >= LANES * world_size else 1
    first, end = (batch * i // world_size // block * block for i in (rank, rank + 1))
    return Shard(first, (batch if rank == world_size - 1 else end) - first)


def _variable(name: str, default: int) -> int:
    """Return an environment variable as an int. ValueError if it is none."""
    text = os.environ.get(name, str(default))
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment variable {name} must be an int, got {shown(text)}") from None
