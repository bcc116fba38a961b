"""The OpenEnv server, asked by its own client over loopback."""

from __future__ import annotations

import json
import re
import shlex
import socket
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv", reason="the extra openenv needs an environment without the extra mcp")

import tensor_envs as te
from tensor_envs.adapters import openenv
from tensor_envs.adapters.openenv import Answer, GameClient, TextEnvironment, application
from tensor_envs.referee import Settings
from tests.games.shared import shared_env
from tests.referee.players import labels_of, legal, translated
from tests.scripts.here import run_here

ROOT = Path(__file__).parents[2]
HERE = "tests.referee.players"


@contextmanager
def served(**options: Any) -> Iterator[str]:
    """Serve on loopback. Yield the URL."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application(**options), log_level="critical"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # clients wait until the server has started
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def played(client: Any, **options: Any) -> list[Any]:
    """Play a game by first legal moves. Return the results of reset and of each step."""
    results = [client.reset(**options)]
    while not results[-1].done:
        results.append(client.step(Answer(text=f"So.\nmove: {results[-1].observation.legal_moves[0]}")))
    return results


def test_a_client_plays_whole_games() -> None:
    """Rewards are those of the record's game and regrets; a seed gives the same game again."""
    with served(opponent="perfect", reward="both") as url, GameClient(base_url=url).sync() as client:
        first = played(client, seed=1, episode_id="an episode")
        state = client.state()
        game = te.Record.from_json(json.dumps(state.record))
        again = played(client, seed=1)
        regrets = played(client, seed=1, reward="regret")
        results = played(client, seed=1, reward="result")
    assert "# Hyperdimensional tic-tac-toe" in first[0].observation.rules and first[1].observation.rules == ""
    assert first[0].reward is None and first[0].observation.player == 1 and game.seed == 1
    assert state.episode_id == "an episode" and state.game == "tic_tac_toe" and state.step_count == len(game.actions)
    assert game.notes["players"] == ["perfect", "client"] and te.replay(game).terminated.item()
    assert [step.observation.prompt for step in first] == [step.observation.prompt for step in again]
    mine = [value for value, player in zip(te.text.reward(game), game.players, strict=True) if player == 1]
    assert [step.reward for step in regrets[1:]] == mine and min(mine) < 0
    assert [step.reward for step in results[1:]] == [0.0] * (len(mine) - 1) + [game.rewards[-1][1]]
    assert [step.reward for step in first[1:]] == pytest.approx(
        [a.reward + b.reward for a, b in zip(regrets[1:], results[1:], strict=True)]
    )
    assert first[-1].observation.returns == list(game.rewards[-1]) == first[-1].observation.rewards


def test_sessions_are_isolated() -> None:
    """Two clients play other games in turns, each as if it were alone; a third finds no room."""
    with served(sessions=2, player=0, opponent="playout:8") as url:
        with GameClient(base_url=url).sync() as client:
            alone = [played(client, seed=seed, game=game) for seed, game in ((1, "kuhn_poker"), (2, "tic_tac_toe"))]
        with GameClient(base_url=url).sync() as one, GameClient(base_url=url).sync() as other:
            clients = (one, other)
            steps = [[one.reset(seed=1, game="kuhn_poker")], [other.reset(seed=2)]]
            while not all(results[-1].done for results in steps):
                for client, results in zip(clients, steps, strict=True):
                    if not results[-1].done:
                        results.append(client.step(Answer(text=results[-1].observation.legal_moves[0])))
            with (
                pytest.raises((RuntimeError, ConnectionError), match="capacity"),
                GameClient(base_url=url).sync() as more,
            ):
                more.reset()
    for results, single in zip(steps, alone, strict=True):
        assert [step.observation.prompt for step in results] == [step.observation.prompt for step in single]


@pytest.mark.few("kuhn_poker", "shed")
@pytest.mark.parametrize("game", te.registered())
def test_every_game_is_served(game: str) -> None:
    """The client's view is that of `te.text.prompt`, and does not contain what is hidden."""
    env = TextEnvironment(game, opponent="uniform", player=0)
    seen = env.reset(seed=3)
    for _ in range(6):
        if seen.done:
            break
        record = te.Record.from_json(env.session.episode.record.to_json())
        state = te.replay(record)
        assert seen.prompt == te.text.prompt(state, player=seen.player, history=record)
        assert seen.legal_moves == list(state.env.legal_actions(state).values())
        assert env.state.position == state.env.state_to_dict(state, 0, seen.player)
        seen = env.step(Answer(text=seen.legal_moves[-1]))
    assert len(env.session.episode.moves) > 0


def test_one_client_answers_for_every_seat() -> None:
    env = TextEnvironment("kuhn_poker", opponent="self", reward="result")
    seen = env.reset(seed=5)
    assert seen.player == 0
    seen = env.step(Answer(text="bet"))
    assert seen.player == 1 and (seen.reward, seen.done, seen.rewards) == (0.0, False, [0.0, 0.0])
    seen = env.step(Answer(text="pass"))
    assert seen.done and (seen.player, seen.reward, seen.rewards) == (1, -1.0, [1.0, -1.0]) and not seen.legal_moves


def test_another_model_plays_the_other_seat() -> None:
    """An opponent may be a function of text, such as one that asks a model."""
    env = TextEnvironment("tic_tac_toe", opponent=f"{HERE}:reader", player=1)
    env.reset(seed=0)
    assert env.session.episode.moves[0] is not None and "I take **" in env.session.episode.moves[0]["answers"][0]
    with pytest.raises(ValueError, match="opponent must be one of the package, got 'os:getcwd'; --custom"):
        env.reset(opponent="os:getcwd")
    with pytest.raises(ValueError, match="game must be one of the package, got 'tests"):
        env.reset(game="tests.types.program:Nim")
    custom = TextEnvironment(custom=True)
    assert custom.reset(game="tests.types.program:Nim", opponent=f"{HERE}:first").prompt


