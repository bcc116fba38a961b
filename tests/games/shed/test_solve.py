"""Shed: the exact solution against known checksums, against an independent solution, and in use."""

import json
import math
import resource
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs.files.arrays import write_arrays
from tensor_envs.games.shed import solve as solver
from tensor_envs.games.shed import strata
from tensor_envs.games.shed.distances import Distances
from tensor_envs.games.shed.layers import Group, TalonLayer, groups, slices
from tensor_envs.games.shed.notation import parse
from tensor_envs.games.shed.solve import GIB, choose_fixed, memory_needed, solve
from tensor_envs.games.shed.tablebase import FORMAT, Tablebase
from tests.games.shared import shared_env

ROOT = Path(__file__).parents[3]
DATA: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "shed.json").read_text())
FACTS = DATA["N"]


@cache
def table(cards: int) -> Tablebase:
    return solve(cards, "CPU", progress=False)


@pytest.mark.few(9)
@pytest.mark.parametrize("cards", range(1, 13))
def test_values_are_the_known_ones(cards: int) -> None:
    facts, counts = FACTS[str(cards)], table(cards).counts()
    assert {name: counts[name] for name in ("quiet", "win", "loss", "draw", "start")} == {
        name: facts[name] for name in ("quiet", "win", "loss", "draw", "start")
    }
    ends = facts["endgame"]
    assert counts["endgames"] == {"win": ends["W"], "loss": ends["L"], "draw": ends["D"]}
    assert counts["drawn_endgames"] == facts["drawn_endgames_by_pattern"]
    assert table(cards).sha256() == facts["sha256"]


@pytest.mark.slow
@pytest.mark.parametrize(("cards", "memory"), [*((cards, None) for cards in range(13, 19)), (20, 9.1), (21, 21.2)])
def test_values_of_larger_games(cards: int, memory: float | None) -> None:
    """Check this solver's recorded values, which no other source confirms. The largest takes 20 minutes."""
    predicted, free = dict(DATA["predicted"][str(cards)]), solver.memory_free("CPU")
    if memory and (free or 0) < (memory + 1.5) * GIB:
        pytest.skip(f"{cards} cards take {memory} GiB, and nothing large beside them")
    made = solve(cards, "CPU", progress=False, memory=memory)
    digest = predicted.pop("sha256", None)
    assert predicted.items() <= made.counts().items()
    assert digest is None or made.sha256() == digest


@pytest.mark.slow
def test_kernels_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernels on tinygrad's interpreter as on a GPU: with two blocks of four, each thread has many cells."""
    monkeypatch.setattr(strata, "BLOCKS", 2)
    monkeypatch.setattr(strata, "THREADS", 4)
    assert solve(5, "PYTHON", progress=False).sha256() == FACTS["5"]["sha256"]
    solution, env = solve(4, "PYTHON", progress=False), shared_env("shed", cards=4)
    first = env.init(2, device="PYTHON")
    assert solution.sha256() == FACTS["4"]["sha256"] and solution.value(first).numpy().tolist() == [1, 1]


@pytest.mark.parametrize("cards", range(1, 8))
def test_verify_agrees(cards: int) -> None:
    table(cards).verify()


@pytest.mark.slow
@pytest.mark.parametrize("cards", range(8, 13))
def test_verify_agrees_on_larger_games(cards: int) -> None:
    table(cards).verify()


@pytest.mark.slow
@pytest.mark.parametrize("cards", (3, 6))
def test_distances_are_those_of_the_game_solved_move_by_move(cards: int) -> None:
    """Check every position of random games, with piles and without; tricks are fewer than moves."""
    env, moves, tricks = shared_env("shed", cards=cards), Distances(cards), Distances(cards, "tricks")
    solution, state, seen = te.solve(env, progress=False), env.init(64, seed=1), set[int]()
    for _ in range(20):
        live = ~(state.terminated | state.truncated).numpy()
        found = moves.of(state)
        assert (found == solution.distance(state))[live].all() and (found[~live] == 0).all()
        less = tricks.of(state)
        assert (less <= found)[live].all() and ((less < 0) == (found < 0)).all()
        seen |= {*found.tolist()}
        state = env.step(state, te.agents.uniform(state))
    assert len(seen) > 5 and moves.longest() >= max(seen)


