"""Self-play in the adapters: seats, opponents, a learner for every player, time limits and starts from positions."""

from typing import Any

import numpy as np
import pytest
from tinygrad.helpers import GlobalCounters

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode  # noqa: E402

import tensor_envs as te  # noqa: E402
from tensor_envs.adapters.gymnasium import SingleAgentEnv, SingleAgentVectorEnv  # noqa: E402
from tensor_envs.envs.registry import gymnasium_id  # noqa: E402
from tests.adapters import toll_road  # noqa: E402
from tests.adapters.row_env import drawn_seat, random_actions  # noqa: E402
from tests.adapters.test_gymnasium_plies import ROWS, compare  # noqa: E402
from tests.games import dice_race  # noqa: E402

TIC_TAC_TOE, TOLL_ROAD = te.make("tic_tac_toe"), toll_road.make()
MODES = tuple(AutoresetMode)


def lowest(state: te.State) -> np.ndarray:
    return state.numpy()["legal_action_mask"].argmax(1)


def highest(state: te.State) -> np.ndarray:
    mask = state.numpy()["legal_action_mask"]
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)


# *** seats ***


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("choose", [None, highest])
def test_a_drawn_seat(mode: AutoresetMode, choose: Any) -> None:
    """Each episode draws its seat, by whatever means the others are played."""
    options = {"autoreset_mode": mode} | ({"opponent": choose} if choose else {})
    vector = SingleAgentVectorEnv(TOLL_ROAD, ROWS, player="random", **options)
    ends, paid = compare(vector, TOLL_ROAD, [0, 1, 2], 16, *[choose] * (choose is not None))
    assert ends > 15 and len(paid) > 5


@pytest.mark.parametrize("player", ["random", "all", [0], range(1)])
def test_info_names_the_only_player(player: Any) -> None:
    """Unless `player` is an index, info has the player of every game, also of games for one."""
    vector = SingleAgentVectorEnv("yahtzee", 2, player=player)
    assert vector.reset(seed=0)[1]["player"].tolist() == [0, 0]
    assert vector.step([0, 0])[4]["player"].tolist() == [0, 0]


