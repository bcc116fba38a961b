"""The Gymnasium adapter: Gymnasium's checks and wrappers, ends and resets, wrong arguments, registration."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import ResetNeeded  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import tensor_envs as te  # noqa: E402
from tensor_envs.adapters import gymnasium as adapter  # noqa: E402
from tensor_envs.adapters.gymnasium import SingleAgentEnv, SingleAgentVectorEnv  # noqa: E402
from tensor_envs.envs.registry import gymnasium_id  # noqa: E402
from tests.adapters import toll_road  # noqa: E402
from tests.adapters.row_env import random_actions  # noqa: E402
from tests.games.shared import GAMES  # noqa: E402

# a Spec has no bounds for float observations
pytestmark = pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is -?infinity")
ROOT = Path(__file__).parents[2]
TIC_TAC_TOE, TOLL_ROAD = te.make("tic_tac_toe"), toll_road.make()


def id_of(name: str) -> str:
    return gymnasium_id(name, te.make(name).version)


@pytest.mark.few("leduc_poker")
@pytest.mark.parametrize("name", GAMES)
def test_gymnasium_checks_every_game(name: str) -> None:
    env = gymnasium.make(id_of(name))
    check_env(env.unwrapped)
    observation, info = env.reset(seed=5)
    over = False
    for _ in range(3):
        assert info["action_mask"].dtype == np.int8 and info["action_mask"].any() != over
        if not over:  # games of Kuhn poker are short
            action = env.action_space.sample(info["action_mask"])
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        assert observation in env.observation_space


# *** ends and beginnings ***


def test_illegal_actions() -> None:
    """An illegal action loses the game, or raises an error that names the place."""
    single = gymnasium.make(id_of("tic_tac_toe"))
    single.reset(seed=0)
    single.step(4)
    _, reward, terminated, truncated, info = single.step(4)
    assert (reward, terminated, truncated) == (-1, True, False) and not info["action_mask"].any()
    with pytest.raises(ResetNeeded, match="call reset, or give their rows"):
        single.step(0)
    strict = SingleAgentVectorEnv("tic_tac_toe", 3, illegal="raise")
    strict.reset(seed=0)
    legal = strict.step([0, 1, 2])[4]["action_mask"].argmax(1)
    with pytest.raises(ValueError, match=r"1 illegal actions \(row 1: 1\)"):
        strict.step([legal[0], 1, legal[2]])
    assert not strict.step(legal)[2].any()


def test_illegal_actions_of_the_others_pay_the_player() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 2, opponent=lambda state: np.full(state.batch, 9))
    vector.reset(seed=0)
    _, rewards, terminated, _, _ = vector.step([0, 1])
    assert rewards.tolist() == [1, 1] and terminated.all()


def test_a_player_that_never_moves() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 2, player=1, opponent=lambda state: np.full(state.batch, -1))
    with pytest.raises(RuntimeError, match="before player 1 could move, in row 0"):
        vector.reset(seed=0)


@pytest.mark.slow
def test_reset_without_a_seed() -> None:
    """A reset without a seed continues the seed's episodes; without any seed, a new one is drawn."""
    vectors = [SingleAgentVectorEnv(TOLL_ROAD, 16) for _ in range(2)]
    drawn = [vector.reset()[0] for vector in vectors]
    assert (drawn[0] != drawn[1]).any()
    first = vectors[0].reset(seed=1)[0]
    following = vectors[0].reset()[0]
    assert (first != following).any()
    assert (vectors[1].reset(seed=1)[0] == first).all() and (vectors[1].reset()[0] == following).all()
    assert (vectors[0].games.state.episode.numpy() >= 1).all()


def test_before_and_after_a_game() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 4, autoreset_mode="Disabled", render_mode="ansi")
    for call in (lambda: vector.step([0] * 4), vector.render):
        with pytest.raises(ResetNeeded, match="call reset before"):
            call()
    mask = np.array([False, True, False, True])
    with pytest.raises(ResetNeeded, match="first reset"):
        vector.reset(options={"reset_mask": mask})
    vector.reset(seed=0)
    vector.step([0, 9, 0, 9])
    with pytest.raises(ResetNeeded, match="rows 1, 3 are over"):
        vector.step([0] * 4)
    vector.close()
    vector.close()
    assert vector.closed