def test_distances_of_other_games_are_refused() -> None:
    with pytest.raises(ValueError, match=r"cards must be in 1\.\.13, got 14"):
        Distances(14)
    with pytest.raises(ValueError, match="unit must be one of 'moves', 'tricks', got 'plies'"):
        Distances(3, "plies")
    with pytest.raises(ValueError, match="the distances are of 3 cards, the state is of <Env shed-v0 cards=4"):
        Distances(3).of(shared_env("shed", cards=4).init(1))


@pytest.mark.parametrize("which", (0, 1))
def test_verify_finds_a_single_wrong_bit(which: int) -> None:
    arrays = [t.numpy().copy() for t in table(6).results]
    arrays[which][40] ^= 4
    with pytest.raises(ValueError, match="wrong value"):
        Tablebase(6, *(Tensor(a, device="CPU").realize() for a in arrays)).verify()


@pytest.mark.slow
@pytest.mark.parametrize("cards", (1, 2, 3, 6, 9))
def test_values_fit_together_in_play(cards: int) -> None:
    """Check in random games that the best action has the position's value, and each action the next position's."""
    env, solution = shared_env("shed", cards=cards), table(cards)
    state = env.init(32, seed=cards, device="CPU")
    for _ in range(25):
        values, actions = solution.action_values(state).numpy(), te.agents.uniform(state)
        now = state.numpy()
        live = ~(now["terminated"] | now["truncated"])
        mask, value = now["legal_action_mask"], solution.value(state).numpy()
        assert ((values != -2) == mask)[live].all()
        assert (values.max(axis=1) == value)[live].all() and (value[~live] == 1).all()
        best = solution.best_actions(state).numpy()
        assert (best == (mask & (values == value[:, None]))).all()
        played = values[np.arange(32), actions.numpy()]
        assert (solution.regret(state, actions).numpy() == value - played)[live].all()
        state = env.step(state, actions)
        assert (-solution.value(state).numpy() == played)[live].all()


@pytest.mark.slow
def test_quiet_values_are_those_of_the_table() -> None:
    """Check every quiet position of 4 cards, through the kernel of the lookups."""
    env, solution = shared_env("shed", cards=4), table(4)
    for talon in range(15):
        rest = [c for c in range(1, 5) if not talon >> c - 1 & 1]
        games = []
        for m in range(1 << len(rest)):
            hands = [[c for j, c in enumerate(rest) if m >> j & 1 == who] for who in (0, 1)]
            held = [c for c in range(1, 5) if talon >> c - 1 & 1]
            games.append({"hands": hands, "pile": [], "talon": held, "current_player": 0})
        state = env.state_from_dicts(games, device="CPU")
        assert (solution.value(state).numpy() == solution.quiet_values(talon)).all()


@pytest.mark.parametrize(
    "text, value",
    (
        ("7-6-5-4-3-2-1+ [] -", 1),
        ("5+ [] 7-6-4-3-2-1", 1),
        ("7-5-3-2+ [] 6-4-1", -1),
        ("6-5-4-1+ [] 7-3-2", -1),
        ("7-2+ [] 6-3", -1),
        ("7-2+ [] 6-1", 1),
        ("7-3+ [] 6-1", 1),
        ("6-4-1 [7-5-3-2] -+", -1),  # nothing beats the 7, and all but three cards have to be picked up
    ),
)
def test_positions_of_the_seed(text: str, value: int) -> None:
    env = shared_env("shed", cards=7)
    state = env.state_from_dicts([parse(text, 7)], device="CPU")
    assert table(7).value(state).item() == value


