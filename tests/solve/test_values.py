"""Values against plain Python, other code altogether; games with cycles, with chance; what cannot be solved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.solve import branches, enumeration, positions, retrograde
from tests.games import dice_race
from tests.games.chance import game_key
from tests.games.connect_four.reference import Reference
from tests.games.shared import shared_env
from tests.solve.many_dice import ManyDice
from tests.solve.pig import pig
from tests.solve.test_counts import wide

BOARD = {"rows": 3, "columns": 3, "k": 3}


@cache
def solution(game: str, symmetry: bool = True, **config: int) -> te.Solution:
    return te.solve(shared_env(game, **config), symmetry=symmetry)


@cache
def minimax(board: tuple[int, ...], player: int) -> tuple[int, int]:
    """Return the value and the plies to the end of a 3x3 connect four board, by the reference engine."""

    def outcome(action: int) -> tuple[int, int]:
        game = Reference.from_dict({"board": list(board), "current_player": player}, game_key(0, 0, 0), **BOARD)
        game.apply(action)
        if game.terminated:
            return int(game.rewards[player]), 1
        value, plies = minimax(tuple(game.to_dict()["board"]), 1 - player)
        return -value, plies + 1

    start = Reference.from_dict({"board": list(board), "current_player": player}, game_key(0, 0, 0), **BOARD)
    return max((outcome(a) for a in start.legal_actions()), key=lambda x: (x[0], -x[0] * x[1]))


def random_games(env: te.Env, plies: int) -> Iterator[te.State]:
    """Yield games after 0, 1, ... random plies; some are over."""
    state = env.init(40, seed=3)
    for _ in range(plies):
        yield state
        state = env.step(state, te.agents.uniform(state))
    yield state


@pytest.mark.parametrize("symmetry", (True, False))
def test_values_and_distances_are_those_of_plain_minimax(symmetry: bool) -> None:
    exact, met = solution("connect_four", symmetry, **BOARD), set()
    for state in random_games(exact.env, 9):
        now, value, distance = state.numpy(), exact.value(state), exact.distance(state)
        for row, over in enumerate(now["terminated"]):
            game = exact.env.state_to_dict(state, row)
            if over:
                best, plies = int(now["rewards"][row, game["current_player"]]), 0
            else:
                best, plies = minimax(tuple(game["board"]), game["current_player"])
            met.add((best, bool(over)))
            assert (value[row], distance[row]) == (best, plies if best else -1)
    assert met == {(-1, False), (0, False), (1, False), (-1, True), (0, True)}


def test_symmetry_changes_no_value_and_no_count() -> None:
    some, every = (solution("connect_four", symmetry, **BOARD) for symmetry in (True, False))
    assert some.positions < 0.6 * every.positions == 0.6 * sum(row.positions for row in every.counts())
    assert some.counts() == every.counts() == every.counts(symmetry=True) != some.counts(symmetry=True)
    assert sum(row.positions for row in some.counts(symmetry=True)) == some.positions
    assert some.sha256() != every.sha256()


def test_an_oracle() -> None:
    """Check actions, regrets and the perfect player; illegal actions lose."""
    exact = solution("connect_four", **BOARD)
    for state in list(random_games(exact.env, 7))[3:]:
        actions, value, mask = exact.action_values(state), exact.value(state), state.legal_action_mask.numpy()
        live = np.flatnonzero(mask.any(1))
        assert ((actions == -2) == ~mask).all() and (actions.max(1)[live] == value[live]).all()
        assert (exact.best_actions(state) == (mask & (actions == value[:, None]))).all()
        for action in range(3):
            lost = exact.regret(state, np.full(state.batch, action))
            assert (lost[live] == value[live] - np.maximum(actions[live, action], -1)).all()
    knows: te.Oracle = exact
    assert te.regret(exact.env, te.agents.perfect(knows), knows, games=16) == 0
    assert te.regret(exact.env, te.agents.uniform, knows, games=16) > 0


def test_the_quickest_line() -> None:
    exact = solution("connect_four", **BOARD)
    *_, state = random_games(exact.env, 2)
    for row in np.flatnonzero(exact.distance(state) > 2)[:3].tolist():
        line, player = exact.line(state, row), int(state.current_player[row].item())
        assert len(line) == exact.distance(state)[row]
        game = state[[row]]
        for action in line:
            game = exact.env.step(game, [action])
        assert game.terminated.item() and game.rewards.numpy()[0, player] == exact.value(state)[row]


@pytest.mark.slow
def test_cycles_are_judged_as_by_the_solver_of_shed() -> None:
    """Compare positions of random games with Shed's table; both ignore the limit of plies."""
    from tensor_envs.games.shed.solve import solve

    exact, table, met = solution("shed", cards=6), solve(6, progress=False), set[int]()
    for state in list(random_games(exact.env, 40))[::4]:
        live = ~state.terminated.numpy()
        value = exact.value(state)
        assert (value == table.value(state).numpy())[live].all()
        assert (exact.action_values(state) == table.action_values(state).numpy())[live].all()
        met |= set(value[live].tolist())
    assert met == {-1, 0, 1} and len(exact.counts()) == 1  # of all plies together


