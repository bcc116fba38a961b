"""Matches, ratings, regret, and the agents that play them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.evaluation import agents
from tensor_envs.evaluation.oracles import oracle_of
from tensor_envs.evaluation.ratings import _elo, ratings_of
from tensor_envs.games.shed.solve import solve
from tensor_envs.solve import enumeration
from tensor_envs.train.network import FOLDER, Network, load, network_inputs, save
from tests.games.shared import shared_env


def first_legal(state: te.State) -> np.ndarray:
    return state.legal_action_mask.numpy().argmax(1)


@pytest.mark.slow
def test_perfect_play_loses_nothing_and_the_players_take_turns() -> None:
    env = shared_env("tic_tac_toe")
    result = te.evaluate(env, [agents.perfect(), agents.uniform], games=200)
    again = te.evaluate(env, [agents.perfect(), agents.uniform], games=200)
    assert result.wins[1] == 0 and result.wins[0] > 150 and result.wins.sum() + result.draws[0] == 200
    assert (result.returns == again.returns).all() and (result.plies == again.plies).all()
    assert (result.players[:100] == [0, 1]).all() and (result.players[100:] == [1, 0]).all()
    assert result.returns.sum() == 0 and result.unfinished == 0 and 5 <= result.plies.min() <= 9
    assert result.by_player()[0, 0] > result.by_player()[0, 1] > 0.5  # the first player wins more often
    assert f"policy 1: 0 won, {result.draws[1]} drawn" in str(result)


@pytest.mark.slow
def test_perfect_players_win_won_positions() -> None:
    env = shared_env("tic_tac_toe")
    fork = env.state_from_dicts([{"board": [1, 0, 0, 0, -1, 0, 0, 0, 1], "current_player": 1}] * 64)
    assert set(agents.perfect()(fork).tolist()) == {1, 3, 5, 7}  # a corner would lose
    won = te.evaluate(te.make("shed", cards=5), [agents.uniform, agents.perfect()], 12, seats="fixed")
    assert (won.returns == [-1, 1]).all()  # the first position is a loss


def test_points_and_intervals() -> None:
    env = shared_env("tic_tac_toe")
    same = te.evaluate(env, [agents.uniform] * 2, games=4000)
    assert abs(same.scores[0] - 0.5) < same.interval()[0] < 0.02
    assert np.isclose(same.interval()[0], 1.96 * same.points[:, 0].std() / 4000**0.5)
    fixed = te.evaluate(env, [agents.uniform] * 2, games=2000, seats="fixed")
    assert abs(fixed.mean_returns[0] - 0.2965) < 0.06  # the first of two uniform players, from 255,168 games weighed
    assert np.isnan(fixed.by_player()[0, 1])


def test_nobody_wins_a_game_for_one_player() -> None:
    result = te.Evaluation(np.array([[3.0], [5.0]], np.float32), np.zeros((2, 1), int), np.array([7, 9]), 0, False)
    assert str(result) == "2 games of 8.0 plies, 0 unfinished; mean return +4.000 +- 1.386"


def test_deals_are_the_same_from_either_side() -> None:
    env = te.make("shed", cards=6)
    result = te.evaluate(env, [first_legal, first_legal], games=40)
    assert (result.returns[:20] == result.returns[20:, ::-1]).all()


def test_openings_make_games_differ_and_a_limit_leaves_them() -> None:
    env = shared_env("tic_tac_toe")
    assert len(np.unique(te.evaluate(env, [first_legal] * 2, 64).plies)) == 1
    assert len(np.unique(te.evaluate(env, [first_legal] * 2, 64, opening=3).plies)) > 1
    with pytest.raises(ValueError, match="opening must leave decisions to the policies, no game has more than 9 plies"):
        te.evaluate(env, [first_legal] * 2, 64, opening=9)
    cut = te.evaluate(env, [first_legal] * 2, 64, limit=4)
    assert cut.unfinished == 64 and (cut.plies == 4).all() and (cut.points == 0.5).all()


def test_ratings_are_those_of_maximum_likelihood() -> None:
    elo, errors = _elo(np.array([[0.0, 30.0], [10.0, 0.0]]))
    assert np.allclose(elo, [400 * np.log10(3) / 2, -400 * np.log10(3) / 2])
    assert np.allclose(errors, 400 / np.log(10) / np.sqrt(40 * 0.75 * 0.25) / 2)


@pytest.mark.parametrize("games", [10, 2**20])
def test_mean_ratings_are_0(games: int) -> None:
    """Also where Newton's steps are bounded, since hardly a game is lost by the better player."""
    random = np.random.default_rng(0)
    for _ in range(40):
        count = int(random.integers(2, 12))
        won = np.triu(random.integers(0, games + 1, (count, count)) * (random.random((count, count)) < 0.2), 1)
        points = won + np.tril(games - won.T, -1)
        assert abs(ratings_of([str(k) for k in range(count)], points, games).elo.mean()) < 1e-6