def test_perfect_play_never_gives_anything_away() -> None:
    """Play from the first position, which the second player wins with 5 cards: every try of the first player loses."""
    env, solution = shared_env("shed", cards=5), table(5)
    state = env.init(64, seed=2, device="CPU")
    for ply in range(200):
        if ply % 2:
            best = solution.best_actions(state).numpy()
            actions: Any = best.argmax(axis=1).astype(np.int32)
        else:
            actions = te.agents.uniform(state)
        before = state.numpy()["terminated"]
        state = env.step(state, actions)
        after = state.numpy()
        assert (after["rewards"][after["terminated"] & ~before, 1] == 1).all()
    assert after["terminated"].any()


@pytest.mark.slow
def test_perfect_policy_in_a_captured_rollout() -> None:
    """Check that the first player wins with 4 cards, with lookups captured together with the step."""
    env, solution = shared_env("shed", cards=4), table(4)

    def perfect(state: te.State) -> Tensor:
        return solution.best_actions(state).cast(dtypes.int32).argmax(axis=1).cast(dtypes.int32)

    done = te.rollout(env, perfect, 64, 60, device="CPU")
    wins, episodes = done.wins.numpy(), done.episodes.numpy()
    assert (episodes > 0).all() and (wins[:, 0] == episodes).all() and (wins[:, 1] == 0).all()


def test_lookups_refuse_other_games() -> None:
    with pytest.raises(ValueError, match="6 cards"):
        table(6).value(shared_env("shed", cards=5).init(2, device="CPU"))
    with pytest.raises(ValueError, match="shed"):
        table(6).value(te.make("tic_tac_toe").init(2, device="CPU"))


@pytest.mark.slow
def test_lookups_of_games_whose_states_lie_differently() -> None:
    """Check a ply count of 31 bits, which moves the fields after it."""
    usual, long = shared_env("shed", cards=6), te.make("shed", cards=6, max_plies=2_000_000_000)
    assert usual.state_bytes != long.state_bytes
    values = []
    for env in (usual, long):
        state = env.init(32, 1, device="CPU")
        for _ in range(3):
            state = env.step(state, te.agents.uniform(state))
        values.append(table(6).action_values(state).tolist())
    assert values[0] == values[1]


# *** files ***


def test_table_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "shed.safetensors"
    made = solve(6, "CPU", progress=False, path=path)
    assert made.sha256() == table(6).sha256()
    assert Tablebase.load(path, "CPU").sha256() == made.sha256()
    assert solve(6, "CPU", progress=False, path=path).sha256() == made.sha256()
    with pytest.raises(ValueError, match="6 cards"):
        solve(5, "CPU", progress=False, path=path)
    with pytest.raises(FileNotFoundError, match=r"no file '.*none'"):
        Tablebase.load(tmp_path / "none", "CPU")