@pytest.mark.slow
def test_seats_of_a_list() -> None:
    compare(SingleAgentVectorEnv(TOLL_ROAD, ROWS, player=(2, 0, 2)), TOLL_ROAD, [2, 0, 2], 12)
    vector = SingleAgentVectorEnv(TOLL_ROAD, 4096, player=[0, 2, 2], autoreset_mode="SameStep")
    _, info = vector.reset(seed=5)
    counts = np.bincount(info["player"], minlength=3)
    assert counts[1] == 0 and abs(counts[2] / 4096 - 2 / 3) < 0.04
    for row, episode in enumerate(vector.games.state.episode.numpy()[:64].tolist()):
        assert info["player"][row] == drawn_seat([0, 2, 2], 5, row, episode)
    single = SingleAgentEnv("tic_tac_toe", player="random")
    seats = [single.reset(seed=0)[1]["player"]] + [single.reset()[1]["player"] for _ in range(19)]
    assert seats == [drawn_seat([0, 1], 0, 0, episode) for episode in range(20)] and len(set(seats)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shed", "three_will", "tensor_equilibrium", "chess"])
def test_drawn_seats_of_games(name: str) -> None:
    """Games that reset in a branch of their kernel, and games of several players, draw seats as well."""
    env = te.make(name)
    vector = SingleAgentVectorEnv(env, ROWS, player="random", max_episode_steps=7, autoreset_mode="SameStep")
    ends, _ = compare(vector, env, list(range(env.num_players)), 40, limit=7)
    assert ends > 10


@pytest.mark.slow
def test_a_drawn_seat_of_a_game_with_memory_fields() -> None:
    env = te.make("hyper_tic_tac_toe", shape=(23, 23), k=2)
    vector = SingleAgentVectorEnv(env, ROWS, player="random", max_episode_steps=3)
    ends, paid = compare(vector, env, [0, 1], 30, limit=3)
    assert ends > 10 and paid == {-1, 0, 1}


# *** opponents ***


def test_an_opponent_is_replaced_at_any_time() -> None:
    """A new opponent plays from its next decision on, in the middle of games, by every way of setting it."""
    vector, calls = SingleAgentVectorEnv(TIC_TAC_TOE, 8, autoreset_mode="SameStep"), []

    def watched(state: te.State) -> np.ndarray:
        calls.append(state.batch)
        return lowest(state)

    def answers() -> np.ndarray:
        """Return the opponents' discs after the learner takes the centre."""
        vector.reset(seed=1)
        vector.step([4] * 8)
        return np.array([np.flatnonzero(row)[0] for row in discs(vector)])

    assert len(set(answers().tolist())) > 2  # the uniform policy
    for change, expected in (
        (lambda: vector.set_opponent(watched), 0),
        (lambda: setattr(vector, "opponent", highest), 8),
        (lambda: vector.call("set_opponent", watched), 0),
        (lambda: vector.set_attr("opponent", highest), 8),
        (lambda: vector.set_attr("opponent", [watched] * 8), 0),
    ):
        change()
        assert (answers() == expected).all() and vector.get_attr("opponent") == (vector.opponent,) * 8
    vector.step([8] * 8)
    assert calls and not (discs(vector)[:, :2] == 0).any()
    vector.set_opponent(highest)
    vector.step([7] * 8)
    assert (discs(vector)[:, 6] == 1).all()
    before = len(calls)
    vector.set_opponent("uniform")
    kernels = GlobalCounters.kernel_count
    vector.step([2] * 8)
    assert GlobalCounters.kernel_count - kernels == 2 and len(calls) == before  # the step and the reset


def discs(vector: SingleAgentVectorEnv) -> np.ndarray:
    """Return the opponents' squares of tic-tac-toe, [B, 9]."""
    return vector.games.observation.reshape(vector.num_envs, 2, 9)[:, 1]


@pytest.mark.parametrize("answer", [None, np.zeros(1), np.zeros(2, np.int32)])
def test_an_opponent_that_fails_leaves_no_turn_to_the_learner(answer: Any) -> None:
    """Its decision is missing, so that the learner's next action would be played for it."""
    failures = [True, False]

    def opponent(state: te.State) -> Any:
        if failures.pop():
            return answer_of(answer)
        return lowest(state)

    def answer_of(answer: Any) -> Any:
        if answer is None:
            raise OSError("the server is down")
        return answer

    env = SingleAgentEnv("tic_tac_toe", player=0, opponent=opponent)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises((OSError, TypeError, ValueError), match=r"the server is down|opponent's actions must"):
        env.step(4)
    with pytest.raises(RuntimeError, match="the opponent has failed in the last step, and its games wait for it"):
        env.step(5)
    failures += [False]
    assert env.reset(seed=0)[0].sum() == 0
    env.step(0)


def test_gymnasiums_vectors_set_opponents_of_single_environments() -> None:
    loop: Any = gymnasium.make_vec(gymnasium_id("tic_tac_toe", 0), num_envs=2, vectorization_mode="sync")
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 1, opponent=highest)
    loop.call("set_opponent", lowest)
    assert {env.unwrapped.opponent for env in loop.envs} == {lowest}
    loop.set_attr("opponent", [lowest, highest])
    assert [env.unwrapped.opponent for env in loop.envs] == [lowest, highest]
    for env in (loop, vector):
        env.reset(seed=1)
    assert (loop.step([4, 4])[0][1] == vector.step([4])[0][0]).all()


def test_attributes_of_a_vector() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 2, render_mode="ansi")
    vector.reset(seed=0)
    assert vector.call("action_masks")[1].shape == (9,) and "." in vector.call("render")[1]
    assert vector.get_attr("action_space") == (vector.single_action_space,) * 2
    assert vector.get_attr("render_mode") == ("ansi", "ansi")
    with pytest.raises(AttributeError, match="share one environment, so 'player' cannot be set; 'opponent' can"):
        vector.set_attr("player", 1)
    for values in ([lowest], [lowest, highest]):
        with pytest.raises(ValueError, match="values must be one policy, or 2 times the same one"):
            vector.set_attr("opponent", values)


