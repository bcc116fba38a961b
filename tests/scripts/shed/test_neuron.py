"""The single neuron of Shed's post, and every figure of the post."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shed.claims import PARTLY, UNKNOWN, YES, Claim, claims
from shed.neuron import (
    Neuron,
    QuietPositions,
    Separation,
    away_from_zero,
    draws_by_pattern,
    endgames,
    pattern,
    separate,
)
from tensor_envs.games.shed.solve import solve
from tensor_envs.games.shed.tablebase import Tablebase

DATA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "shed.json").read_text())
FACTS = {claim["id"]: claim for claim in DATA["claims"]}


@cache
def table(cards: int) -> Tablebase:
    return solve(cards, "CPU", progress=False)


@cache
def worked_out() -> dict[str, Claim]:
    return {claim.id: claim for claim in claims()}


@pytest.mark.slow
def test_every_claim_of_the_post_is_worked_out() -> None:
    beyond = {"n7-limit", "sep-table"}  # not in the post
    assert set(FACTS) - beyond <= set(worked_out())
    different = {claim.id: claim.agrees for claim in worked_out().values() if claim.agrees != YES}
    assert different == {"n7-124": PARTLY, "n15-30-iterations": UNKNOWN}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("n5-points", "n6-times5", "n7-four-values", "n10-64", "n7-22-three"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("n6-points", "n15-values")),
    ],
)
def test_figures_are_the_known_ones(name: str) -> None:
    assert worked_out()[name].here == FACTS[name]["measured"]


@pytest.mark.slow
def test_first_epoch_with_six_cards() -> None:
    known = FACTS["n6-epoch1"]["measured"]
    weights = Neuron(endgames(table(6)), device="CPU").train(1).weights
    assert np.allclose(weights, [*known["w"], known["b"]], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_training_with_seven_cards() -> None:
    data, known = endgames(table(7)), FACTS["n7-124"]["measured"]
    neuron, done = Neuron(data, device="CPU"), 0
    names = [text.strip("()") for text in known["trace"]["1"]["wrong_side"]]
    for epochs in (1, 10, 50, 100, 1000):
        neuron.train(epochs - done)
        done = epochs
        trace = known["trace"][str(epochs)]
        assert len(neuron.far()) == trace["off_by_0.3"]
        wrong = [
            i for i in neuron.wrong() if abs(neuron.outputs[i] - 0.5) > 1e-9
        ]  # the facts do not count a tie as a mistake
        assert sorted(data.written(i) for i in wrong) == sorted(names)
    rest = data.without("7-6-5-4-3-2-1+ [] -")
    assert len(rest) == 127
    assert Neuron(rest, device="CPU").train_until_right(1000) == 147
    assert Neuron(data, device="CPU").train_until_right(20) is None


@pytest.mark.slow
def test_patterns_with_seven_cards() -> None:
    for name, known in FACTS["n7-patterns"]["measured"].items():
        own, other = map(int, name.split("-"))
        data = pattern(table(7), own, other)
        assert len(data) == known["positions"]
        assert Neuron(data, device="CPU").train_until_right(50) == known["batch_perfect_at_epoch"]


@pytest.mark.slow
def test_outputs_with_ten_cards() -> None:
    known = FACTS["n10-64-epoch100"]["measured"]
    data = pattern(table(10), 6, 4)
    neuron = Neuron(data, device="CPU").train(100)
    assert sorted(neuron.outputs[neuron.far()].round(4)) == sorted(known["outputs"])
    assert {f"({data.written(i)})" for i in neuron.wrong()} == set(known["misclassified"])


def test_two_of_six_cards() -> None:
    known = FACTS["n6-20"]["measured"]
    neuron = Neuron(pattern(table(6), 2, 0), device="CPU")
    assert neuron.train_until_right(100) == known["batch_first_perfect_epoch"]
    assert np.allclose(neuron.train(1000 - neuron.epochs).weights, known["w_at_1000"], atol=0.006)


def test_difficult_positions_with_seven_cards() -> None:
    known = FACTS["n7-22"]["measured"]
    data = pattern(table(7), 2, 2)
    wrong = Neuron(data, device="CPU").train(100).wrong()
    assert {f"({data.written(i)})" for i in wrong} == set(known["misclassified_100_epochs"])


@pytest.mark.few(6)
@pytest.mark.parametrize("cards", range(1, 11))
def test_separability(cards: int) -> None:
    """Prove separability or its contrary, for all endgames and for each pattern."""
    known = FACTS["sep-table"]["measured"][str(cards)]
    data = endgames(table(cards))
    assert len(data) + data.drawn == known["endgames"] and data.drawn == known["drawn"]
    proof = separate(data)
    assert (proof.weights is not None) == known["one_neuron_for_all"] and proof.holds(data)
    not_separable = []
    for own in range(cards + 1):
        part = pattern(table(cards), own, cards - own)
        proof = separate(part)
        assert proof.holds(part)
        not_separable += [f"{own}-{cards - own}"] if proof.weights is None else []
    assert not_separable == known["patterns_not_separable"]


def test_draws_by_pattern() -> None:
    drawn, every = draws_by_pattern(table(10))
    assert (drawn[6, 4], every[6, 4]) == (4, 210)  # as the post says
    counts = table(10).counts()
    assert (drawn.sum(), every.sum()) == (counts["draw"], 3**10)
    ends = {f"{own}-{10 - own}": drawn[own, 10 - own] for own in range(11) if drawn[own, 10 - own]}
    assert ends == counts["drawn_endgames"]
    drawn, every = draws_by_pattern(table(6))
    for own in range(7):
        for other in range(7 - own):
            data = pattern(table(6), own, other)
            assert (drawn[own, other], every[own, other]) == (data.drawn, len(data) + data.drawn)


def test_wrong_proofs_are_refused() -> None:
    data = endgames(table(5))
    proof = separate(data)
    assert proof.weights is not None
    assert not Separation(weights=[-w for w in proof.weights]).holds(data)
    assert not Separation(contradiction={0: 1, 1: 1}).holds(data)
    limit = [[0, 0, 0, 0, -1, 0]]  # impossible: the highest card has a positive weight
    impossible = separate(data, limit)
    assert impossible.contradiction is not None and impossible.holds(data, limit)
    assert not impossible.holds(data, [[0, 0, 0, 0, 1, 0]])


def test_rounding_away_from_zero() -> None:
    assert away_from_zero(np.array([0.1, -0.1, 0.2, 0.0, -1.3]), 5) == [1, -1, 1, 0, -7]


def test_positions_in_writing() -> None:
    data: QuietPositions = pattern(table(6), 2, 0)
    assert data.written(data.find("6-5+ [] -")) == "6-5+ [] -"
    with pytest.raises(StopIteration):
        data.find("6-5+ [] 1")