@pytest.fixture
def in_groups(monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Leave three cards free, so that 6 cards make 8 groups of 8 talon sets each, and save each group."""
    monkeypatch.setattr(solver, "MAX_FREE", 3)
    monkeypatch.setattr(solver, "SAVING", math.inf)
    return groups(6, 3)


@pytest.mark.few(1)
@pytest.mark.parametrize(("cards", "free"), ((9, 3), (3, 0), (6, 2), (10, 6)))
def test_any_groups_give_the_same(monkeypatch: pytest.MonkeyPatch, cards: int, free: int) -> None:
    """Check slices of low cards, of those of a block and of higher ones."""
    monkeypatch.setattr(solver, "MAX_FREE", free)
    assert solve(cards, "CPU", progress=False).sha256() == FACTS[str(cards)]["sha256"]


def test_groups_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that as many cards are fixed as needed; fewer take more memory, down to a reported limit."""
    monkeypatch.setattr(solver, "memory_free", lambda device: None)
    needs = [memory_needed(14, fixed, False) / GIB for fixed in (4, 5, 7)]
    assert needs == sorted(needs, reverse=True)
    for need, fixed in zip(needs, (4, 5, 7), strict=True):
        assert choose_fixed(14, "CPU", need) == fixed
    assert choose_fixed(14, "CPU", None) == 4 and choose_fixed(6, "CPU", None) == 0
    monkeypatch.setattr(solver, "MIN_FREE", 10)
    with pytest.raises(MemoryError, match=r"18 cards takes 1\.\d GiB on CPU, and there are 0\.5 GiB"):
        solve(18, "CPU", progress=False, memory=0.5)
    with pytest.raises(ValueError, match="memory must be"):
        solve(6, "CPU", progress=False, memory=-1)


def test_slices_lie_apart() -> None:
    places, size = slices(9, 5)
    waiting: dict[tuple[int, int], range] = {}
    for group in groups(9, 5):
        for card in range(5):
            if not group.talon >> card & 1:
                place = places[group.talon, card]
                waiting[group.talon, card] = range(place, place + group.slice_words(card))
        taken = sorted((r.start, r.stop) for r in waiting.values())
        assert all(end <= begin for (_, end), (begin, _) in pairwise(taken)) and taken[-1:] <= [(size, size)]
        for card in range(5):
            if group.talon >> card & 1:
                del waiting[group.talon ^ 1 << card, card]
    assert not waiting


@pytest.mark.few(1)
@pytest.mark.parametrize(("stop", "free"), ((5, 2), (1, 3), (5, 3)))
def test_interrupted_solve_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_groups: list[Group], stop: int, free: int
) -> None:
    """Check that an interrupted solve continues, also with other groups."""
    path, sweeps, whole = tmp_path / "shed.safetensors", dict[int, int](), table(6).sha256()
    real = solver.LayerSolver.solve

    def stopping(self: solver.LayerSolver, layer: TalonLayer, finished: bool = False) -> int:
        if layer.group == in_groups[stop]:
            raise KeyboardInterrupt
        return real(self, layer, finished)

    def counting(self: solver.LayerSolver, layer: TalonLayer, finished: bool = False) -> int:
        assert finished == (layer.group.talon in {g.talon for g in groups(6, 6 - free)[: stop << 3 - free]})
        sweeps[layer.group.talon] = max(real(self, layer, finished), sweeps.get(layer.group.talon, 0))
        return sweeps[layer.group.talon]

    monkeypatch.setattr(solver.LayerSolver, "solve", stopping)
    with pytest.raises(KeyboardInterrupt):
        solve(6, "CPU", progress=False, path=path)
    with pytest.raises(ValueError, match=f"solved only for {8 * stop} of 64 talons"):
        Tablebase.load(path, "CPU")
    monkeypatch.setattr(solver.LayerSolver, "solve", counting)
    monkeypatch.setattr(solver, "MAX_FREE", free)
    assert solve(6, "CPU", progress=False, path=path).sha256() == whole
    done = [group.talon for group in groups(6, 6 - free)[: stop << 3 - free]]
    assert all((number == 1) == (talon in done) for talon, number in sweeps.items() if talon != 2**6 - 1)


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "shed.safetensors"
    table(6).write(path)
    whole = path.read_bytes()
    state = shared_env("shed", cards=6).init(2, device="CPU")
    te.save_state(state, tmp_path / "state")
    wrong = {
        "one bit": whole[:-1] + bytes([whole[-1] ^ 1]),
        "short": whole[:-9],
        "text": b"no table",
        "state": (tmp_path / "state").read_bytes(),
        "empty": b"",
    }
    refused = r"shed table 3' that can be read|is damaged|not a 'tensor_envs shed table 3'"
    for name, data in wrong.items():
        path.write_bytes(data)
        with pytest.raises(ValueError, match=refused):
            solve(6, "CPU", progress=False, path=path)
        with pytest.raises(ValueError, match=refused):
            Tablebase.load(path, "CPU")
        assert path.read_bytes() == data, name


