"""The Gymnasium adapter's steps agree bit for bit with Gymnasium's vector environment over plain loops."""

import functools
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import tensor_envs as te  # noqa: E402
from tensor_envs._engine.kernels import until  # noqa: E402
from tensor_envs.adapters.gymnasium import SingleAgentVectorEnv  # noqa: E402
from tensor_envs.envs.registry import gymnasium_id  # noqa: E402
from tests.adapters import toll_road  # noqa: E402
from tests.adapters.row_env import Choose, RowEnv, random_actions, uniform  # noqa: E402
from tests.games.shared import GAMES  # noqa: E402

MODES = tuple(AutoresetMode)
ROWS = 4
TIC_TAC_TOE, TOLL_ROAD = te.make("tic_tac_toe"), toll_road.make()


def id_of(name: str) -> str:
    return gymnasium_id(name, te.make(name).version)


def compare(
    vector: Any, env: te.Env, player: int | list[int], steps: int, choose: Choose = uniform, **options: Any
) -> tuple[int, set[float]]:
    """Step a vector beside SyncVectorEnv over plain loops, and return the ended episodes and the set of rewards.

    Everything must be equal: values, dtypes, the structure of info.
    """
    mode, rows = vector.metadata["autoreset_mode"], vector.num_envs
    makers = [functools.partial(RowEnv, env, row, player, choose, **options) for row in range(rows)]
    loop: Any = SyncVectorEnv(makers, autoreset_mode=mode)
    assert vector.observation_space == loop.observation_space and vector.action_space == loop.action_space
    rng, ends, paid = np.random.default_rng(1), 0, set()

    def reset_some(rows: np.ndarray) -> Any:
        ours, theirs = (one.reset(options={"reset_mask": rows}) for one in (vector, loop))
        assert (ours[0] == theirs[0]).all() and ours[1]["_action_mask"].all()
        assert (ours[1]["action_mask"] == theirs[1]["action_mask"])[rows].all()
        return ours

    for seed in (3, None):
        start = options.get("start")
        ours = vector.reset(seed=seed, options={"state": start} if start and seed else None)
        theirs = loop.reset(seed=seed)
        assert data_equivalence(ours, theirs, exact=True)
        if mode is AutoresetMode.DISABLED:
            ours = reset_some(np.arange(rows) % 2 == 0)
        for _ in range(steps):
            assert ours[0] in vector.observation_space
            actions = random_actions(ours[-1], rng, illegal=0.1)
            ours, theirs = vector.step(actions), loop.step(actions)
            assert data_equivalence(ours, theirs, exact=True)
            paid |= set(ours[1].tolist())
            ended = ours[2] | ours[3]
            ends += ended.sum()
            if mode is AutoresetMode.DISABLED and ended.any():
                ours = reset_some(ended)
    return int(ends), paid


@pytest.mark.few("leduc_poker")
@pytest.mark.parametrize("name", GAMES)
def test_every_game(name: str) -> None:
    """Each game agrees as `gymnasium.make_vec` makes it; large games use one row, whose kernels are cached."""
    env = te.make(name)
    rows, player = 1 if env.state_bytes > 48 else ROWS, env.num_players - 1
    vector = gymnasium.make_vec(id_of(name), num_envs=rows, player=player)
    assert vector.spec.id == id_of(name) and vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    compare(vector, env, player, 4)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("player", range(3))
def test_any_number_of_plies_between_turns(player: int, mode: AutoresetMode) -> None:
    """Games may end or pay in their openings, and have several plies in a row or illegal actions."""
    vector = SingleAgentVectorEnv(TOLL_ROAD, ROWS, player=player, autoreset_mode=mode)
    ends, paid = compare(vector, TOLL_ROAD, player, 16)
    assert ends > 15 and len(paid) > 5


def test_as_many_openings_may_end_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An episode of one ply is over before the player's decision unless that player begins."""
    monkeypatch.setattr(until, "OPENINGS", 2)
    env = toll_road.make(ends=1)

    def ended_openings(seed: int) -> int:
        state, count = env.init(1, seed), 0
        while state.current_player.item() != 1:
            state, count = env.reset(state, [True]), count + 1
        return count

    ended = {seed: ended_openings(seed) for seed in range(12)}
    assert 2 in ended.values() and max(ended.values()) > 2, "seeds of both kinds"
    vector = SingleAgentVectorEnv(env, 1, player=1)
    for seed, count in ended.items():
        if count > 2:
            with pytest.raises(RuntimeError, match="games in a row ended before player 1 could move"):
                vector.reset(seed=seed)
        else:
            vector.reset(seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_second_player_of_tic_tac_toe(mode: AutoresetMode) -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, ROWS, player=1, autoreset_mode=mode.value)
    ends, paid = compare(vector, TIC_TAC_TOE, 1, 12)
    assert ends > 10 and paid == {-1, 0, 1}


@pytest.mark.slow
def test_a_game_with_memory_fields() -> None:
    """Memory fields are too large for registers, so other players' actions run in separate kernels."""
    env = te.make("hyper_tic_tac_toe", shape=(23, 23), k=2)
    ends, paid = compare(SingleAgentVectorEnv(env, ROWS, player=1), env, 1, 20)
    assert ends > 10 and paid == {-1, 0, 1}


@pytest.mark.parametrize("game", [{"id": "tensor_equilibrium", "players": 3}, {"id": "three_will"}])
@pytest.mark.slow
def test_long_games(game: dict[str, Any]) -> None:
    env = te.make(**game)
    for player in range(env.num_players):
        compare(SingleAgentVectorEnv(env, ROWS, player=player, autoreset_mode="SameStep"), env, player, 60)


