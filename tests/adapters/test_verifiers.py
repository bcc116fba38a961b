"""The environment of verifiers, played by an endpoint on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers.v1", reason="needs the extra verifiers")

import verifiers.v1 as vf

import tensor_envs as te
from tensor_envs.adapters import verifiers
from tensor_envs.adapters.verifiers import load_environment
from tests.referee.players import first, legal, resigning
from tests.referee.test_endpoints import BODIES, Handler, serving

ROOT = Path(__file__).parents[2]


def episodes(env: Any, answer: Any, count: int = 1) -> list[Any]:
    """Return the traces of some games that an endpoint plays by a function of text."""

    def reply(handler: Handler, text: Any) -> None:
        content = text if isinstance(text, str) else "".join(part.get("text", "") for part in text)
        message = {"role": "assistant", "content": answer(content)}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "a-model", "choices": choices}
        handler.send(200, json.dumps(body).encode(), Content_Type="application/json")

    async def run(url: str) -> list[Any]:
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_SUCH_KEY")
        async with env.serving():
            played = [await env.run_episode(task, vf.ModelContext(model="a-model", client=client)) for task in tasks]
        assert all(episode.ok for episode in played), [episode.errors for episode in played]
        return [trace for episode in played for trace in episode.traces]

    tasks = list(env.taskset.take(count))
    with serving(reply) as (url, _):
        return asyncio.run(run(url))


@pytest.mark.parametrize("reward", ["regret", "result", "both"])
def test_every_turn_has_a_reward(reward: str) -> None:
    """They are those of the record: the game's, and minus the regrets."""
    env = load_environment(game="tic_tac_toe", opponent="perfect", player=0, reward=reward, seed=3)
    (trace,) = episodes(env, first)
    game = te.Record.from_json(trace.info["record"])
    rewards = trace.info["turn_rewards"]
    regrets = te.text.reward(game)[::2]
    results = [0.0] * (len(regrets) - 1) + [game.rewards[-1][0]]
    parts = {"regret": [regrets], "result": [results], "both": [regrets, results]}[reward]
    assert game.seed == 3 and game.notes["players"] == ["client", "perfect"] and len(rewards) == len(regrets) > 2
    assert rewards == [sum(values) for values in zip(*parts, strict=True)] and min(rewards) < 0
    assert [trace.rewards[f"turn_{turn}"].value for turn in range(len(rewards))] == rewards
    assert trace.reward == sum(rewards) and trace.metrics["finished"] == 1
    questions = [message["content"] for message in BODIES[-1]["messages"] if message["role"] == "user"]
    assert "# Hyperdimensional tic-tac-toe" in str(questions[0]) and legal(str(questions[-1]))


def test_seats_seeds_and_wrong_answers() -> None:
    traces = episodes(load_environment(game="kuhn_poker", opponent="uniform", games=5), resigning, 2)
    games = [te.Record.from_json(trace.info["record"]) for trace in traces]
    assert [game.seed for game in games] == [0, 1] and [game.actions[-1] for game in games] == [-1, -1]
    assert [game.players[-1] for game in games] == [0, 1] and all(trace.reward < 0 for trace in traces)
    (trace,) = episodes(load_environment(game="kuhn_poker", opponent="self", reward="result"), first)
    game = te.Record.from_json(trace.info["record"])
    paid = [rewards[player] for rewards, player in zip(game.rewards, game.players, strict=True)]
    assert trace.info["turn_rewards"] == paid and len(paid) > 1


def test_pictures_are_parts_of_messages() -> None:
    env = load_environment(game="tic_tac_toe", opponent="perfect", player=0, image=True)
    (trace,) = episodes(env, first)
    urls = [
        part["image_url"]["url"]
        for message in BODIES[-1]["messages"]
        if message["role"] == "user"
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert len(urls) == len(trace.info["turn_rewards"]) == len({*urls}) > 2
    assert all(url.startswith("data:image/png;base64,iVBORw0KGgo") for url in urls)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "chess960"}, "unknown id"),
        ({"opponent": "nobody"}, "a player must be uniform"),
        ({"reward": "all"}, "reward must be"),
        ({"tries": 0}, "tries must be in"),
        ({"gane": "hex"}, "gane"),
        ({"games": 0}, "games\n.*greater than or equal to 1"),
        ({"seed": -1}, "seed\n.*greater than or equal to 0"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        load_environment(**settings)


def test_the_package_names_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """verifiers finds taskset, environment and harness by the package's name, and takes its settings."""
    from verifiers.v1.utils.loaders import load_environment as load
    from verifiers.v1.utils.loaders import resolve_env_config

    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "environments" / verifiers.ID))
    monkeypatch.delitem(sys.modules, verifiers.ID, raising=False)
    config = {"taskset": {"id": verifiers.ID, "game": "hex", "rules": {"size": 3}, "games": 2}}
    env = load(resolve_env_config(config))
    assert sys.modules[verifiers.ID].__name__ == verifiers.ID and type(env) is verifiers.GameEnv
    assert [task.data.name for task in env.taskset] == ["hex-0", "hex-1"]
    assert "size=3" in next(iter(env.taskset)).data.prompt
