"""Golden games: every reference engine replays the traces of its rules file to the letter."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.games.chance import game_key, policy_key, uniform_action
from tests.games.shared import reference

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("*.json"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_reference_replays_trace(path: Path) -> None:
    """Check the shortest game of a trace."""
    replay(path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_reference_replays_whole_trace(path: Path) -> None:
    replay(path)


def replay(path: Path, games: int | None = None) -> None:
    """Replay games of a trace, the shortest first; None replays all."""
    trace = json.loads(path.read_text())
    engine = reference(trace["game"])
    for recorded in sorted(trace["games"], key=lambda recorded: len(recorded["actions"]))[:games]:
        row = recorded["row"]
        game = engine(game_key(trace["seed"], row, recorded["episode"]), **trace["config"])
        policy = policy_key(trace["seed"], row)
        lists, returns = [], [0.0] * len(game.rewards)
        for decision, action in enumerate(recorded["actions"]):
            lists.append(game.legal_actions())
            assert uniform_action(policy, decision, lists[-1]) == action, f"row {row}, decision {decision}"
            game.apply(action)
            returns = [total + reward for total, reward in zip(returns, game.rewards, strict=True)]
        assert game.terminated or game.truncated
        assert game.legal_actions() == []
        assert lists[: len(recorded["first_legal"])] == recorded["first_legal"]
        assert [len(legal) for legal in lists] == recorded["legal_counts"]
        text = ";".join(",".join(map(str, legal)) for legal in lists)
        assert hashlib.sha256(text.encode()).hexdigest() == recorded["legal_sha256"]
        assert returns == pytest.approx(recorded["returns"])
        assert game.to_dict() == recorded["final"]