@pytest.mark.parametrize("mode", MODES)
def test_rewards_of_every_player(mode: AutoresetMode) -> None:
    """The last ply's are in info, whether or not the next episode has begun."""
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 2, player="all", autoreset_mode=mode)
    vector.reset(seed=0)
    for cells in ([0, 0], [3, 3], [1, 1], [4, 4], [2, 8]):
        _, rewards, _, _, info = vector.step(cells)
    assert rewards.tolist() == [1, 0] and info["rewards"].tolist() == [[1, -1], [0, 0]] and info["_rewards"].all()
    if mode is AutoresetMode.SAME_STEP:
        assert info["final_info"]["rewards"].tolist() == [[1, -1], [0, 0]]


@pytest.mark.slow
def test_truncation() -> None:
    env = te.make("shed", cards=5, max_plies=5)
    vector = SingleAgentVectorEnv(env, ROWS, autoreset_mode=AutoresetMode.SAME_STEP)
    compare(vector, env, 0, 8)
    vector.reset(seed=0)
    first, second, third = (vector.step(vector.games.action_mask.argmax(1)) for _ in range(3))
    assert not (first[3] | second[3]).any() and third[3].any()


@pytest.mark.slow
def test_a_custom_policy() -> None:
    """A custom policy returns NumPy arrays or lazy or jitted Tensors, and gets games with another player to move."""
    seen = []

    def lowest(state: te.State) -> np.ndarray:
        return state.legal_action_mask.numpy().argmax(1)

    def watched(state: te.State) -> np.ndarray:
        now = state.numpy()
        waits = ~(now["terminated"] | now["truncated"])
        assert waits.any() and (now["current_player"][waits] != 1).all()
        seen.append(waits.sum())
        return lowest(state)

    def lazy(state: te.State) -> Tensor:
        return state.legal_action_mask.int().argmax(1)

    for policy, steps in ((watched, 12), (lazy, 1), (te.jit(lazy), 12)):
        vector = SingleAgentVectorEnv(TOLL_ROAD, ROWS, player=1, opponent=policy)
        compare(vector, TOLL_ROAD, 1, steps, lowest)
    assert len(set(seen)) > 1


@pytest.mark.parametrize("player", [0, 1])
def test_a_vector_of_single_environments(player: int) -> None:
    """`gymnasium.make` is row 0 of a seed, and Gymnasium's vector of it steps like the adapter's."""
    loop: Any = gymnasium.make_vec(id_of("shed"), num_envs=2, vectorization_mode="sync", player=player)
    rows = [gymnasium.make_vec(id_of("shed"), num_envs=1, player=player) for _ in range(2)]
    rng = np.random.default_rng(4)
    for seed in (11, None):
        theirs, info = loop.reset(seed=seed)
        ours: Any = [row.reset(seed=seed and seed + i)[0] for i, row in enumerate(rows)]
        assert (np.concatenate(ours) == theirs).all()
        for _ in range(12):
            actions = random_actions(info, rng, illegal=0.1)
            theirs = loop.step(actions)
            ours = [row.step(actions[i : i + 1]) for i, row in enumerate(rows)]
            for one, two in zip(zip(*ours, strict=True), theirs[:4], strict=False):
                assert (np.concatenate(one) == two).all()
            info = theirs[4]


def test_returned_arrays_are_the_callers() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 2, autoreset_mode="SameStep")
    results = [vector.reset(seed=0)[0], *(vector.step([i, i])[0] for i in range(3))]
    copies = [result.copy() for result in results]
    vector.step([8, 8])
    for i, (result, copy) in enumerate(zip(results, copies, strict=True)):
        assert (result == copy).all()
        assert not any(np.shares_memory(result, other) for other in results[:i])


def test_rows_do_not_depend_on_the_batch() -> None:
    """Rows are equal in a single block and in two blocks with padding."""
    rng = np.random.default_rng(0)
    large, small = (SingleAgentVectorEnv(TOLL_ROAD, rows, player=1) for rows in (70, ROWS))
    (one, info), (two, _) = (vector.reset(seed=6) for vector in (large, small))
    for _ in range(20):
        assert (one[:ROWS] == two).all()
        actions = random_actions(info, rng, illegal=0.1)
        one, *ours, info = large.step(actions)
        two, *theirs, _ = small.step(actions[:ROWS])
        assert all((a[:ROWS] == b).all() for a, b in zip(ours, theirs, strict=True))


@pytest.mark.slow
def test_sharded_batch() -> None:
    rng = np.random.default_rng(0)
    whole, shared = (
        SingleAgentVectorEnv(TIC_TAC_TOE, 6, player=1, device=device) for device in ("CPU", ("CPU:0", "CPU:1"))
    )
    SingleAgentVectorEnv(TIC_TAC_TOE, 4, player=1).reset(
        seed=0
    )  # shares cached kernels, being of the same number of lanes
    (one, info), (two, _) = whole.reset(seed=4), shared.reset(seed=4)
    assert (one == two).all()
    for _ in range(8):
        actions = random_actions(info, rng)
        ours, theirs = shared.step(actions), whole.step(actions)
        assert data_equivalence(ours, theirs, exact=True)
        info = ours[4]


@pytest.mark.slow
def test_a_step_is_one_kernel() -> None:
    """One kernel plays all answers, resets, observations and masks; a policy adds one for each ply of the others."""
    vector = SingleAgentVectorEnv("qubic", 64)
    answered = SingleAgentVectorEnv("qubic", 64, opponent=lambda state: state.numpy()["legal_action_mask"].argmax(1))
    for env, steps, kernels in ((vector, 40, 1), (answered, 4, 2)):
        env.reset(seed=0)
        for _ in range(steps):
            before = GlobalCounters.kernel_count
            env.step(env.games.action_mask.argmax(1))
            assert GlobalCounters.kernel_count - before == kernels
