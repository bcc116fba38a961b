"""Invariants I1 to I19 of the game's rules file on whole batches of the tensor engine; each check can fail.

`invariants.py` has the same invariants for single games of the reference. Here the fields of a batch are read as the
state table of the rules file, and an invariant is an array that marks the games that break it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.tensor_equilibrium.rules import DIRECTIONS, Act, Hexagon, Phase, Rules
from tests.games.tensor_equilibrium.test_env import BATCH, default_env

Arrays = dict[str, np.ndarray]
RADIUS = 3
AXIAL = [(q, r) for r in range(-RADIUS, RADIUS + 1) for q in range(-RADIUS, RADIUS + 1) if abs(q + r) <= RADIUS]
BITS = np.array([(r + RADIUS) * 8 + q + RADIUS for q, r in AXIAL], np.uint64)
BESIDE = np.array([[(x - q, y - r) in DIRECTIONS for x, y in AXIAL] for q, r in AXIAL])  # bool [37, 37]
PLACING = (Phase.PLACE, Phase.ADD_CELL, Phase.MUL_CELL)


class Games:
    """Batch of B default games in the terms of the rules file, from `State.numpy`."""

    def __init__(self, rules: Rules, s: Arrays) -> None:
        self.rules, self.fields, self.seats = rules, s, np.arange(rules.players)
        self.over = s["terminated"] | s["truncated"]
        self.phase, self.actor, self.final = s["phase"].astype(int), s["current_player"], s["final"]
        tallies = ("level", "storage", "hand", "face_up", "pile", "market", "supply", "ops")
        # six bits a number, read as signed ones: what has gone below 0 shows as such
        self.count = {name: six_bits(s[name]) for name in tallies}  # [B, 5] or [B, P, 5]
        self.planes = s["tiles"]  # [B, P, 4]
        on = (self.planes[..., None] >> BITS & np.uint64(1)).astype(np.int8)
        self.code = on[:, :, 0] + 2 * on[:, :, 1] + 4 * on[:, :, 2]  # [B, P, 37]; type + 1, or 0
        self.up = on[:, :, 3] == 1
        self.order, self.next_order, self.passed = s["order"], s["next_order"], s["passed"]
        self.tier = (self.count["level"].max(2)[..., None] >= np.array(rules.tier_level)).sum(2) - 1

    def __len__(self) -> int:
        return len(self.phase)

    def of(self, seats: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return one seat's entry of each game."""
        return values[np.arange(len(self)), seats]


def six_bits(words: np.ndarray) -> np.ndarray:
    numbers = (words[..., None] >> np.arange(0, 30, 6, dtype=np.uint32) & 63).astype(np.int8)
    return numbers - 64 * (numbers >= 32)


def by_game(broken: Any) -> np.ndarray:
    """Reduce an array of any shape to bool [B] by `any`."""
    return np.asarray(broken.reshape(len(broken), -1).any(1))