def test_a_round_robin_of_a_game_of_chips_compares_mean_returns() -> None:
    """Who always bets and calls in Kuhn poker wins more hands than who folds jacks and, as the first, queens.

    The latter earns 1/6 a hand: a king wins 2, a queen of the second player nothing in the mean; other hands lose 1.
    """
    env = shared_env("kuhn_poker")

    def careful(state: te.State) -> np.ndarray:
        player = np.maximum(state.current_player.numpy(), 0)
        card = state.cards.numpy()[np.arange(state.batch), player]
        return (card + player >= 2).astype(np.int32)

    players: dict[str, agents.Policy] = {"wild": lambda state: [1] * state.batch, "careful": careful}
    ratings = te.arena(env, players, games=2048, opening=0)
    pair = te.evaluate(env, [*players.values()], games=2048)
    assert ratings.returns is not None and ratings.return_intervals is not None
    assert ratings.returns[0, 1] == pair.mean_returns[0] < 0 and np.isnan(np.diag(ratings.returns)).all()
    assert ratings.returns[1, 0] == pair.mean_returns[1]
    assert ratings.return_intervals == pytest.approx(pair.interval(pair.returns))
    assert ratings.elo[0] > ratings.elo[1] and abs(pair.mean_returns[1] - 1 / 6) < 0.1
    heading, first, _ = str(ratings).splitlines()
    assert "mean return" in heading and "Elo of wins" in heading
    assert first.split()[:2] == ["careful", f"{pair.mean_returns[1]:+.3f}"]


@pytest.mark.slow
def test_a_round_robin_orders_the_players() -> None:
    env = shared_env("tic_tac_toe")
    players: dict[str, agents.Policy] = {
        "uniform": agents.uniform,
        "search": agents.playout_search(64),
        "perfect": agents.perfect(),
    }
    ratings = te.arena(env, players, games=128)
    assert ratings.elo[0] < ratings.elo[1] < ratings.elo[2] and abs(ratings.elo.sum()) < 1e-6
    assert ratings.scores[2, 0] + ratings.scores[0, 2] == 1 and (ratings.intervals > 0).all()
    assert str(ratings).splitlines()[1].startswith("perfect")


@pytest.mark.slow
def test_regret_of_perfect_play_is_none() -> None:
    env, table = te.make("shed", cards=6), solve(6, "CPU", progress=False)
    assert te.regret(env, agents.perfect(table), table, games=64) == 0
    lost = te.regret(env, agents.uniform, table, games=64)
    assert te.regret(env, agents.playout_search(256), table, games=64) < lost / 2 < 0.5


def test_regret_needs_a_decision() -> None:
    env = shared_env("tic_tac_toe")
    with pytest.raises(ValueError, match="opening must leave decisions to judge, all 8 games end within 9 plies"):
        te.regret(env, agents.uniform, te.solve(env), games=8, opening=9)


def test_an_opening_makes_games_of_regret_differ() -> None:
    """Regret counts a mistake on the empty board in every game, but not after two random plies."""
    env, oracle = shared_env("tic_tac_toe"), Wrong(None)
    oracle.regret = lambda state, action: (state.ply == 0).numpy()  # type: ignore[method-assign]
    one = te.regret(env, first_legal, oracle, games=16)
    assert one == 1 / 7 and te.regret(env, first_legal, oracle, games=16, opening=2) == 0


def network(state: te.State) -> tuple[Tensor, Tensor]:
    """Return logits that prefer the centre, then high cells."""
    logits = Tensor.arange(9).float().reshape(1, 9).expand(state.batch, 9)
    return logits + 9 * (Tensor.arange(9) == 4), Tensor.zeros(state.batch)


@pytest.mark.slow
def test_networks_play() -> None:
    env = shared_env("tic_tac_toe")
    state = env.step(env.init(3), [0, 4, 8])
    assert agents.greedy(network)(state).tolist() == [4, 8, 4]
    result = te.evaluate(env, [agents.gumbel(network, 32), agents.uniform], games=64)
    assert result.scores[0] > 0.85


@pytest.mark.slow
def test_networks_play_what_their_search_proves() -> None:
    env = shared_env("tic_tac_toe")

    def misleading(state: te.State) -> tuple[Tensor, Tensor]:
        """Return that every position is lost for its player, who should play a high cell."""
        return Tensor.arange(9).float().reshape(1, 9).expand(state.batch, 9), -Tensor.ones(state.batch)

    state = env.init(256)
    for _ in range(5):
        state = env.step(state, agents.uniform(state))
    oracle = te.solve(env)
    mistakes = [
        int((oracle.regret(state, agents.gumbel(misleading, 64, prove=prove)(state)) > 0).sum())
        for prove in (False, True)
    ]
    assert mistakes[0] > 0
    assert mistakes[1] == 0