def test_pictures_and_players_of_each_seat_reach_the_client() -> None:
    opponents = ["uniform", "self"]
    options = {"game": "liars_dice", "rules": {"players": 3}, "player": 0}
    with served(image=True, opponent="perfect") as url, GameClient(base_url=url).sync() as client:
        shown = played(client, seed=1)
        dice = played(client, seed=1, opponent=opponents, **options)
        record = te.Record.from_json(json.dumps(client.state().record))
    assert all(b64decode(step.observation.image).startswith(b"\x89PNG") for step in shown)
    assert len({step.observation.image for step in shown}) == len(shown)
    assert record.notes["players"] == ["client", "uniform", "client"]
    assert {step.observation.player for step in dice} <= {0, 2} and len(dice[-1].observation.returns) == 3


@pytest.mark.parametrize("tries", [1, 3])
def test_wrong_answers(tries: int) -> None:
    """The last try loses as an illegal action; those before are told what is wrong and cost nothing."""
    env = TextEnvironment("tic_tac_toe", player=0, reward="both", settings=Settings(tries=tries, opening=0))
    prompt = env.reset(seed=0).prompt
    for _ in range(tries - 1):
        seen = env.step(Answer(text="(9,9)"))
        assert (seen.reward, seen.done, seen.prompt) == (0.0, False, prompt)
        assert seen.error == "Your answer was: (9,9)\nIt cannot be played: it does not name one move.\n"
    seen = env.step(Answer(text="I resign."))
    assert (seen.done, seen.rewards, seen.regret, seen.reward) == (True, [-1.0, 1.0], 1.0, -2.0)
    assert "I resign" in seen.error and "The game is over." in seen.prompt
    with pytest.raises(ValueError, match="the game is over; reset starts another one"):
        env.step(Answer(text="(0,0)"))


def test_disguises_and_prompts() -> None:
    settings = Settings(tries=1, opening=2, disguise=("renamed", "symmetry"))
    env = TextEnvironment("tic_tac_toe", player=0, opponent="perfect", settings=settings)
    seen = env.reset(seed=1)
    labels = labels_of(seen.rules)
    assert len(labels) >= 3 and seen.legal_moves == legal(seen.prompt) and len(env.session.episode.record.actions) == 2
    plain = [translated(name, labels) for name in seen.legal_moves]
    assert all(re.fullmatch(r"\(\d,\d\)", name) for name in plain) and seen.legal_moves != plain
    assert not env.step(Answer(text=f"move: {seen.legal_moves[0]}")).error
    short = TextEnvironment("tic_tac_toe", settings=Settings(history=False, legal=False)).reset(seed=1)
    assert short.legal_moves == [] and "Legal moves" not in short.prompt and "Moves so far" not in short.prompt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "chess960"}, "unknown id"),
        ({"rules": {"illegal": "raise"}}, "rules must be rule fields, got 'illegal'"),
        ({"opponent": "nobody"}, "a player must be uniform"),
        ({"player": 2}, "player must be in 0..1, got 2"),
        ({"reward": "all"}, "reward must be"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        TextEnvironment(**arguments)
    with pytest.raises((ValueError, TypeError), match=message):
        TextEnvironment().reset(**arguments)


def test_errors_reach_the_client() -> None:
    with served() as url, GameClient(base_url=url).sync() as client:
        with pytest.raises(RuntimeError, match=r"player must be in 0\.\.1, got 7"):
            client.reset(player=7)
        with pytest.raises(RuntimeError, match=r"reset takes seed, .* and reward, got 'opponet'"):
            client.reset(opponet="perfect")
        with pytest.raises(RuntimeError, match="episode_id must be of type str, got 5"):
            client.reset(episode_id=5)
        client.reset(player=0)
        assert client.step(Answer(text="half an emoji: \ud83d")).done and client.state().record
        assert client.reset(game="hex", rules={"size": 3}).observation.prompt.startswith("You are ")


def test_the_command_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    calls = list[dict[str, Any]]()
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: calls.append(options))
    arguments = ["hex", "--rules", "size=3", "--opponent", "playout:8", "--seat", "1", "--reward", "regret"]
    assert run_here(openenv.main, [*arguments, "--no-legal", "--disguise", "renamed", "--tries", "2"])[0] == 0
    assert calls == [{"host": "127.0.0.1", "port": 8000}]
    several = ["liars_dice", "--rules", "players=3", "--image", "--opponent", "self", "--opponent", "uniform"]
    assert run_here(openenv.main, several)[0] == 0
    for wrong, message in (("--reward all", "invalid choice: 'all'"), ("--seat 2", "player must be in 0..1, got 2")):
        code, _, errors = run_here(openenv.main, ["hex", *wrong.split()])
        assert code == 2 and message in errors


def test_the_dockerfile_runs_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Docker: its sources exist, its extra is that of the package, and the command takes its arguments."""
    import uvicorn

    text = (ROOT / "scripts" / "container" / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.*)$", text, re.M):
        assert all((ROOT / name).exists() for name in line.split()[:-1])
    assert "/source[openenv]" in text and "\nopenenv = [" in (ROOT / "pyproject.toml").read_text()
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.M)[0])
    assert entry[:3] == ["python", "-m", openenv.__name__]
    calls = list[dict[str, Any]]()
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: calls.append(options))
    example = shlex.split(re.findall(r"docker run .* tensor_envs (.*)", text)[0])
    assert run_here(openenv.main, [*entry[3:], *example])[0] == 0
    assert calls == [{"host": "0.0.0.0", "port": 8000}]
    assert shared_env(example[0]).num_players == 2
