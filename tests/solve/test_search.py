"""Search against plain negamax on the reference engines, against enumeration, and against published values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._runtime import progress
from tensor_envs.games.hex.rules import Hex as HexRules
from tensor_envs.rules import Outcome, int32, one_hot, where
from tensor_envs.solve import alpha_beta
from tensor_envs.solve.proof import WIN_SCORE
from tests.games.chance import game_key
from tests.games.connect_four.reference import Reference as ConnectFour
from tests.games.hex.reference import Reference as Hex
from tests.games.hyper_tic_tac_toe.reference import Reference as TicTacToe
from tests.games.othello.reference import Reference as Othello
from tests.games.shared import shared_env
from tests.solve.searched import live_rows, position, random_games

MEMORY = 2**20
Result = tuple[int, int]  # value for the player to move, and plies to the end; -1 for a draw


def negamax(engine: Any, position: dict[str, Any], known: dict[str, Result], **config: Any) -> Result:
    """Return the result of a position by plain search, without bounds."""
    key = repr(position)
    if key not in known:
        player, results = position["current_player"], []
        for action in engine.from_dict(position, game_key(0, 0, 0), **config).legal_actions():
            game = engine.from_dict(position, game_key(0, 0, 0), **config)
            game.apply(action)
            if game.terminated:
                value = int(game.rewards[player])
                results.append((value, 1 if value else -1))
                continue
            after = game.to_dict()
            value, plies = negamax(engine, after, known, **config)
            value = value if after["current_player"] == player else -value
            results.append((value, plies + 1 if value else -1))
        known[key] = max(results, key=lambda r: (r[0], -r[0] * r[1]))
    return known[key]


SMALL = [
    (TicTacToe, "hyper_tic_tac_toe", {"shape": (3, 3), "k": 3, "misere": True}, 0),
    (ConnectFour, "connect_four", {"rows": 3, "columns": 4, "k": 3}, 0),
    (Hex, "hex", {"size": 3, "swap": True}, 0),
    (Othello, "othello", {}, 53),
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "game", "config", "first"), SMALL, ids=lambda x: x if isinstance(x, str) else "")
def test_values_and_distances_are_those_of_plain_negamax(engine: Any, game: str, config: Any, first: int) -> None:
    env, known, met = shared_env(game, **config), dict[str, Result](), set[int]()
    exact = te.solve(env, method="search", memory=MEMORY)
    for state in random_games(env, first + 9)[first:]:
        rows = live_rows(state)[:12]
        if not len(rows):
            continue
        state = state[rows]
        value, distance = exact.value(state), exact.distance(state)
        for row in range(state.batch):
            expected = negamax(engine, env.state_to_dict(state, row), known, **config)
            assert (value[row], distance[row]) == expected
            met.add(expected[0])
    assert {-1, 1} <= met and exact.nodes > 0


@dataclass(frozen=True)
class TakeAway:
    """One, two or three counters are taken from a pile: the last one wins, but three of them draw.

    Whoever takes one moves again. With `limit` a game ends as a draw after so many plies.
    """

    pile: int = 14
    limit: int = 0

    @property
    def spec(self) -> te.Spec:
        return te.Spec(2, 3, (15,), (te.Field("pile", high=self.pile),))

    def init(self, chance: Any) -> dict[str, Any]:
        return {"pile": self.pile}

    def legal_action_mask(self, s: Any) -> list[Any]:
        return [s.pile > action for action in range(3)]

    def step(self, s: Any, action: Any, chance: Any) -> Outcome:
        pile = s.pile - action - 1
        won = (pile == 0) & (action != 2)
        first = where(won, where(s.current_player == 0, int32(1), int32(-1)), int32(0))
        ends = (pile == 0) | ((s.ply + 1 == self.limit) if self.limit else int32(0) != 0)
        player = where(action == 0, s.current_player, 1 - s.current_player)
        return Outcome(s.replace(pile=pile, current_player=player), (first, -first), ends)

    def observe(self, s: Any, player: Any) -> list[Any]:
        return [one_hot(s.pile, 15)]


def custom(rules: TakeAway) -> te.Env:
    return te.Env(te.GameEntry("take_away", type(rules)), rules, "take_away")


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", (0, 6))
def test_players_may_move_twice_and_rules_may_count_plies(limit: int) -> None:
    env = custom(TakeAway(limit=limit))
    exact, whole, met = te.solve(env, method="search", memory=MEMORY), te.solve(env, symmetry=False), set[int]()
    for state in random_games(env, 8):
        assert (exact.value(state) == whole.value(state)).all()
        assert (exact.distance(state) == whole.distance(state)).all()
        met |= set(exact.value(state).tolist())
    assert met == {-1, 0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("limit", (0, 6))
def test_some_best_actions_are_best_and_one_is_enough(limit: int) -> None:
    """Players may move twice, and games may end with an action, also by the one that is enough."""
    env = custom(TakeAway(limit=limit))
    exact, other = (te.solve(env, method="search", memory=MEMORY) for _ in range(2))
    for state in random_games(env, 8):
        live = live_rows(state)
        every, some = (np.asarray(x) for x in (exact.best_actions(state), other.some_best_actions(state)))
        assert not (some & ~every).any() and (some[live].any(1) == every[live].any(1)).all()
        chosen = te.to_numpy(te.agents.perfect(other)(state))
        assert every[live, chosen[live]].all()


@pytest.mark.slow
def test_one_proven_action_ends_the_search_of_the_others() -> None:
    """A search for all actions that keep a known value takes more positions than one for any of them."""
    env = shared_env("connect_four", rows=5, columns=5)
    state, draw = position(env, "22"), np.zeros(1, np.int32)
    every, some = (te.solve(env, method="search", memory=2**24) for _ in range(2))
    best, chosen = every._actions_that_keep(state, draw), some._actions_that_keep(state, draw, every=False)
    assert best.sum() == 5 and chosen.any() and not (chosen & ~best).any()
    assert 4 * some.nodes < 3 * every.nodes


@pytest.mark.slow
def test_a_long_question_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    env = shared_env("connect_four", rows=4, columns=4)
    exact = te.solve(env, method="search", memory=MEMORY)
    exact.value(env.init(1))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "FIRST_REPORT", 0.0)
    exact = te.solve(env, method="search", memory=MEMORY)
    exact.value(env.init(1))
    report, *others = capsys.readouterr().err.splitlines()
    assert report.startswith("searching <Env connect_four-v0 rows=4, columns=4>: ") and not others
    assert report.endswith(" positions in 0 s, 1 of 1 questions are open ...")


@pytest.mark.slow
@pytest.mark.parametrize("memory", (2**11, 2**20), ids=("a table of few entries", "a table"))
def test_an_oracle_like_enumeration(memory: int) -> None:
    """Compare all answers with those of enumeration, with a table that is overwritten all the time, too."""
    env = shared_env("connect_four", rows=3, columns=4, k=3)
    exact, whole = te.solve(env, method="search", memory=memory), te.solve(env)
    for state in random_games(env, 9)[2:]:
        assert (exact.value(state) == whole.value(state)).all()
        assert (exact.distance(state) == whole.distance(state)).all()
        assert (exact.action_values(state) == whole.action_values(state)).all()
        assert (exact.best_actions(state) == whole.best_actions(state)).all()
        scores, legal = whole._action_scores(state)
        scores = np.where(legal, scores * whole._turn(state)[:, None], -WIN_SCORE - 1)
        fastest = legal & (scores == scores.max(1, keepdims=True))
        assert (exact.fastest_actions(state) == fastest).all()
        actions = np.arange(state.batch) % 4
        assert (exact.regret(state, actions) == whole.regret(state, actions)).all()
    start = env.init(1)
    assert exact.line(start) == whole.line(start)
    oracle: te.Oracle = exact
    assert te.regret(env, te.agents.perfect(oracle), oracle, games=16) == 0
    assert te.regret(env, te.agents.uniform, oracle, games=16) == te.regret(env, te.agents.uniform, whole, games=16) > 0


@dataclass(frozen=True)
class PlainHex(HexRules):
    """Hex that does not declare what it is."""

    set_colouring = 0


@pytest.mark.slow
@pytest.mark.parametrize("swap", (False, True))
def test_must_play_regions_change_no_result(swap: bool, threads: Callable[[int], None]) -> None:
    """In Hex values, distances and best actions are those of enumeration, and the search visits fewer positions."""
    threads(1)
    nodes = []
    for rules in (HexRules(3, swap), PlainHex(3, swap)):
        env = te.Env(te.GameEntry("hex", type(rules)), rules, "hex")
        if type(rules) is HexRules:
            exact, whole = te.solve(env, method="search", memory=2**24), te.solve(env)
            for state in random_games(env, 7):
                assert (exact.distance(state) == whole.distance(state)).all()
                assert (exact.best_actions(state) == whole.best_actions(state)).all()
        larger = rules.__class__(5, False)
        state = te.Env(te.GameEntry("hex", type(rules)), larger, "hex").init(1)
        for cell in (6, 12, 8, 18, 2, 7):
            state = state.env.step(state, [cell])
        nodes.append(te.solve(state, method="search", memory=2**24).nodes)
    assert 3 * nodes[0] < nodes[1]


# moves of both players by column, and the value and plies to the end for the player to move
POSITIONS = [
    ("6726147244657753", 0, -1),
    ("5113336722153552", 1, 23),
    ("5136113774746461", 1, 23),
    ("2376445476356256", -1, 24),
    ("6677351252152423", 1, 23),
    ("6777727432415324", -1, 24),
    ("1325515713544525", 1, 21),
    ("1141633125421365", 1, 21),
]


@pytest.mark.slow
def test_positions_of_connect_four_by_another_solver() -> None:
    """Compare with a solver in C that shares no code with the package."""
    env = shared_env("connect_four")
    exact = te.solve(env, method="search", memory=2**24)
    for moves, value, distance in POSITIONS:
        state = position(env, moves)
        assert (exact.value(state).tolist(), exact.distance(state).tolist()) == ([value], [distance]), moves


def test_a_search_is_deterministic_and_goes_on_after_an_interruption(
    monkeypatch: pytest.MonkeyPatch, threads: Callable[[int], None]
) -> None:
    threads(1)
    env = shared_env("connect_four")
    state = position(env, POSITIONS[0][0])
    first, again, other = (te.solve(env, method="search", memory=2**24) for _ in range(3))
    assert first.distance(state) == again.distance(state) and first.nodes == again.nodes > 2 * alpha_beta.MIN_LAUNCH
    run, launches = type(env.engine).run, list[int]()

    def interrupted(*arguments: Any) -> Any:
        launches.append(0)
        if len(launches) == 4:
            raise KeyboardInterrupt
        return run(*arguments)

    with monkeypatch.context() as m:
        m.setattr(type(env.engine), "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.distance(state)
    assert 0 < other.nodes < first.nodes and other.distance(state) == first.distance(state)
    assert other.nodes < 1.2 * first.nodes


def test_a_launch_searches_many_positions(monkeypatch: pytest.MonkeyPatch, threads: Callable[[int], None]) -> None:
    threads(1)
    env = shared_env("connect_four", rows=4, columns=4)
    searched, enumerated = te.solve(env, method="search", memory=2**24), te.solve(env)
    state = random_games(env, 6, 200)[-1]
    run, launches = type(env.engine).run, list[int]()

    def counted(*arguments: Any) -> Any:
        launches.append(0)
        return run(*arguments)

    with monkeypatch.context() as m:
        m.setattr(type(env.engine), "run", counted)
        values = searched.value(state)
    assert (values == enumerated.value(state)).all() and set(values) == {-1, 0, 1}
    assert len(launches) <= 12  # a value takes one or two questions, and 64 are asked together
    nodes = searched.nodes
    assert (searched.value(state) == values).all() and searched.nodes - nodes <= 2 * len(values)


def test_mirror_images_share_entries_of_the_table() -> None:
    env = shared_env("connect_four", rows=4, columns=5)
    exact = te.solve(env, method="search", memory=2**24)
    one, other = (position(env, moves) for moves in ("1132", "5534"))
    distance, before = exact.distance(one), exact.nodes
    assert exact.distance(other) == distance and before > 1000 > 100 * (exact.nodes - before)


def test_given_games_are_searched_at_once() -> None:
    env = shared_env("connect_four")
    state = position(env, POSITIONS[0][0])
    exact = te.solve(state, method="search", memory=2**24, progress=True)
    before = exact.nodes
    assert before > 0 and exact.distance(state) == POSITIONS[0][2] and exact.nodes - before < before / 100
    assert repr(exact) == f"<SearchSolution of <Env connect_four-v0>: {exact.nodes} positions searched>"


@dataclass(frozen=True)
class Promising(TakeAway):
    """A game whose promise is no int."""

    def promise(self, s: Any) -> Any:
        return s.pile > 3


@dataclass(frozen=True)
class Paying(TakeAway):
    """A game whose results and other steps pay player 0 any amount."""

    reward: float = 1.0
    early: float = 0.0

    def step(self, s: Any, action: Any, chance: Any) -> Outcome:
        after = super().step(s, action, chance)
        first = where(after.terminated, self.reward, self.early)
        return Outcome(after.state, (first, 0.0 - first), after.terminated)


def search_of(*arguments: Any, **options: Any) -> te.SearchSolution:
    solve: Any = te.solve
    solution: te.SearchSolution = solve(*arguments, **{"method": "search", "memory": MEMORY} | options)
    return solution


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: search_of(te.make("kuhn_poker")), "for two with zero sum, without chance, hidden information"),
        (lambda: search_of(te.make("three_will")), "for two with zero sum"),
        (lambda: search_of(3), "start must be an Env or a State, got 3"),
        (lambda: search_of(te.make("connect_four"), memory=0), r"memory must be in 1\.\.17179869184, got 0"),
        (lambda: search_of(te.make("connect_four"), memory=9), "memory must be at least 64 bytes, got 9"),
        (lambda: search_of(te.make("connect_four"), method="minimax"), "method must be"),
        (
            lambda: search_of(te.make("connect_four"), depth=3),
            "depth and path must be None with method='search', got 3",
        ),
        (lambda: search_of(te.make("connect_four"), progress=1), "progress must be of type bool, got 1"),
        (lambda: search_of(te.make("connect_four"), symmetry=1), "symmetry must be of type bool, got 1"),
        (
            lambda: search_of(te.make("connect_four"), max_positions=0),
            r"max_positions must be in 1\.\.2147483647, got 0",
        ),
        (lambda: search_of(te.make("hex")).value(te.make("connect_four").init(1)), "the state belongs to"),
        (lambda: search_of(te.make("shed", cards=8).init(1)), "whose lines of play end within 1000 plies to be searc"),
        (lambda: search_of(custom(Promising()).init(1)), "promise must give an int, got bool"),
        (lambda: search_of(custom(Paying(reward=2.0)).init(1)), "with no results but wins, draws and losses"),
        (lambda: search_of(custom(Paying(early=0.5)).init(1)), "that pays at its end alone"),
    ],
)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "config", "plies"),
    [
        ("connect_four", {"rows": 4, "columns": 4}, 14),
        ("connect_four", {"rows": 4, "columns": 5}, 18),
        ("hyper_tic_tac_toe", {"shape": (3, 4), "k": 3}, 10),
        ("hyper_tic_tac_toe", {"shape": (4, 4), "k": 3, "misere": True}, 14),
        ("hyper_tic_tac_toe", {"shape": (2, 3, 3), "k": 3, "gravity": True}, 12),
        ("hex", {"size": 3, "swap": False}, 8),
        ("hex", {"size": 4, "swap": False}, 14),
    ],
)
def test_whole_games_like_enumeration(game: str, config: Any, plies: int) -> None:
    env = shared_env(game, **config)
    exact, whole = te.solve(env, method="search", memory=2**26), te.solve(env)
    for state in random_games(env, plies, batch=200):
        assert (exact.value(state) == whole.value(state)).all()
        assert (exact.distance(state) == whole.distance(state)).all()
        assert (exact.action_values(state) == whole.action_values(state)).all()