@pytest.mark.slow
def test_a_league_draws_a_member_for_each_game_and_episode() -> None:
    """All plies of an episode are played by its member; members are drawn by weight, reproducibly."""
    league = te.agents.league([lowest, highest, lambda state: [4] * state.batch], weights=[3, 1, 0])
    vector, rows, seen = SingleAgentVectorEnv(TIC_TAC_TOE, 256, player=1, autoreset_mode="Disabled"), 256, []
    vector.set_opponent(league)
    for seed in (3, None, None):
        observation = vector.reset(seed=seed)[0]
        first = observation.reshape(rows, 2, 9)[:, 1]
        assert (first.sum(1) == 1).all() and (first[:, [0, 8]].sum(1) == 1).all()
        member = first[:, 8]
        observation, *_ = vector.step(np.where(member, 0, 8))  # the square of the other member
        mine, theirs = observation.reshape(rows, 2, 9).transpose(1, 0, 2)
        assert (theirs[member == 1, 7] == 1).all() and (theirs[member == 0, 1] == 1).all() and mine.sum() == rows
        seen.append(member)
    assert abs(np.mean(seen) - 0.25) < 0.06 and (seen[0] != seen[1]).any() and (seen[1] != seen[2]).any()
    vector.reset(seed=3)
    assert (discs(vector)[:, 8] == seen[0]).all()
    alone = SingleAgentVectorEnv(TIC_TAC_TOE, 5, player=1, opponent=league)
    alone.reset(seed=3)
    assert (discs(alone)[:, 8] == seen[0][:5]).all()
    vector.set_opponent(te.agents.league([lowest, highest], [3, 1], seed=1))
    vector.reset(seed=3)
    assert (discs(vector)[:, 8] != seen[0]).any()


def test_wrong_leagues() -> None:
    cases: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (TypeError, "policies must be a list of policies", (lowest,)),
        (ValueError, "policies must have one or more members", ([],)),
        (TypeError, r"policies\[1\] must be a function, got 'uniform'", ([lowest, "uniform"],)),
        (ValueError, "weights must be 2 numbers >= 0 with a positive sum", ([lowest, highest], [1])),
        (ValueError, "weights must be 2 numbers >= 0 with a positive sum", ([lowest, highest], [0, 0])),
        (ValueError, r"weights\[1\] must be in 0..inf, got -1", ([lowest, highest], [1, -1])),
        (ValueError, r"weights\[0\] must be in", ([lowest], [float("nan")])),
        (TypeError, "weights must be a list of numbers", ([lowest], "1")),
        (TypeError, "weights must be a list of numbers", ([lowest], np.array(1))),
        (ValueError, "seed must be in", ([lowest], None, -1)),
    ]
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            te.agents.league(*arguments)
    state = TIC_TAC_TOE.init(3)
    with pytest.raises(ValueError, match=r"the action of policies\[1\] must have shape \(3,\), got \(2,\)"):
        te.agents.league([lowest, lambda state: [0, 0]])(state)


# *** a learner for every player ***