@pytest.mark.parametrize("depth", (0, 5, 7))
def test_within_a_depth_a_value_is_what_is_forced_by_then(depth: int, tmp_path: Path) -> None:
    whole = solution("connect_four", **BOARD)
    te.solve(whole.env, depth, path=tmp_path / "solution")
    exact, met = te.Solution.load(tmp_path / "solution"), set()
    assert repr(exact).endswith(f"positions within {depth} plies>") and len(exact.counts()) == depth + 1
    for ply, state in enumerate(random_games(exact.env, depth + 1)):
        state = state[np.flatnonzero(state.ply.numpy() == ply)]  # the others ended before
        if ply > depth:
            with pytest.raises(ValueError, match=f"that the start leads to within {depth} plies, row 0 is no"):
                exact.value(state)
            break
        distance = whole.distance(state)
        forced = (distance >= 0) & (distance <= depth - ply)
        assert (exact.value(state) == np.where(forced, whole.value(state), 0)).all()
        assert (exact.distance(state) == np.where(forced, distance, -1)).all()
        met |= set(zip(forced.tolist(), (distance >= 0).tolist(), strict=True))
    assert depth == 0 or met == {(True, True), (False, True), (False, False)}
    exact.verify()


@pytest.mark.slow
def test_with_cycles_too_what_is_forced_within_a_depth_is_right() -> None:
    whole = solution("shed", cards=5)
    start = whole.env.init(1)
    exact = te.solve(whole.env, int(whole.distance(start)[0]))
    assert exact.value(start) == whole.value(start) != 0 and exact.verify(max_positions=50) > 100
    some = te.solve(whole.env, 7)
    for state in random_games(some.env, 7):
        value = some.value(state)
        assert (value[value != 0] == whole.value(state)[value != 0]).all()
    assert some.positions < exact.positions and 0 in value and 1 in abs(value)


def test_verify_finds_a_wrong_value() -> None:
    exact = te.solve(shared_env("shed", cards=6))
    assert exact.verify(max_positions=50) > 500
    exact._values[exact._values > 0] -= 2
    with pytest.raises(ValueError, match=r"wrong value of \{'"):
        exact.verify(max_positions=50)


def plain_pig(goal: int, sides: int) -> dict[tuple[int, int, int], float]:
    """Iterate the win probability of the player to move, by its score, the other's score and the turn's total."""
    found = {(a, b, t): 0.0 for a, b, t in product(range(goal), range(goal), range(goal + sides)) if t != 1}
    while True:
        change = 0.0
        for (mine, theirs, turn), old in found.items():
            options = []
            if mine + turn < goal:
                rolls = [found[mine, theirs, turn + die] for die in range(2, sides + 1)]
                options.append((sum(rolls) + 1 - found[theirs, mine, 0]) / sides)
            if turn:
                kept = mine + turn
                options.append(1.0 if kept >= goal else 1 - found[theirs, kept, 0])
            found[mine, theirs, turn] = max(options)
            change = max(change, abs(old - found[mine, theirs, turn]))
        if change < 1e-13:
            return found


def test_chance_is_an_expectation() -> None:
    env = pig(goal=4, sides=3)
    exact, known = te.solve(env), plain_pig(4, 3)
    for state in list(random_games(env, 9))[::3]:
        now, value = state.numpy(), exact.value(state)
        live = np.flatnonzero(~now["terminated"])
        rows = zip(now["points"][live].tolist(), now["turn"][live].tolist(), strict=True)
        likely = [known[mine, theirs, turn] for (mine, theirs), turn in rows]
        assert np.allclose(value[live], 2 * np.array(likely) - 1, atol=1e-9)
        assert (exact.best_actions(state).any(1) == ~now["terminated"]).all()
        assert (np.isnan(exact.action_values(state)) == ~now["legal_action_mask"]).all()
    for call in (exact.distance, exact.line, lambda _: exact.verify()):
        with pytest.raises(ValueError, match="<Env pig-v0 goal=4, sides=3> has "):
            call(state)