def broken_states(g: Games) -> Arrays:
    """Return the games that break an invariant of single states, bool [B] by name."""
    rules, n, s, types = g.rules, g.count, g.fields, np.arange(5)
    main = g.phase == Phase.MAIN
    lying = np.stack([(g.code == 1 + t).sum((1, 2)) for t in types], axis=1)
    face_up = np.stack([((g.code == 1 + t) & g.up).sum(2) for t in types], axis=2)
    moving = (g.phase[:, None] == Phase.PLACE) & (s["pend_type"][:, None] == types)
    tiles = n["pile"] + n["market"] + n["supply"] + n["storage"].sum(1) + lying + moving
    left = np.stack([s[name] for name in ("picks_left", "tweaks_left", "final_left", "n_passed")], axis=1)
    valid = np.bitwise_or.reduce(np.uint64(1) << BITS)
    waits = (s["pend_flip"][..., None] >> types & 1).astype(bool)  # [B, P, 5]
    spots, taken = g.seats < s["n_passed"][:, None], g.next_order >= 0
    filled = np.where(taken, 1 << g.next_order.clip(0), 0).sum(1)  # each seat once, or a bit carries
    passes = (g.passed << g.seats).sum(1)
    market = n["market"].sum(1)
    none = {"pend_type": -1, "pend_target": -1, "pend_bit": -1, "picks_left": 0, "tweaks_left": 0}
    return {
        "I1": by_game(tiles != rules.tiles_per_type),
        "I2": by_game((n["ops"] + n["hand"].sum(1))[:, :4] != rules.op_copies[rules.players - 1]),
        "I3": by_game(np.concatenate([n[name].reshape(len(g), -1) for name in n], axis=1) < 0) | by_game(left < 0),
        "I4": by_game((n["level"] < rules.level_min) | (n["level"] > rules.level_max)),
        "I5": by_game((s["gpu"] < 0) | (s["gpu"] > rules.gpu_max)),
        "I6": by_game(n["hand"].sum(2) > np.array(rules.tier_hand)[g.tier]) & ~g.over,
        "I7 largest tier": by_game(n["storage"].sum(2) > max(rules.tier_storage)),
        "I8": by_game((g.code > 5) | (g.up & (g.code == 0))) | by_game((g.planes & ~valid).astype(bool)),
        "I9": by_game(~(g.code > 0).any(2)) & (g.phase > Phase.SETUP_CELL),
        "I10": (market > rules.market_size) | (main & ~g.final & (market != rules.market_size)),
        "I11": g.final != ((g.phase > Phase.SETUP_CELL) & (n["pile"].sum(1) == 0)),
        "I12 order": by_game(np.sort(g.order, axis=1) != g.seats),
        "I12 next_order": (filled != passes) | (g.passed.sum(1) != s["n_passed"]) | by_game(taken != spots),
        "I13": (s["legal_action_mask"].any(1) == g.over) | (g.over != (g.phase == Phase.OVER)),
        "I14 turn": main & (g.of(s["pos"], g.order) != g.actor),
        "I14 pass": main & ~s["legal_action_mask"][:, Act.PASS],
        "I14 passed": main & ~g.final & g.of(g.actor, g.passed),
        "I15": (abs(s["rewards"].sum(1)) > 1e-6) | (s["rewards"].any(1) & ~g.over),
        "I18": by_game(waits & (face_up < 2)) | (by_game(waits) & (g.phase != Phase.FLIP)),
        "I19": main & by_game(np.stack([s[name] != value for name, value in none.items()], axis=1)),
        "face-up tiles are counted": by_game(face_up != n["face_up"]),
    }


def broken_steps(before: Games, after: Games) -> Arrays:
    """Return the games that break an invariant of a step, among those that were not over before it."""
    rules, phase = after.rules, before.phase
    ended = after.over | (after.fields["round"] > before.fields["round"])
    placed = (after.code > 0) & (before.code == 0)  # [B, P, 37]
    count = placed.sum((1, 2))
    expected = np.where(phase == Phase.MUL_CELL, 2, np.isin(phase, PLACING))
    setting_up = phase <= Phase.SETUP_CELL
    stored = after.count["storage"].sum(2)
    fuller = stored > before.count["storage"].sum(2)
    moves = after.count["level"] - before.count["level"]  # [B, P, 5]
    tweaking = (phase == Phase.TWEAK)[:, None] & (before.actor[:, None] == before.seats)  # [B, P]
    tweak = tweaking & (moves.min(2) == 0) & (moves.sum(2) == 1)
    return {
        "I7 limit": by_game(fuller & (stored > np.array(rules.tier_storage)[after.tier])) & ~after.over,
        "I8 placed": count > 2,
        "I16 end": by_game((moves < -1) | (moves > 2)),
        "I16 tweak": by_game(moves.any(2) & ~tweak) & ~ended,
        "I16 passed": by_game(before.passed & ~after.passed) & ~ended,
        "I17 count": (count != expected) & ~setting_up,
        "I17 older": by_placing(before, placed, PLACING, alone),
        "I17 pair": by_placing(before, placed, (Phase.MUL_CELL,), apart),
        "I17 partner": by_placing(before, placed, (Phase.PLACE,), without_partner),
    }


# *** I17; `placed` bool [N, 37] on one board a game, `code` the board before it, `partner` the type it needs or -1 ***