@pytest.mark.few("AutoresetMode.SAME_STEP-tic_tac_toe")
@pytest.mark.parametrize("env", [TIC_TAC_TOE, TOLL_ROAD, dice_race.shared()], ids=lambda env: env.id)
@pytest.mark.parametrize("mode", MODES)
def test_a_learner_for_every_player(env: te.Env, mode: AutoresetMode) -> None:
    """A step is a ply: the mover's reward, everyone's rewards, and the next mover's observation; thousands of plies."""
    batch, rng, limit = 70, np.random.default_rng(2), 6
    vector = SingleAgentVectorEnv(env, batch, player="all", autoreset_mode=mode, max_episode_steps=limit)
    observation, info = vector.reset(seed=8)
    state = env.init(batch, 8)
    steps, over, ends = np.zeros(batch, int), np.zeros(batch, bool), np.zeros(3, int)
    row = np.arange(batch)
    for _ in range(24):
        now = state.numpy()
        assert (info["action_mask"] == now["legal_action_mask"]).all()
        assert (info["player"] == now["current_player"]).all()
        assert (observation == env.observe(state).numpy()).all()
        if mode is AutoresetMode.DISABLED and over.any():
            observation, info = vector.reset(options={"reset_mask": over})
            assert not info["rewards"][over].any()
            state, steps, over = env.reset(state, over), steps * ~over, over & False
            continue
        actions = random_actions(info, rng, illegal=0.05)
        mover = now["current_player"]
        after = (
            te.where(over, env.reset(state, over), env.step(state, actions)) if over.any() else env.step(state, actions)
        )
        result, played = after.numpy(), ~over
        rewards, steps = result["rewards"] * played[:, None], np.where(over, 0, steps + 1)
        terminated, truncated = result["terminated"], result["truncated"]
        truncated = truncated | (played & (steps >= limit) & ~terminated)
        over = terminated | truncated
        observation, paid, ended, cut, info = vector.step(actions)
        assert (paid == rewards[row, mover]).all() and paid.dtype == np.float64
        assert (ended == terminated).all() and (cut == truncated).all()
        ends += [terminated.sum(), truncated.sum(), (rewards.any(1)).sum()]
        if mode is AutoresetMode.SAME_STEP and over.any():
            last = info["final_info"]
            assert (last["rewards"] == rewards)[over].all()
            assert (last["action_mask"] == result["legal_action_mask"] * over[:, None]).all()
            seen = env.observe(after).numpy()
            assert all((final == seen[i]).all() for i, final in enumerate(info["final_obs"]) if final is not None)
            after, steps, over = env.reset(after, over), steps * ~over, over & False
        assert (info["rewards"] == rewards).all()
        state = after
    assert ends.min() > 10


@pytest.mark.slow
def test_self_play_of_a_game_with_memory_fields() -> None:
    env = te.make("hyper_tic_tac_toe", shape=(23, 23), k=2)
    vector = SingleAgentVectorEnv(env, 3, player="all", autoreset_mode="SameStep")
    vector.reset(seed=0)
    state, ends = env.init(3, 0), 0
    for turn in range(6):
        actions = np.array([[0, 99, 1][turn % 3], [0, 40, 200, 41, 0, 99][turn], 4 * turn])
        mover = state.current_player.numpy()
        state = env.step(state, actions)
        paid, ended = vector.step(actions)[1:3]
        assert (paid == state.rewards.numpy()[range(3), mover]).all() and (ended == state.terminated.numpy()).all()
        ends += ended.sum()
        state = env.reset(state, ended)
    assert ends == 3  # twice two discs in a row in row 0, once in row 1


def test_every_player_is_the_learner() -> None:
    for arguments in ({"opponent": lowest}, {"policy": lowest}):
        with pytest.raises(ValueError, match="player='all' the learner moves for every player"), warnings_of(arguments):
            SingleAgentVectorEnv(TIC_TAC_TOE, player="all", **arguments)  # type: ignore[arg-type]
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, player="all")
    with pytest.raises(ValueError, match="there is no opponent to set"):
        vector.set_opponent(lowest)
    single = SingleAgentEnv("tic_tac_toe", player="all")
    _, info = single.reset(seed=0)
    assert info["player"] == 0 and info["rewards"].tolist() == [0, 0]
    for square in (0, 3, 1, 4, 2):
        _, reward, terminated, _, info = single.step(square)
    assert reward == 1 and terminated and info["rewards"].tolist() == [1, -1]