class Wrong:
    """Oracle with a constant answer."""

    def __init__(self, says: Any):
        self.says = says

    def best_actions(self, state: te.State) -> Any:
        return self.says

    def regret(self, state: te.State, action: Any) -> Any:
        return self.says


def wrong(says: Any) -> Any:
    return Wrong(says)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: te.evaluate(cast(Any, 5), [], 2), "env must be of type Env"),
        (lambda e: te.evaluate(e, [agents.uniform], 2), "policies must be 2"),
        (lambda e: te.evaluate(e, cast(Any, agents.uniform), 2), "policies must be a list"),
        (lambda e: te.evaluate(e, [agents.uniform, cast(Any, 5)], 2), r"policies\[1\] must be a function"),
        (lambda e: te.evaluate(e, [agents.uniform] * 2, 3), "games must be a multiple of the 2 players"),
        (lambda e: te.evaluate(e, [agents.uniform] * 2, 0), r"games must be in 1\.\."),
        (lambda e: te.evaluate(e, [agents.uniform] * 2, 2, cast(Any, "turns")), "seats must be one of"),
        (lambda e: te.evaluate(e, [lambda s: [0.5, 1.0]] * 2, 4), "a policy's actions must be integers"),
        (lambda e: te.evaluate(e, [lambda s: [1]] * 2, 4), "a policy's actions must have shape"),
        (lambda e: te.arena(e, {"a": agents.uniform}, 2), "policies must be two or more"),
        (lambda e: te.arena(e, cast(Any, [agents.uniform]), 2), "policies must be of type Mapping"),
        (lambda e: te.arena(te.make("2048"), {"a": agents.uniform, "b": agents.uniform}, 2), "two players"),
        (lambda e: te.regret(e, agents.uniform, cast(Any, 5)), "oracle.regret must be a function"),
        (lambda e: te.regret(e, agents.uniform, wrong(np.zeros(8)), 8, opening=-1), "opening must be in 0"),
        (lambda e: agents.greedy(cast(Any, 5)), "evaluate must be a function"),
        (lambda e: agents.gumbel(network, 0), "num_simulations must be in 1"),
        (lambda e: agents.gumbel(network, 1, prove=cast(Any, 1)), "prove must be of type bool"),
        (lambda e: agents.playout_search(cast(Any, "1")), "num_simulations must be an int"),
        (lambda e: agents.playout_search(1, exploration=-1), "exploration must be in"),
        (lambda e: agents.perfect()(te.make("kuhn_poker").init(1)), "needs an oracle"),
        (lambda e: agents.perfect(cast(Any, 5)), "oracle.best_actions must be a function"),
        (lambda e: agents.perfect(wrong(np.ones((3, 7), bool)))(e.init(3)), r"must give bool \(3, 9\)"),
        (lambda e: agents.perfect(wrong(np.ones((3, 9))))(e.init(3)), r"must give bool \(3, 9\)"),
        (lambda e: agents.perfect(wrong(np.zeros((3, 9), bool)))(e.init(3)), "missing in 3 games"),
        (lambda e: te.regret(e, agents.uniform, wrong(np.zeros(3)), 8), r"must give finite numbers \[8\]"),
        (lambda e: te.regret(e, agents.uniform, wrong(np.full(8, np.nan)), 8), "must give finite numbers"),
        (lambda e: te.arena(e, cast(Any, {1: agents.uniform, 2: agents.uniform}), 2), "a policy's name"),
        (lambda e: agents.greedy(cast(Any, lambda s: None))(e.init(2)), "evaluate must return two arrays"),
        (
            lambda e: agents.greedy(lambda s: (te.to_numpy(e.observe(s)), s.ply))(e.init(2)),
            "evaluate must return a tuple of two arrays",
        ),
        (lambda e: agents.greedy(lambda s: (Tensor.full((2, 9), float("nan")), s.ply))(e.init(2)), "2 games"),
    ],
)
def test_wrong_calls_are_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call(shared_env("tic_tac_toe"))


