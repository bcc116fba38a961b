"""Game trees, equilibria and best responses against plain Python and OpenSpiel; players, oracles, files, bad input."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._runtime import progress
from tensor_envs.equilibria import histories
from tensor_envs.equilibria.cfr import Algorithm, Solver
from tensor_envs.equilibria.equilibrium import FORMAT, OLD_FORMAT
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.solve import branches
from tests.equilibria import plain_tree
from tests.equilibria.hidden_dice import Plain, hidden_dice
from tests.games.shared import shared_env

KUHN_VALUE = -1 / 18  # of the first player; H. W. Kuhn, "A simplified two-person poker" (1950)
SIGMAS = 5


@cache
def tree(game: str, **config: int) -> te.GameTree:
    return te.game_tree(hidden_dice(**config) if game == "hidden_dice" else shared_env(game, **config))


def uniform(state: te.State) -> np.ndarray:
    mask = state.legal_action_mask.numpy()
    chances: np.ndarray = mask / np.maximum(mask.sum(1, keepdims=True), 1)
    return chances


class Unreadable:
    """As a tensor of PyTorch that requires grad."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


def random_policy(of: te.GameTree, seed: int) -> te.TabularPolicy:
    table = np.random.default_rng(seed).random((len(of), of.env.num_actions)) * of.legal_action_mask
    return te.TabularPolicy(of, of.strategies(table / table.sum(1, keepdims=True)))