def warnings_of(arguments: dict[str, Any]) -> Any:
    """Return a context that expects a warning for the old name of `opponent`."""
    if "policy" in arguments:
        return pytest.warns(DeprecationWarning, match="write opponent=, not policy=")
    return pytest.MonkeyPatch.context()


# *** time limits ***


@pytest.mark.few("AutoresetMode.NEXT_STEP")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("choose", [None, lowest])
def test_a_time_limit(mode: AutoresetMode, choose: Any) -> None:
    """`make_vec(max_episode_steps=N)` truncates after N decisions of the learner, unless the game ends with them."""
    options = {"opponent": choose} if choose else {}
    name = gymnasium_id("tic_tac_toe", 0)
    vector = gymnasium.make_vec(name, num_envs=ROWS, player=1, max_episode_steps=3, autoreset_mode=mode, **options)
    ends, paid = compare(vector, TIC_TAC_TOE, 1, 16, *[choose] * (choose is not None), limit=3)
    assert ends > 15 and paid == {-1, 0, 1}
    strict = SingleAgentVectorEnv("tic_tac_toe", 2, illegal="raise", max_episode_steps=1)
    for _ in range(2):
        _, info = strict.reset(seed=0)
        assert strict.step(info["action_mask"].argmax(1))[3].all()
        _, _, _, truncated, info = strict.step([4, 4])  # ignored
        assert not truncated.any() and info["action_mask"].all()
        with pytest.raises(ValueError, match="2 illegal actions"):
            strict.step([9, 9])
    single = gymnasium.make(name, max_episode_steps=2)
    single.reset(seed=0)
    assert not single.step(single.unwrapped.action_masks().argmax())[3]
    assert single.step(single.unwrapped.action_masks().argmax())[3]


# *** given positions ***


@pytest.mark.slow
def test_games_start_from_given_positions() -> None:
    """The first episode starts from the row's position with the chance of seed and row, later ones as usual."""
    env = te.make("shed", cards=8)
    state = env.init(40, 5)
    for _ in range(3):
        state = env.step(state, te.agents.uniform(state))
    keep = np.flatnonzero(~(state.terminated.numpy() | state.truncated.numpy()))[:ROWS]
    start = [env.state_to_dict(state, int(i)) for i in keep]
    for player, seats in ((0, 0), ("random", [0, 1])):
        vector = SingleAgentVectorEnv(env, ROWS, player=player, autoreset_mode="SameStep")  # type: ignore[arg-type]
        compare(vector, env, seats, 14, start=start)


def test_chance_of_given_positions_is_that_of_the_next_episode() -> None:
    env = te.make("leduc_poker")
    vector = SingleAgentVectorEnv(env, 6, player="all")
    vector.reset(seed=2)
    start = env.state_to_dict(vector.games.state, 3)
    before = vector.games.state
    rows = np.array([True, False, True, True, False, False])
    vector.reset(options={"state": start, "reset_mask": rows})
    expected, after = env.reset(before, rows).numpy(), vector.games.state
    assert (after.episode.numpy() == expected["episode"]).all() and (after.numpy()["key"] == expected["key"]).all()
    for i in range(6):
        assert env.state_to_dict(after, i) == (start if rows[i] else env.state_to_dict(before, i))
    given = env.init(3, 99)
    vector.reset(options={"state": given, "reset_mask": rows})
    final = vector.games.state
    assert [env.state_to_dict(final, i) for i in (0, 2, 3)] == [env.state_to_dict(given, i) for i in range(3)]
    assert (final.episode.numpy() == after.episode.numpy() + rows).all()