def alone(placed: np.ndarray, code: np.ndarray, partner: np.ndarray) -> np.ndarray:
    """No placed tile touches an older one."""
    return ~(placed & beside(code > 0)).any(1)


def apart(placed: np.ndarray, code: np.ndarray, partner: np.ndarray) -> np.ndarray:
    """A placed tile does not touch the other."""
    return (placed & ~beside(placed)).any(1)


def without_partner(placed: np.ndarray, code: np.ndarray, partner: np.ndarray) -> np.ndarray:
    """A placed tile does not touch its partner type."""
    return (placed & ~beside(code == 1 + partner[:, None])).any(1) & (partner >= 0)


def beside(cells: np.ndarray) -> np.ndarray:
    """Return the cells beside a set, bool [N, 37]."""
    found: np.ndarray = cells.astype(np.float32) @ BESIDE.astype(np.float32) > 0
    return found


def by_placing(
    before: Games, placed: np.ndarray, phases: tuple[Phase, ...], wrong: Callable[..., np.ndarray]
) -> np.ndarray:
    """Return whether a condition holds on the board that a game in these phases places tiles on, bool [B]."""
    rows = np.flatnonzero(np.isin(before.phase, phases))
    s, found = before.fields, np.zeros(len(before), bool)
    seat = np.where(before.phase == Phase.PLACE, s["pend_target"], before.actor)[rows]
    partner = PARTNERS[s["card"][rows, seat], s["pend_type"][rows]]
    found[rows] = wrong(placed[rows, seat], before.code[rows, seat], partner)
    return found


def partner_types(card: tuple[tuple[int, int], tuple[int, int]]) -> list[int]:
    pairs = {a: b for row in card for a, b in (row, row[::-1])}
    return [pairs.get(t, -1) for t in range(5)]


PARTNERS = np.array([partner_types(card) for card in Rules().tensor_cards])  # [30, 5], -1: the free type


def of_games(s: Arrays, games: np.ndarray) -> Arrays:
    return {name: values[games] for name, values in s.items()}


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3, 4])
def test_invariants_of_ten_thousand_games(players: int) -> None:
    rules, vector = Rules(players=players), te.VectorEnv(default_env(players), 10_000, 6, None, "disabled")
    now, phases = vector.state.numpy(), set()
    while (live := ~(now["terminated"] | now["truncated"])).any():
        transition, before = vector.step_uniform(), Games(rules, of_games(now, live))
        now = transition.final_state.numpy()
        after = Games(rules, of_games(now, live))
        phases |= {*before.phase.tolist(), *after.phase.tolist()}
        for name, broken in (broken_states(after) | broken_steps(before, after)).items():
            assert not broken.any(), f"{name}, in games {np.flatnonzero(live)[broken][:8]}"
    assert phases == set(Phase)
    assert now["truncated"].mean() < 0.01 and now["ply"].max() < 2000


# *** that every check can fail ***


@cache
def some_steps() -> tuple[Arrays, Arrays]:
    """Return the fields before and after steps of uniform play, in games that were not over before."""
    before, after = [], []
    for seed in range(3):
        state = default_env(2).init(BATCH, seed)
        for _ in range(150):
            before.append(state.numpy())
            state = state.env.step(state, te.agents.uniform(state))
            after.append(state.numpy())
    one, two = ({name: np.concatenate([s[name] for s in part]) for name in part[0]} for part in (before, after))
    live = ~(one["terminated"] | one["truncated"])
    return of_games(one, live), of_games(two, live)


@pytest.mark.slow
def test_some_steps_break_no_invariant() -> None:
    before, after = (Games(Rules(), s) for s in some_steps())
    assert set(before.phase.tolist()) == set(Phase) - {Phase.OVER}
    for name, broken in (broken_states(after) | broken_steps(before, after)).items():
        assert not broken.any(), name


def astray(before: Arrays, after: Arrays) -> None:
    """The only tile placed lies beside no tile at all."""
    code = Games(Rules(), before).code
    after["tiles"][:] = before["tiles"]
    for seat in (0, 1):
        bit = BITS[(beside(code[:, seat] > 0) | (code[:, seat] > 0)).argmin(1)]
        word = np.uint64(1) << bit
        for plane in (0, 3):
            after["tiles"][:, seat, plane] |= word


