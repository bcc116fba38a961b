"""The MCP server, played by the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tensor_envs.referee import mcp
from tensor_envs.referee.mcp import ClientGame, Tools
from tests.scripts.here import run_here

ROOT = Path(__file__).parents[2]


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


async def conversation() -> list[str]:
    """Play a game of tic-tac-toe against perfect play, and ask what is refused."""
    from mcp import Client, StdioServerParameters, stdio_client

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = ["-m", "tensor_envs.referee.mcp"]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(stdio_client(parameters)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["new_game", "state", "legal_moves", "play"]
        call = client.call_tool
        said = [text_of(await call("new_game", {"game": "tic_tac_toe", "opponent": "perfect", "player": 1, "seed": 2}))]
        for _ in range(9):
            result = await call("legal_moves", {"number": 0})
            assert result.structured_content is not None
            legal = result.structured_content["result"]
            if not legal:
                break
            assert f"Legal moves: {'; '.join(legal)}\n" in text_of(await call("state", {"number": 0}))
            refused = await call("play", {"number": 0, "move": "(9,9)"})
            assert refused.is_error and text_of(refused).partition("move must name a move")[1]
            said.append(text_of(await call("play", {"number": 0, "move": legal[-1]})))
        late, unknown, wrong = (
            await call("play", {"number": 0, "move": "(0,0)"}),
            await call("state", {"number": 1}),
            await call("new_game", {"game": "hyper_tic_tac_toe", "rules": {"shape": [3, 3], "k": 9}}),
        )
        others: list[dict[str, Any]] = [{"fields": {"size": 5}}, {"seed": "5"}, {"player": True}]
        for other in others:
            refused = await call("new_game", {"game": "hex", **other})
            assert refused.is_error and next(iter(other)) in text_of(refused)
        assert "the game is over" in text_of(late) and "kept are 0" in text_of(unknown)
        assert late.is_error and unknown.is_error and wrong.is_error and "k is at most 3" in text_of(wrong)
    return said


@pytest.mark.extra("mcp")
def test_a_client_plays_a_game() -> None:
    said = asyncio.run(conversation())
    assert said[0].startswith("Game number 0.\n\n# Hyperdimensional tic-tac-toe") and "You are O in" in said[0]
    assert re.search(r"Moves so far, each after its player: X \(\d,\d\)\n", said[0])
    assert said[-1].endswith("Seed: 2\n") and not any("Seed" in text for text in said[:-1])
    assert "The game is over.\nReturns: X +1, O -1\n" in said[-1] or "Returns: X +0" in said[-1]
    assert 3 < len(said) < 6


@pytest.mark.extra("mcp")
@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("play", {}, "number is missing; move is missing; play takes number, move"),
        ("play", {"number": 0}, "move is missing; play takes number, move"),
        ("state", {"number": "0"}, "number must be a valid integer, got '0'; state takes number"),
        ("play", {"number": True, "move": "a1"}, "number must be a valid integer, got True; play takes number, move"),
        ("legal_moves", {"number": 0, "game": "hex"}, "game is no argument; legal_moves takes number"),
        ("new_game", {"game": "hex", "seed": -1}, "Error executing tool new_game: seed must be in 0.."),
        ("new_game", {"game": "hex", "rules": {"size": "big"}}, "Error executing tool new_game: size must be an int"),
    ],
)
def test_errors_name_the_argument(tool: str, arguments: dict[str, Any], message: str) -> None:
    async def asked() -> Any:
        from mcp import Client

        async with Client(mcp.server()) as client:
            return await client.call_tool(tool, arguments)

    result = asyncio.run(asked())
    assert result.is_error and text_of(result).startswith(message)


def test_a_table_hides_what_is_hidden() -> None:
    """Two games that differ in the opponent's card alone look the same to the client."""
    tables = [ClientGame("kuhn_poker", {}, seed, "uniform", 0) for seed in range(12)]
    views = {re.findall(r"Player 1: (\w)", table.view())[0]: table.view() for table in tables}
    assert len({table.view() for table in tables}) == len(views) == 3
    ended = next(text for text in (table.play("bet") for table in tables) if "over" in text)
    assert re.search(r"The game is over\.\nReturns: Player 1 [+-][12], Player 2 [+-][12]\nSeed: \d+\n$", ended)


def test_seeds_are_the_servers_and_told_at_the_end() -> None:
    tools = Tools()
    texts = [tools.new_game("kuhn_poker") for _ in range(24)]
    seeds = [table.episode.record.seed for table in tools.tables.values()]
    assert len(set(seeds)) == 24 and not any(str(seed) in text for seed, text in zip(seeds, texts, strict=True))
    assert len({re.findall(r"Player 1: (\w)", text)[0] for text in texts}) == 3
    number = next(number for number in tools.tables if "over" in tools.play(number, "bet"))
    assert tools.state(number).endswith(f"Seed: {seeds[number]}\n")
    again = ClientGame("kuhn_poker", {}, seeds[number])
    view = again.view()
    assert again.episode.record.actions == () and view == texts[number].partition("\n\n")[2][-len(view) :]


def test_games_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most so many are kept; those that are over go first, and numbers are not used again."""
    monkeypatch.setattr(mcp, "MAX_TABLES", 3)
    tools = Tools()
    for _ in range(3):
        tools.new_game("tic_tac_toe", seed=1)
    while not tools.tables[1].episode.over:
        tools.play(1, tools.legal_moves(1)[0])
    for kept in ([0, 2, 3], [2, 3, 4]):
        tools.new_game("tic_tac_toe")
        assert [*tools.tables] == kept
    with pytest.raises(
        ValueError, match="number must be that of a game of new_game that is kept, got 1; kept are 2, 3"
    ):
        tools.state(1)
    with pytest.raises(ValueError, match="unknown id"):
        tools.new_game("chess960")
    assert [*tools.tables] == [2, 3, 4]  # a game that is refused releases none


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "hex", "rules": {"illegal": "raise"}}, "rules must be rule fields, got 'illegal'"),
        (
            {"game": "tests.types.program:Nim"},
            "game must be one of the package, got 'tests.types.program:Nim'; --custom",
        ),
        ({"game": "os:system"}, "game must be one of the package, got 'os:system'"),
        ({"game": "hex", "opponent": "/tmp/a.safetensors"}, "opponent must be one of the package, got '/tmp/a"),
        ({"game": "hex", "rules": {"id": "go"}}, "id"),
        ({"game": "hex", "opponent": ["uniform"] * 2}, r"opponent must be one, or one for each of 1 seats, got"),
    ],
)
def test_what_a_client_may_not_choose(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Tools().new_game(**arguments)


def test_each_other_seat_may_have_an_opponent_of_its_own() -> None:
    several: list[str | list[str]] = ["uniform", ["uniform", "playout:2"]]
    same, other = (ClientGame("yahtzee", {"players": 3}, 1, opponent=names, player=1) for names in several)
    players = [[seat.name if seat is not None else None for seat in table.episode.seats] for table in (same, other)]
    assert players == [["uniform", None, "uniform"], ["uniform", None, "playout:2"]]


def test_custom_games_need_an_option_of_the_server() -> None:
    assert "Game number 0." in Tools(custom=True).new_game("tests.types.program:Nim")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    code, out, errors = run_here(mcp.main, [])
    assert (code, out) == (2, "")
    assert (
        errors == "python -m tensor_envs.referee.mcp: error: the MCP server needs mcp: pip install 'tensor_envs[mcp]'\n"
    )