def test_trained_players_come_with_the_package() -> None:
    """The trained weights are small files named by their games."""
    files = sorted(FOLDER.glob("*.safetensors"))
    assert {"tic_tac_toe", "connect_four", "shed"} <= {file.stem for file in files}
    for file in files:
        env, weights, *_ = load(file)
        assert env.id == file.stem and file.stat().st_size <= 600_000
        assert all(
            np.isfinite(array).all() and np.std(array, dtype=np.float32) > 0.01
            for array in weights.values()
            if array.size > 1
        )
    env = shared_env("tic_tac_toe")
    same = te.make("hyper_tic_tac_toe", shape=(3, 3), k=3)
    player = agents.load("tic_tac_toe", 0)
    assert (player(env.init(2)) == player(same.init(2))).all().item()


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("game", sorted(file.stem for file in FOLDER.glob("*.safetensors")))
def test_every_trained_network_beats_uniform_play(game: str) -> None:
    env, player = shared_env(game), agents.load(game, 0)
    common: dict[str, Any] = {"games": 32, "opening": 2, "seed": 1}
    if not env.spec.zero_sum:  # alone, or in a team with itself; uniform play of Hanabi earns nothing
        teams = [[policy] * env.num_players for policy in (player, agents.uniform)]
        own, random = (te.evaluate(env, team, **common).mean_returns[0] for team in teams)
        assert own > 2 * random
        return
    if game == "texas_holdem":  # chips count, and most hands are won by who bets most
        hands = te.evaluate(env, [player, agents.uniform], games=2048, seed=1)
        assert hands.mean_returns[0] > hands.interval(hands.returns)[0]
        return
    result = te.evaluate(env, [player, agents.uniform], **common)
    assert result.scores[0] > 0.7, result


@pytest.mark.slow
def test_only_weights_of_the_game_are_played(tmp_path: Path) -> None:
    env, path = te.make("tic_tac_toe"), tmp_path / "weights.safetensors"
    made = Network(env, 4)
    weights = made.weights()
    save(env, weights, path)
    seen, mask = network_inputs(env, env.init(1))
    assert agents.load(path, 0)(env.init(1)).item() == made(seen, mask)[0].argmax(1).item()
    with pytest.raises(ValueError, match=r"state must be of <Env tic_tac_toe.*got one of <Env kuhn_poker"):
        agents.load(path)(shared_env("kuhn_poker").init(1))
    with pytest.raises(
        FileNotFoundError,
        match=r"no file 'tiddlywinks'; games whose weights .*: 2048, amazons, animal_shogi, backgammon",
    ):
        agents.load("tiddlywinks")
    for simulations in (-1, 2**20 + 1, 1.5, None):
        with pytest.raises((ValueError, TypeError), match="num_simulations must be"):
            agents.load(path, simulations)  # type: ignore[arg-type]
    for wrong in (3, None, ""):
        with pytest.raises((ValueError, TypeError), match="path must"):
            agents.load(wrong)  # type: ignore[arg-type]
    whole = path.read_bytes()
    for part in (whole[:8], whole[: len(whole) // 2], whole[:-4], whole[:-1] + b"x"):
        path.write_bytes(part)
        with pytest.raises(ValueError, match=r"weights.safetensors"):
            agents.load(path)
    save(shared_env("connect_four"), weights, path)
    with pytest.raises(ValueError, match="no weights that fit: their shapes are not those of a network for <Env conn"):
        agents.load(path)
    save(env, {"other": Tensor.zeros(3)}, path)
    with pytest.raises(ValueError, match="no weights that fit"):
        agents.load(path)
    te.save_state(env.init(1), path)
    with pytest.raises(ValueError, match="is a 'tensor_envs state 2', not a 'tensor_envs network 2'"):
        agents.load(path)


def test_estimates_judge_every_winning_action() -> None:
    """A search ends when it has proven one of them; the others win as well."""
    env = shared_env("connect_four")
    state = env.init(7)
    for column in (3, 6, 2, 6, 4, 6):  # three in a row, open at both ends, against three that win next
        state = env.step(state, [column] * 7)
    regret = te.PlayoutOracle(num_simulations=64).regret(state, np.arange(7))
    assert regret[[1, 5]].tolist() == [0, 0] and regret[[0, 2, 3, 4]].tolist() == [2, 2, 2, 2]
    over = env.step(state, [1] * 7)
    assert not te.PlayoutOracle(num_simulations=64).regret(over, [-1] * 7).any()


@pytest.mark.slow
@pytest.mark.parametrize("game", ["othello", "chess", "go", "gomoku", "backgammon"])
def test_large_games_are_searched_without_an_attempt_to_solve_them(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games of few equal positions show that there are too many; small games are still solved."""

    def attempted(env: te.Env, **_: Any) -> Any:
        raise ValueError(f"an attempt to solve {env!r}")

    monkeypatch.setattr(enumeration, "solve", attempted)
    assert isinstance(oracle_of(shared_env(game), 17), te.PlayoutOracle)
    with pytest.raises(ValueError, match="needs an oracle: it has more than 250000 positions"):
        agents.solution_of.__wrapped__(shared_env(game))  # without its cache
    with pytest.raises(ValueError, match="needs an oracle: an attempt to solve <Env connect_four"):
        agents.solution_of.__wrapped__(shared_env("connect_four", rows=4, columns=4))  # without its cache