def test_what_a_file_says_of_itself_is_checked(tmp_path: Path) -> None:
    """Check the metadata of a file, also under a right digest: an unsolvable number of cards is refused at once."""
    path = tmp_path / "shed.safetensors"
    results = {name: t.numpy() for name, t in zip(("a_to_move", "b_to_move"), table(6).results, strict=True)}
    wrong: list[tuple[dict[str, Any], dict[str, np.ndarray], str]] = [
        ({"cards": 10**9}, {}, r"cards must be in 1\.\.21, got 1000000000"),
        ({"cards": "six"}, {}, "cards must be an int, got 'six'"),
        ({"sets": 65}, {}, r"sets must be in 0\.\.64, got 65"),
        ({"cards": 7}, {}, "its arrays are not those of 7 cards"),
        ({}, {"b_to_move": results["b_to_move"].astype(np.int8)}, "its arrays are not those of 6 cards"),
        ({}, {"b_to_move": results["b_to_move"][1:]}, "its arrays are not those of 6 cards"),
    ]
    for about, arrays, message in wrong:
        write_arrays(path, FORMAT, {"cards": 6, "sets": 64} | about, results | arrays)
        for read in (Tablebase.load, lambda path: solve(6, "CPU", progress=False, path=path)):
            with pytest.raises(ValueError, match=message) as caught:
                read(path)
            assert repr(str(path)) in str(caught.value)


@pytest.mark.parametrize(("number", "version"), ((1, "0.1 or 0.2"), (2, "0.2")))
def test_files_of_earlier_versions_say_so(tmp_path: Path, number: int, version: str) -> None:
    about = {"format": f"tensor_envs shed table {number}", "cards": 6, "layers": 7, "sha256": ""}
    text = json.dumps({"__metadata__": {"tensor_envs": json.dumps(about)}}).encode()
    (tmp_path / "old").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ValueError, match=rf"not a 'tensor_envs shed table 3' \(version {version} of the package"):
        Tablebase.load(tmp_path / "old")


def test_a_disk_that_fills_up_during_a_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_groups: list[Group]
) -> None:
    """Check that the saved groups are still there, and that the next solve continues from them."""
    path, whole = tmp_path / "shed.safetensors", table(6).sha256()
    real = solver.LayerSolver.solve
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def filling(self: solver.LayerSolver, layer: TalonLayer, finished: bool = False) -> int:
        if layer.group == in_groups[3]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
        return real(self, layer, finished)

    monkeypatch.setattr(solver.LayerSolver, "solve", filling)
    try:
        with pytest.raises(OSError, match="cannot save") as caught:
            solve(6, "CPU", progress=False, path=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(path) and list(tmp_path.iterdir()) == [path]
    assert Tablebase.contents(path)[:2] == (6, 24)
    monkeypatch.setattr(solver.LayerSolver, "solve", real)
    assert solve(6, "CPU", progress=False, path=path).sha256() == whole


def test_two_solvers_on_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_groups: list[Group]) -> None:
    """Check that neither fails, and that the one that is behind does not overwrite the other's file."""
    path, real, done = tmp_path / "shed.safetensors", solver.LayerSolver.solve, list[bool]()

    def overtaken(self: solver.LayerSolver, layer: TalonLayer, finished: bool = False) -> int:
        if layer.group == in_groups[2] and not done:
            done.append(False)
            solve(6, "CPU", progress=False, path=path)
            done[0] = True
        if any(done):
            assert Tablebase.contents(path)[1] == 64
        return real(self, layer, finished)

    monkeypatch.setattr(solver.LayerSolver, "solve", overtaken)
    assert solve(6, "CPU", progress=False, path=path).sha256() == table(6).sha256()
    assert Tablebase.load(path, "CPU").sha256() == table(6).sha256() and list(tmp_path.iterdir()) == [path]


def test_saved_groups_that_do_not_solve_the_game(tmp_path: Path, in_groups: list[Group]) -> None:
    """Check that an intact file with wrong values is refused when they are used."""
    arrays = [t.numpy().copy() for t in table(6).results]
    arrays[0][3] ^= 1
    path = tmp_path / "shed.safetensors"
    Tablebase(6, *(Tensor(a, device="CPU").realize() for a in arrays)).write(path, 16)
    with pytest.raises(ValueError, match="do not solve"):
        solve(6, "CPU", progress=False, path=path)


@pytest.mark.parametrize("cards", (0, 22, 33, True, 6.0))
def test_impossible_numbers_of_cards(cards: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="cards must be"):
        solve(cards, "CPU", progress=False)