def test_wrong_arguments() -> None:
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "unknown id", {"game": "shet"}),
        (TypeError, "no rule field 'card'", {"game": "shed", "card": 3}),
        (TypeError, "rules already, got 'cards'", {"game": te.make("shed"), "cards": 3}),
        (ValueError, "player must be in 0..1, got 2", {"player": 2}),
        (ValueError, "opponent must be 'uniform' or a function", {"opponent": "best"}),
        (ValueError, "render_mode must be one of 'ansi', 'svg', 'rgb_array'", {"render_mode": "human"}),
        (ValueError, "'NextStep', 'SameStep', 'Disabled', got 'same_step'", {"autoreset_mode": "same_step"}),
        (ValueError, "num_envs must be in 1..", {"num_envs": 0}),
        (ValueError, "device 'NOPE'", {"device": "NOPE"}),
    ]
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            SingleAgentVectorEnv(**{"game": "shed", **arguments})
    vector = SingleAgentVectorEnv("shed", 2)
    resets: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "seed must be in 0..", {"seed": 2**64}),
        (TypeError, "options must be of type dict, got 3", {"options": 3}),
        (TypeError, r"options must be of type dict, got \[\]", {"options": []}),
        (ValueError, "no key but 'reset_mask' and 'state', got 'mask'", {"options": {"mask": 0}}),
        (TypeError, "array of bool, got list", {"options": {"reset_mask": [True, False]}}),
        (TypeError, "array of bool, got dtype int64", {"options": {"reset_mask": np.ones(2, np.int64)}}),
        (ValueError, r"shape \(2,\) and some True, got shape \(3,\)", {"options": {"reset_mask": np.ones(3, bool)}}),
        (ValueError, "some True, got no True", {"options": {"reset_mask": np.zeros(2, bool)}}),
        (ValueError, "not both", {"seed": 1, "options": {"reset_mask": np.ones(2, bool)}}),
    ]
    for error, message, arguments in resets:
        with pytest.raises(error, match=message):
            vector.reset(**arguments)
    vector.reset(seed=0)
    for error, message, actions in (
        (ValueError, r"action must have shape \(2,\), got \(3,\)", [0, 0, 0]),
        (TypeError, "action must be integers", [0.5, 0.5]),
    ):
        with pytest.raises(error, match=message):
            vector.step(actions)
    single = SingleAgentEnv("shed")
    with pytest.raises(ValueError, match="no key but 'state', got 'player'"):
        single.reset(options={"player": 1})
    single.reset(seed=0)
    with pytest.raises(ValueError, match=r"action must be a single integer, got an array of shape \(1,\)"):
        single.step([0])


# *** pictures, wrappers, registration ***


def test_render() -> None:
    pytest.importorskip("PIL")
    for mode, kind in (("ansi", str), ("svg", str), ("rgb_array", np.ndarray), (None, type(None))):
        single: Any = SingleAgentEnv(TIC_TAC_TOE, render_mode=mode)
        single.reset(seed=0)
        single.step(4)
        if mode is None:
            with pytest.warns(UserWarning, match="render_mode, one of ansi, svg, rgb_array"):
                assert single.render() is None
            continue
        frame, games = single.render(), single.vector.games
        assert type(frame) is kind
        if mode == "rgb_array":
            pixels: Any = frame
            assert pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3 and np.ptp(pixels) > 100
        else:
            assert frame == {"ansi": games.env.to_string, "svg": games.env.render}[mode](games.state)
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 3, render_mode="ansi")
    vector.reset(seed=0)
    vector.step([0, 4, 8])
    frames = vector.render()
    assert frames is not None and len(frames) == 3 and "X" in frames[1] and frames[1] != frames[2]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_gymnasium_wrappers(mode: AutoresetMode) -> None:
    """Episode statistics and lists of infos agree with the rewards."""
    made = [gymnasium.make_vec(id_of("tic_tac_toe"), num_envs=4, autoreset_mode=mode) for _ in range(2)]
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(made[0])
    listed = gymnasium.wrappers.vector.DictInfoToList(made[1])
    rng, returns = np.random.default_rng(0), []
    _, info = counted.reset(seed=0)
    _, infos = listed.reset(seed=0)
    for _ in range(12):
        assert (np.stack([one["action_mask"] for one in infos]) == info["action_mask"]).all()
        actions = random_actions(info, rng)
        _, rewards, terminated, _, info = counted.step(actions)
        infos = listed.step(actions)[4]
        returns += rewards[terminated].tolist()
        assert ("episode" in info) == terminated.any()
        finals = ["final_obs" in one and "final_info" in one for one in infos]
        assert finals == (terminated & (mode is AutoresetMode.SAME_STEP)).tolist()
    assert list(counted.return_queue) == returns and len(returns) > 5


def test_names() -> None:
    assert gymnasium_id("tic_tac_toe", 0) == "tensor_envs/TicTacToe-v0"
    assert gymnasium_id("my_2048", 3) == "tensor_envs/My2048-v3"
    assert {id_of(name) for name in te.registered()} <= set(gymnasium.registry)
    spec = gymnasium.spec("tensor_envs/Shed-v0")
    assert gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()) == spec
    before = dict(gymnasium.registry)
    adapter.register_games()
    assert gymnasium.registry == before


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_fresh_process_needs_no_import() -> None:
    """Gymnasium imports the module that an id names, and games registered later are available."""
    code = """
import gymnasium
name = "tensor_envs.adapters.gymnasium:tensor_envs/HyperTicTacToe-v0"
vector = gymnasium.make_vec(name, num_envs=2, shape=(2, 4), k=2)
import tensor_envs as te
from tests.games.dice_race import GAME
te.register(GAME)
print(vector.single_action_space, gymnasium.make("tensor_envs/DiceRace-v3", goal=9).action_space)
"""
    assert run_python(code) == "Discrete(8) Discrete(3)\n"


@pytest.mark.slow
def test_without_gymnasium() -> None:
    code = """
import sys
sys.modules["gymnasium"] = None
try:
    import tensor_envs.adapters.gymnasium
except ImportError as error:
    print(error)
"""
    assert "pip install 'tensor_envs[gymnasium]'" in run_python(code)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_games_that_are_played_are_not_copied(copied: Any) -> None:
    """A copy would share the memory of the original."""
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 3)
    vector.reset(seed=1)
    with pytest.raises(TypeError, match="an adapter's games cannot be copied or pickled"):
        copied(vector)