def dice_key(of: te.GameTree, row: int, memory: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return an information state of hidden dice as plain Python names it, given those of the same player before it."""
    player = int(of.player[row])
    game = of.env.row(of.states, row)
    seen = (int(of.ply[row]), game["sums"][player], tuple(game["throws"]), tuple(game["stopped"]))
    before, form = int(of._before[row]), of.forms[player]
    if not before:
        return player, seen
    offset = int(np.flatnonzero(of.player == player)[0])
    earlier = offset + int(form.state[before])
    action = int(of._actions[of._first[player] + before - 1])
    return (*memory[earlier], action, seen)


@pytest.mark.few(1)
@pytest.mark.parametrize(("players", "sides"), [(2, 3), (3, 2)])
def test_a_tree_is_that_of_plain_python(players: int, sides: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare histories, information states, values and best responses of a random policy, and CFR+."""
    monkeypatch.setattr(histories, "PARENTS", 64)  # at once, of up to some hundreds of a ply
    monkeypatch.setattr(branches, "EDGES", 100)
    ours = te.game_tree(hidden_dice(players, sides))
    roots: plain_tree.Roots = [(Fraction(1), Plain.first(players, sides))]
    every = list(plain_tree.histories(roots))
    keys = list[tuple[Any, ...]]()
    for row in range(len(ours)):
        keys.append(dice_key(ours, row, keys))
    legal = {h.information: h.legal for h in every if not h.over}
    assert ours.nodes == len(every) and len(keys) == len(set(keys)) and set(keys) == legal.keys()
    assert [np.flatnonzero(mask).tolist() for mask in ours.legal_action_mask] == [legal[key] for key in keys]
    policy = random_policy(ours, seed=1)
    same: plain_tree.Policy = {key: dict(enumerate(row.tolist())) for key, row in zip(keys, policy.table, strict=True)}
    values = [plain_tree.value(roots[0][1], same, p) for p in range(players)]
    best = [plain_tree.best_response(roots, same, p)[0] for p in range(players)]
    assert np.allclose(policy.values, values, atol=1e-12)
    assert np.allclose([te.best_response(ours, policy, p).values[p] for p in range(players)], best, atol=1e-12)
    assert policy.exploitability == pytest.approx(sum(best) / players - sum(values) / players, abs=1e-12)
    average = plain_tree.cfr_plus(roots, players, 3)
    found = te.equilibrium(ours, iterations=3, until=None)
    for key, row in zip(keys, found.table, strict=True):
        assert np.allclose([average[key].get(a, 0) for a in range(3)], row, atol=1e-9), key


@pytest.mark.slow
def test_one_player() -> None:
    """The best response of a player alone is the best plan: here, never to pay for a throw."""
    alone = tree("hidden_dice", players=1)
    assert te.best_response(alone, uniform, 0).values.tolist() == [0]
    assert te.equilibrium(alone, until=1e-4).exploitability <= 1e-4


def test_kuhn() -> None:
    """The value is published, and equilibria of the first player are a line: a king bets three times as often."""
    found = te.equilibrium(tree("kuhn_poker"), "pcfr+", until=1e-5)
    assert found.values == pytest.approx([KUHN_VALUE, -KUHN_VALUE], abs=1e-5)
    jack, queen, king = found.table[:3, 1]
    assert 0 <= jack <= 1 / 3 + 1e-2 and queen < 1e-2 and king == pytest.approx(3 * jack, abs=2e-2)
    assert te.exploitability(found.tree, found) == found.exploitability <= 1e-5


@pytest.mark.parametrize("algorithm", get_args(Algorithm))
def test_every_algorithm_converges(algorithm: Algorithm) -> None:
    for ours in (tree("kuhn_poker"), tree("liars_dice", sides=2)):
        found = te.equilibrium(ours, algorithm, until=0.02, seed=1)
        iterations, values = zip(*found.curve, strict=True)
        assert found.exploitability <= 0.02 < min(values[:-1]) and values[-1] == pytest.approx(found.exploitability)
        assert list(iterations) == sorted(set(iterations)) and found.iterations == iterations[-1]
        again = te.equilibrium(ours, algorithm, iterations=found.iterations, until=None, seed=1)
        assert (again.table == found.table).all() and again.curve == found.curve


@pytest.mark.slow
def test_mccfr_samples_without_bias() -> None:
    """Sampled payoffs of a player agree with exact ones on average, for two and for three players."""
    for ours in (tree("liars_dice", sides=2), tree("hidden_dice", players=3)):
        solver, count = Solver(ours, "mccfr", seed=1), 3000
        rng = np.random.default_rng(2)
        solver.strategies = [form.strategy(rng.random(form.size)) for form in solver.forms]
        solver.plans = [form.plan(x) for form, x in zip(solver.forms, solver.strategies, strict=True)]
        for p, form in enumerate(solver.forms):
            sampled = np.array([solver.samplers[p].payoffs(solver.pure_plans(p)) for _ in range(count)])
            error = sampled.std(0) / np.sqrt(count) + 1e-12
            assert (np.abs(sampled.mean(0) - form.payoffs(solver.plans)) <= SIGMAS * error).all()


def spiel(name: str) -> tuple[Any, te.GameTree]:
    pyspiel = pytest.importorskip("pyspiel")
    game, _, sides = name.partition(" ")
    if game == "liars_dice":
        return pyspiel.load_game("liars_dice", {"dice_sides": int(sides)}), tree(game, sides=int(sides))
    return pyspiel.load_game(game), tree(game)


@pytest.mark.extra("pyspiel")
@pytest.mark.few("kuhn_poker", "leduc_poker", "liars_dice 3")
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice 3", "liars_dice 5", "liars_dice 6"])
def test_exploitability_and_cfr_plus_are_openspiels(name: str) -> None:
    game, ours = spiel(name)
    import pyspiel

    theirs = pyspiel.UniformTabularPolicy(game) if hasattr(pyspiel, "UniformTabularPolicy") else None
    theirs = pyspiel.UniformRandomPolicy(game) if theirs is None else theirs
    assert te.exploitability(ours, uniform) == pytest.approx(pyspiel.exploitability(game, theirs), abs=1e-12)
    solver = pyspiel.CFRPlusSolver(game)
    found = te.equilibrium(ours, iterations=8, until=None)
    for count, value in found.curve:
        solver.evaluate_and_update_policy()
        expected = pyspiel.exploitability(game, solver.average_policy())
        assert value == pytest.approx(expected, abs=1e-10), count


@pytest.mark.extra("pyspiel")
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_a_policy_of_the_observation_is_as_exploitable_in_openspiel(name: str) -> None:
    """Compare a random function of the observation, which is OpenSpiel's information state, and discounted CFR."""
    game, ours = spiel(name)
    from open_spiel.python import policy
    from open_spiel.python.algorithms import discounted_cfr, exploitability

    weights = np.random.default_rng(3).normal(size=(np.prod(ours.env.observation_shape), ours.env.num_actions))

    def chances(observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        likely = np.exp(observation.astype(np.float64) @ weights) * legal
        return np.asarray(likely / likely.sum(-1, keepdims=True))

    def ours_at(state: te.State) -> np.ndarray:
        return chances(state.env.observe(state).numpy(), state.legal_action_mask.numpy())

    theirs = policy.TabularPolicy(game)
    for row, state in enumerate(theirs.states):
        legal = np.isin(np.arange(ours.env.num_actions), state.legal_actions())
        theirs.action_probability_array[row] = chances(np.array(state.information_state_tensor()), legal)
    expected = exploitability.nash_conv(game, theirs, return_only_nash_conv=False)
    assert te.exploitability(ours, ours_at) == pytest.approx(expected.nash_conv / 2, abs=1e-12)
    for player, gain in enumerate(expected.player_improvements):
        response = te.best_response(ours, ours_at, player)
        assert response.values[player] - te.best_response(ours, ours_at, 1 - player).values[player] >= gain - 1e-12
    solver = discounted_cfr.DCFRSolver(game)
    for _ in range(5):
        solver.evaluate_and_update_policy()
    found = te.equilibrium(ours, "dcfr", iterations=5, until=None)
    value = exploitability.exploitability(game, solver.average_policy())
    assert found.iterations == 5 and found.exploitability == pytest.approx(value, abs=1e-10)


def test_from_positions() -> None:
    """In Kuhn poker after a bet, of all deals: a jack loses 1, a queen breaks even by a call, a king wins 2."""
    env = shared_env("kuhn_poker")
    deals = [[a, b] for a in range(3) for b in range(3) if a != b]
    games = [env.state_to_dict(env.init(1)) | {"cards": deal} for deal in deals]
    ours = te.game_tree(env.step(env.state_from_dicts(games), [1] * 6))
    assert (len(ours), ours.nodes) == (3, 6 + 12) and set(ours.ply) == {1}
    response = te.best_response(ours, uniform, 1)
    assert response.values == pytest.approx([-1 / 3, 1 / 3]) and ours.states.batch == 3
    assert not ours.is_like(tree("kuhn_poker"))
    # a belief: four times a jack, which a queen or a king beats, and once a king, to which a jack folds
    mixed = te.game_tree(ours.env.step(env.state_from_dicts([*games[:2], *games[:1] * 2, games[4]]), [1] * 5))
    assert te.best_response(mixed, uniform, 1).values[1] == pytest.approx((4 * 2 + -1) / 5)
    with pytest.raises(ValueError, match="policy must be of <GameTree of <Env kuhn_poker-v0>: 54 histories"):
        te.exploitability(tree("kuhn_poker"), response)


@pytest.mark.slow
def test_players_of_tables_return_their_values() -> None:
    """Play two tables against each other where only memory tells information states apart, also by one player."""
    ours = tree("dark_hex", size=2)
    strong, weak = te.equilibrium(ours, until=0.01), random_policy(ours, seed=4)
    assert (ours.find(ours.states) == -2).sum() > len(ours) / 2
    assert (ours.find(ours.states, ours._before) == np.arange(len(ours))).all()
    mixed = te.TabularPolicy(ours, [strong.strategies[0], weak.strategies[1]])
    policies = te.agents.equilibrium(strong), te.agents.equilibrium(weak)
    result = te.evaluate(ours.env, policies, games=20_000, seats="fixed", seed=1)
    assert abs(result.mean_returns[0] - mixed.values[0]) < SIGMAS * result.interval(result.returns)[0] / 1.96
    both = te.evaluate(ours.env, [policies[1]] * 2, games=20_000, seats="fixed", seed=2)
    assert abs(both.mean_returns[0] - weak.values[0]) < SIGMAS * both.interval(both.returns)[0] / 1.96
    assert abs(mixed.values[0] - weak.values[0]) > 0.1
    with pytest.raises(ValueError, match="row 0 may be in several information states"):
        strong.probabilities(ours.states[np.flatnonzero(ours.find(ours.states) == -2)])


@pytest.mark.slow
def test_an_oracle() -> None:
    """Check values, best actions and regrets of an equilibrium in Kuhn poker, where some actions are plainly worse."""
    found = te.equilibrium(tree("kuhn_poker"), "pcfr+", until=1e-5)
    oracle: te.Oracle = found
    states = found.tree.states
    values, best = found.action_values(states), oracle.best_actions(states)
    over = states.env.step(states, np.ones(12, np.int32))
    over = over[np.flatnonzero(over.terminated.numpy())]
    # what to do about a bet: a jack folds and a king calls, a queen may do either
    asked = np.flatnonzero(states.bets.numpy() != 0)
    for row in asked:
        player, cards = found.tree.player[row], states.cards.numpy()[row]
        assert best[row].any() and (
            cards[player] == 1 or best[row].tolist() == [cards[player] == 0, cards[player] == 2]
        )
        if cards[player] == 0:
            assert values[row] == pytest.approx([-1, -2], abs=1e-6)
    lost = oracle.regret(states, np.zeros(12, np.int32))
    assert np.allclose(lost, values.max(1) - values[:, 0]) and (oracle.regret(states, [99 % 2] * 12) >= 0).all()
    assert (oracle.regret(over, [0] * len(over)) == 0).all() and not oracle.best_actions(over).any()
    env = states.env
    assert te.regret(env, te.agents.equilibrium(found), oracle, games=512) < 0.01
    assert te.regret(env, te.agents.perfect(oracle), oracle, games=512) < 0.01
    assert te.regret(env, te.agents.uniform, oracle, games=512) > 0.1
    with pytest.raises(ValueError, match="an oracle needs a game for two players with zero sum"):
        te.equilibrium(tree("hidden_dice", players=3), iterations=1).regret(hidden_dice(3).init(1), [0])


@pytest.mark.slow
def test_a_lower_bound_is_that_of_the_best_responses() -> None:
    """The players choose their best responses among those given, which gain as much as the tree says."""
    ours = tree("leduc_poker")
    best = [te.agents.equilibrium(te.best_response(ours, uniform, p)) for p in (0, 1)]
    bound = te.exploitability_bound(ours.env, te.agents.uniform, [te.agents.uniform, *best], games=10_000)
    assert bound.responses == (1, 2) and bound.gains.shape == (10_000, 2) and 0 < bound.interval < 0.1
    assert abs(bound.value - te.exploitability(ours, uniform)) < SIGMAS / 1.96 * bound.interval
    alone = te.exploitability_bound(ours.env, te.agents.uniform, [te.agents.uniform], games=16)
    assert (alone.value, alone.lower, alone.responses) == (0, 0, (None, None))  # the same games


@pytest.mark.slow
def test_a_lower_bound_is_at_least_0() -> None:
    """Folding to every bet in Kuhn poker loses more than uniform play, which then is its own response."""
    env = shared_env("kuhn_poker")
    passes = lambda state: np.zeros(state.batch, np.int32)  # noqa: E731
    bound = te.exploitability_bound(env, te.agents.uniform, [passes], games=256)
    assert bound.responses == (None, None) and (bound.value, bound.lower, bound.interval) == (0, 0, 0)
    mixed = te.exploitability_bound(
        env, passes, [te.agents.uniform, lambda state: np.ones(state.batch, np.int32)], games=256
    )
    assert 1 in mixed.responses and mixed.lower > 0 and "\n" not in repr(mixed)
    noise = te.ExploitabilityBound(np.array([[-1.0, 0.5], [0.0, 0.25]]), (0, 0))
    assert (noise.value, noise.lower) == (0, 0) and noise.interval > 0


@pytest.mark.slow
def test_networks_and_searches() -> None:
    env = shared_env("kuhn_poker")

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        return state.env.observe(state).float()[:, 2:4], Tensor.zeros(state.batch)

    chances = te.agents.softmax(evaluate)
    expected = np.exp(env.observe(env.init(6)).numpy()[:, 2:4].astype(float))
    assert np.allclose(chances(env.init(6)).numpy(), expected / expected.sum(1, keepdims=True), atol=1e-6)
    assert 0.1 < te.exploitability(env, chances) < 1
    with pytest.raises(TypeError, match="evaluate must return two arrays"):
        te.agents.softmax(lambda state: 1)(env.init(2))  # type: ignore[arg-type,return-value]


def test_files(tmp_path: Path) -> None:
    env, path = shared_env("kuhn_poker"), tmp_path / "file"
    begun = env.step(env.init(4, seed=1), [1, 1, 1, 1])
    for start in (env, begun):
        found = te.equilibrium(start, "pcfr+", iterations=30)
        found.save(path)
        again = te.Equilibrium.load(path)
        assert (again.algorithm, again.curve, repr(again)) == ("pcfr+", found.curve, repr(found))
        assert (again.table == found.table).all() and again.tree.is_like(found.tree)
    metadata, arrays = read_arrays(path, FORMAT)
    del metadata["player"], arrays["weights"], arrays["values"]
    write_arrays(path, OLD_FORMAT, metadata, arrays)  # as before there were beliefs
    assert te.Equilibrium.load(path).tree.is_like(found.tree)
    te.save_state(begun, path)
    with pytest.raises(ValueError, match="is a 'tensor_envs state 2', not a 'tensor_envs equilibrium 2'"):
        te.Equilibrium.load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("strategies", lambda x: x[:-1], "its arrays are not those of <Env kuhn_poker-v0>"),
        ("strategies", lambda x: (x.view(np.float64) * 2).view(np.uint64), "its strategies must be those of legal"),
        (
            "strategies",
            lambda x: (x.view(np.float64) * np.nan).view(np.uint64),
            "its strategies must be those of legal",
        ),
        ("iterations", lambda x: x[:0], "its arrays are not"),
    ],
)
def test_files_of_something_else(name: str, change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    te.equilibrium(tree("kuhn_poker"), iterations=3).save(path)
    metadata, arrays = read_arrays(path, FORMAT)
    write_arrays(path, FORMAT, metadata, arrays | {name: change(np.array(arrays[name]))})
    with pytest.raises(ValueError, match=f"file' holds no equilibrium that can be read: {message}"):
        te.Equilibrium.load(path)


def two_plies() -> te.State:
    """Return two games of Kuhn poker at different plies."""
    env = shared_env("kuhn_poker")
    state = env.init(1)
    return env.state_from_dicts([env.state_to_dict(state), env.state_to_dict(env.step(state, [1]))])


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: te.game_tree(3), TypeError, "start must be an Env or a State, got 3"),  # type: ignore[arg-type]
    (lambda: te.game_tree(shared_env("kuhn_poker"), max_nodes=0), ValueError, r"max_nodes must be in 1\.\.2147483647"),
    (
        lambda: te.game_tree(shared_env("leduc_poker"), max_nodes=1000),
        ValueError,
        "max_nodes must be at least 2040 to hold the histories of <Env leduc_poker-v0> to ply 3, got 1000; there",
    ),
    (
        lambda: te.game_tree(shared_env("liars_dice", sides=2), max_nodes=3),
        ValueError,
        "max_nodes must be more than 3 to hold the histori",
    ),
    (lambda: te.game_tree(te.make("three_will")), ValueError, "chance can be counted: the game draws whole words"),
    (lambda: te.equilibrium(3), TypeError, "game must be a GameTree, an Env or a State, got 3"),  # type: ignore[arg-type]
    (
        lambda: te.equilibrium(shared_env("three_will")),
        ValueError,
        r"te.game_tree\(game\): start must be of a game whose chance can be counted",
    ),
    (lambda: te.exploitability(two_plies(), uniform), ValueError, "game must be games of one ply, got plies 0 to 1"),
    (
        lambda: te.exploitability(two_plies(), random_policy(tree("kuhn_poker"), 1)),
        ValueError,
        "game must be games of one ply, got plies 0 to 1",
    ),
    (
        lambda: te.regret(shared_env("tic_tac_toe"), te.agents.uniform, te.equilibrium(tree("kuhn_poker"))),
        ValueError,
        "the state belongs to <Env tic_tac_toe-v0",
    ),
    (lambda: te.equilibrium(tree("kuhn_poker"), "cfr"), ValueError, "algorithm must be one of 'cfr"),  # type: ignore[arg-type]
    (lambda: te.equilibrium(tree("kuhn_poker"), iterations=0), ValueError, "iterations must be in 1"),
    (lambda: te.equilibrium(tree("kuhn_poker"), until=-1.0), ValueError, "until must be in 0"),
    (lambda: te.equilibrium(tree("kuhn_poker"), seed=-1), ValueError, "seed must be in 0"),
    (lambda: te.best_response(tree("kuhn_poker"), uniform, 2), ValueError, r"player must be in 0\.\.1, got 2"),
    (lambda: te.exploitability(tree("kuhn_poker"), 3), TypeError, "policy must be a function"),  # type: ignore[arg-type]
    (
        lambda: te.exploitability(tree("kuhn_poker"), lambda s: 1),
        ValueError,
        r"policy must give probabilities \(12, 2\)",
    ),
    (lambda: te.exploitability(tree("kuhn_poker"), lambda s: np.ones((12, 2))), ValueError, "with a sum of 1, got"),
    (
        lambda: te.exploitability(tree("kuhn_poker"), lambda s: Unreadable()),
        TypeError,
        "the probabilities of policy must be an",
    ),
    (lambda: te.agents.equilibrium(uniform), TypeError, "policy must be of type TabularPolicy"),  # type: ignore[arg-type]
    (
        lambda: te.exploitability_bound(shared_env("kuhn_poker"), te.agents.uniform, []),
        ValueError,
        "responses must be one policy or more",
    ),
    (
        lambda: te.agents.equilibrium(random_policy(tree("kuhn_poker"), 1))(shared_env("leduc_poker").init(1)),
        ValueError,
        "the state belongs to <Env leduc_poker-v0>",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_long_enumeration_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "FIRST_REPORT", 0.0)
    te.equilibrium(shared_env("kuhn_poker"), iterations=1)
    (line,) = capsys.readouterr().err.splitlines()  # the next one would come after half a minute
    numbers = re.fullmatch(
        r"enumerating <Env kuhn_poker-v0>: (\d+) histories in \d+ s, ply 1 is 100% done; "
        r"max_nodes=10,000,000 would take about [\d,]+ s \.\.\.",
        line,
    )
    assert numbers is not None and int(numbers[1]) == 18  # six deals, and two actions in each
    te.game_tree(shared_env("kuhn_poker"), progress=True)
    assert "enumerating" not in capsys.readouterr().err
