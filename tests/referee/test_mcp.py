"""The MCP server, played by the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tensor_envs.referee.mcp import ClientGame
from tests.scripts.here import run_here

ROOT = Path(__file__).parents[2]


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


async def conversation() -> list[str]:
    """Play a game of tic-tac-toe against perfect play, and ask what is refused."""
    from mcp import Client, StdioServerParameters

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = ["-m", "tensor_envs.referee.mcp"]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=environment)) as client:
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
            assert refused.is_error and "answer must name a move" in text_of(refused)
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
        assert "the game is over" in text_of(late) and "one of the 1 games" in text_of(unknown)
        assert late.is_error and unknown.is_error and wrong.is_error and "k is at most 3" in text_of(wrong)
    return said


@pytest.mark.extra("mcp")
def test_a_client_plays_a_game() -> None:
    said = asyncio.run(conversation())
    assert said[0].startswith("Game number 0.\n\n# Hyperdimensional tic-tac-toe") and "You are O in" in said[0]
    assert re.search(r"Moves so far, each after its player: X \(\d,\d\)\n", said[0])
    assert "The game is over.\nReturns: X +1, O -1\n" in said[-1] or "Returns: X +0" in said[-1]
    assert 3 < len(said) < 6


def test_a_table_hides_what_is_hidden() -> None:
    """Two games that differ in the opponent's card alone look the same to the client."""
    tables = [ClientGame("kuhn_poker", {}, seed, "uniform", 0) for seed in range(12)]
    views = {re.findall(r"Seat 0: (\w)", table.view())[0]: table.view() for table in tables}
    assert len({table.view() for table in tables}) == len(views) == 3
    ended = next(text for text in (table.play("bet") for table in tables) if "over" in text)
    assert re.search(r"The game is over\.\nReturns: Seat 0 [+-][12], Seat 1 [+-][12]\n$", ended)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensor_envs.referee import mcp

    monkeypatch.setitem(sys.modules, "mcp", None)
    code, out, errors = run_here(mcp.main, [])
    assert (code, out) == (2, "")
    assert errors == "tensor_envs.referee.mcp: error: the MCP server needs mcp: pip install 'tensor_envs[mcp]'\n"