@pytest.mark.slow
def test_positions_of_chess() -> None:
    """Positions are dictionaries, strings or States, for one game or many, with or without a seed."""
    fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    vector = SingleAgentVectorEnv("chess", 2, player="all")
    env = vector.games.env
    mate = env.string_to_action("d1d8", env.state_from_dicts([{"fen": fen}]))
    for given in (fen, [fen, fen], {"fen": fen}, env.state_from_dicts([{"fen": fen}])):
        for seed in (7, None):
            _, info = vector.reset(seed=seed, options={"state": given})
            assert info["action_mask"][:, mate].all()
            assert vector.games.env.state_to_dict(vector.games.state, 1)["fen"] == fen
    _, rewards, terminated, *_ = vector.step([mate, mate])
    assert rewards.tolist() == [1, 1] and terminated.all()
    _, info = vector.reset(seed=0, options={"state": [fen.replace(" w ", " b "), fen]})
    assert info["player"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="fen must be six words"):
        vector.reset(options={"state": "x"})


def test_a_written_position_of_shed() -> None:
    single = SingleAgentEnv("shed", cards=7, player=1)
    first = single.reset(options={"state": "7+ [4] 6-3"})[0]
    env = single.vector.games.env
    parsed = {"hands": [[7], [3, 6]], "pile": [4], "talon": [1, 2, 5], "current_player": 1}
    assert (first == env.observe(env.state_from_dicts([parsed]), 1).numpy()[0]).all()


def test_wrong_positions() -> None:
    vector = SingleAgentVectorEnv(TIC_TAC_TOE, 3)
    start = TIC_TAC_TOE.state_to_dict(TIC_TAC_TOE.init(1))
    over = TIC_TAC_TOE.init(1)
    for square in (0, 3, 1, 4, 2):
        over = TIC_TAC_TOE.step(over, [square])
    cases: list[tuple[type[Exception], str, Any]] = [
        (TypeError, r"options\['state'\] must be a dictionary, a string, a State, or a list", 3),
        (ValueError, "one position, or one for each of 3 games, got 2", [start, start]),
        (ValueError, "one position, or one for each of 3 games, got 0", []),
        (ValueError, "must have no games that are over, got one at 0", over),
        (ValueError, "game 0 is no state of 'tic_tac_toe'", {}),
        (ValueError, "the state belongs to", TOLL_ROAD.init(1)),
        (ValueError, "positions of 'tic_tac_toe' have no notation as a string, got 'x'", "x"),
        (TypeError, "a position must be a dictionary or a string, got 3", [start, 3, start]),
    ]
    for error, message, given in cases:
        with pytest.raises(error, match=message):
            vector.reset(options={"state": given})
    with pytest.raises(ValueError, match="no key but 'state', got 'reset_mask'"):
        SingleAgentEnv("tic_tac_toe").reset(options={"reset_mask": np.ones(1, bool)})


def test_wrong_seats_and_limits() -> None:
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "player must be one of 'random', 'all', got 'each'", {"player": "each"}),
        (TypeError, "player must be an index, a list of indices, 'random' or 'all', got 0.5", {"player": 0.5}),
        (ValueError, r"player\[1\] must be in 0..1, got 2", {"player": [0, 2]}),
        (ValueError, "player must have one or more entries", {"player": []}),
        (ValueError, "max_episode_steps must be in 1..16777216, got 0", {"max_episode_steps": 0}),
        (TypeError, "max_episode_steps must be an int", {"max_episode_steps": 1.5}),
    ]
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            SingleAgentVectorEnv("tic_tac_toe", **arguments)


# *** shaped rewards ***


class Bonus(gymnasium.RewardWrapper):  # type: ignore[name-defined,misc]
    """Adds a hundredth to every reward."""

    def reward(self, reward: Any) -> float:
        return float(reward) + 0.01


def test_reward_wrappers() -> None:
    """Gymnasium's wrappers change the rewards of single environments and of vectors."""
    single = Bonus(gymnasium.make(gymnasium_id("tic_tac_toe", 0)))
    single.reset(seed=0)
    assert single.step(4)[1] == 0.01
    vector = gymnasium.make_vec(gymnasium_id("tic_tac_toe", 0), num_envs=2)
    shaped = gymnasium.wrappers.vector.TransformReward(vector, lambda rewards: rewards + 0.01)
    shaped.reset(seed=0)
    assert shaped.step([4, 4])[1].tolist() == [0.01, 0.01]