def tweak_of_the_other(before: Arrays, after: Arrays) -> None:
    after["level"][:] = before["level"]
    after["level"][np.arange(len(after["level"])), 1 - before["current_player"]] += 1


def change(name: str, value: Any, place: Any = ..., when: str = "after") -> Callable[[Arrays, Arrays], None]:
    def changed(before: Arrays, after: Arrays) -> None:
        (after if when == "after" else before)[name][place] = value

    return changed


def add(name: str, amount: int) -> Callable[[Arrays, Arrays], None]:
    """Return a change that adds to the first count of a tally, for every seat."""

    def added(before: Arrays, after: Arrays) -> None:
        after[name] += np.array(amount).astype(after[name].dtype)

    return added


WRONG: list[tuple[str, Callable[[Arrays, Arrays], None]]] = [
    ("I1", add("supply", 1)),
    ("I2", add("ops", 1)),
    *(("I3", add(name, -1)) for name in ("storage", "hand", "pile", "market", "ops")),
    *(("I3", change(name, -1)) for name in ("picks_left", "tweaks_left", "final_left")),
    ("I4", change("level", 11)),
    ("I5", change("gpu", 21)),
    ("I5", change("gpu", -1)),
    ("I6", add("hand", 2)),
    ("I7 largest tier", add("storage", 6)),
    ("I7 limit", add("storage", 4)),
    ("I8", change("tiles", 1, (..., 0))),  # the lowest bit is no cell
    ("I8", change("tiles", 1 << 30)),  # a code of 7
    ("I8", change("tiles", 0, (..., slice(0, 3)))),  # face-up, but no tile
    ("I8 placed", change("tiles", 0, when="before")),
    ("I9", change("tiles", 0)),
    ("I10", change("market", 6)),
    ("I10", change("market", 4)),
    ("I11", change("final", True)),
    ("I11", change("pile", 0)),
    ("I12 order", change("order", 0)),
    ("I12 next_order", add("n_passed", 1)),
    ("I12 next_order", add("next_order", 1)),
    ("I13", change("legal_action_mask", False)),
    ("I13", change("terminated", True)),
    ("I14 turn", change("pos", 0)),
    ("I14 pass", change("legal_action_mask", False, (..., 0))),
    ("I14 passed", change("passed", True)),
    ("I15", change("rewards", 1, (..., 0))),
    ("I15", change("rewards", [1, -1])),
    ("I16 end", add("level", 3)),
    ("I16 end", add("level", -2)),
    ("I16 tweak", add("level", 1)),
    ("I16 tweak", tweak_of_the_other),
    ("I16 passed", change("passed", False)),
    ("I17 count", change("tiles", 0)),
    ("I17 count", astray),
    ("I17 older", astray),
    ("I17 pair", astray),
    ("I17 partner", astray),
    ("I18", change("pend_flip", 31)),
    *(("I19", change(name, 1)) for name in ("picks_left", "tweaks_left", "pend_type", "pend_target", "pend_bit")),
    ("face-up tiles are counted", add("face_up", 1)),
]


@pytest.mark.few(12)
@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=[f"{i} {name}" for i, (name, _) in enumerate(WRONG)])
def test_checks_can_fail(name: str, wrong: Callable[[Arrays, Arrays], None]) -> None:
    before, after = ({field: values.copy() for field, values in s.items()} for s in some_steps())
    wrong(before, after)
    one, two = Games(Rules(), before), Games(Rules(), after)
    assert (broken_states(two) | broken_steps(one, two))[name].any()


def test_every_check_is_seen_to_fail() -> None:
    before, after = (Games(Rules(), s) for s in some_steps())
    assert {name for name, _ in WRONG} == {*broken_states(after), *broken_steps(before, after)}


def test_tiles_beside_a_cell() -> None:
    assert [np.flatnonzero(row).tolist() for row in BESIDE] == [sorted(around) for around in Hexagon(3).around]