@pytest.mark.slow
def test_from_games_that_have_begun_and_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env, path = shared_env("connect_four", **BOARD), tmp_path / "solution"
    begun = env.step(env.init(1), [1])
    exact, whole = te.solve(begun), solution("connect_four", **BOARD)
    assert exact.positions < whole.positions and exact.value(begun) == whole.value(begun)
    over = sum(sum(row.ended_positions.values()) for row in te.perft(begun).plies)
    compared = exact.verify()
    assert compared == sum(row.positions for row in exact.counts()) - over
    with pytest.raises(ValueError, match="state must have positions that the start leads to, row 0 is none"):
        exact.value(env.init(1))
    assert te.solve(begun, path=path).sha256() == exact.sha256()
    with monkeypatch.context() as m:  # it is not worked out again
        m.setattr(enumeration, "_explore", None)
        assert te.solve(begun, path=path).sha256() == exact.sha256()
        other = env.step(env.init(1), [2])
        for start, depth, symmetry in ((env, None, True), (other, None, True), (begun, 4, True), (begun, None, False)):
            with pytest.raises(ValueError, match="holds the solution of another start, depth or symmetry"):
                te.solve(start, depth, symmetry, path=path)
    again = te.Solution.load(path)
    assert (again.sha256(), again.counts(), again.verify()) == (exact.sha256(), exact.counts(), compared)
    assert again.value(begun) == exact.value(begun)
    te.save_state(begun, tmp_path / "state")
    with pytest.raises(ValueError, match="is a 'tensor_envs state 2', not a 'tensor_envs solution 1'"):
        te.Solution.load(tmp_path / "state")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is damaged"):
        te.Solution.load(path)


@pytest.mark.few("shed")
@pytest.mark.parametrize(("name", "config"), [("tic_tac_toe", {}), ("shed", {"cards": 4})])  # the latter has cycles
def test_the_limit_of_positions_is_exact(name: str, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A game of as many positions is solved, one of more is not, and is refused within a ply."""
    monkeypatch.setattr(branches, "EDGES", 64)
    env, expand, parts = shared_env(name, **config), positions.Expander.expand, list[int]()
    count = sum(row.positions for row in te.solve(env, symmetry=False).counts())
    assert sum(row.positions for row in te.solve(env, symmetry=False, max_positions=count).counts()) == count

    def counted(*arguments: Any) -> Iterator[Any]:
        parts.append(0)
        for children in expand(*arguments):
            parts[-1] += 1
            yield children

    monkeypatch.setattr(positions.Expander, "expand", counted)
    with pytest.raises(ValueError, match=f"max_positions must be more than {count - 1} to hold"):
        te.solve(env, symmetry=False, max_positions=count - 1)
    if name == "tic_tac_toe":
        with pytest.raises(ValueError, match="max_positions must be more than 400 to hold"):
            te.solve(env, symmetry=False, max_positions=400)  # 334 up to ply 3, and 1,512 edges to ply 4
        assert parts[-1] < 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: te.solve(te.make("kuhn_poker")), "hidden information"),
        (lambda: te.solve(shared_env("connect_four", **BOARD), max_positions=50), "max_positions must be more than 50"),
        (lambda: te.solve(te.make("tic_tac_toe"), max_positions=0), r"max_positions must be in 1\.\.2147483647, got 0"),
        (lambda: te.solve(te.make("tic_tac_toe"), -1), r"depth must be in 0\.\.2147483647, got -1"),
        (lambda: te.solve(te.make("tic_tac_toe"), symmetry=cast(Any, 1)), "symmetry must be of type bool, got 1"),
        (lambda: te.solve(dice_race.shared()), "for one, or for two with zero sum"),
        (lambda: solution("connect_four", **BOARD).value(te.make("tic_tac_toe").init(1)), "the state belongs to"),
        (lambda: solution("connect_four", **BOARD).value(cast(Any, 3)), "state must be of type State, got 3"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_games_that_pay_early() -> None:
    with pytest.raises(ValueError, match="pays at its end alone"):
        te.solve(wide(many=2, paid=1))


def test_any_number_of_threads_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "PARENTS", 64)  # at once, of up to 1,000 of a ply
    before, found = te.num_threads(), set()
    for threads in (1, 2, 5):
        te.set_num_threads(threads)
        found.add(te.solve(shared_env("connect_four", **BOARD)).sha256())
    te.set_num_threads(before)
    assert found == {solution("connect_four", **BOARD).sha256()}


def test_many_edges_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solution("connect_four", **BOARD)
    monkeypatch.setattr(retrograde, "EDGES_AT_ONCE", 7)
    assert te.solve(shared_env("connect_four", **BOARD)).sha256() == whole.sha256()


@pytest.mark.slow
def test_a_draw_with_thousands_of_outcomes() -> None:
    env = te.make("tests.solve.many_dice:ManyDice")
    assert te.solve(env).value(env.init(1)).item() == pytest.approx(ManyDice().value())
