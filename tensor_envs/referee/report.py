"""Report of a tournament as a page, with pictures of positions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import isnan
from typing import TYPE_CHECKING

from tensor_envs.envs.registry import env_of
from tensor_envs.envs.state import State
from tensor_envs.files.records import Record, positions, sum_rewards

if TYPE_CHECKING:
    from tensor_envs.evaluation.ratings import Ratings
    from tensor_envs.referee.scoring import Score

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; } /* scrolled on a phone */
h1, summary, li { overflow-wrap: anywhere; }
td, th { padding: .2rem .7rem; text-align: right; }
td, th { border-bottom: 1px solid #ccc; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } figure { display: inline-block; margin: 1rem 0; }
img { width: 16rem; max-width: 100%; max-height: 20rem; }
summary { cursor: pointer; } .bad { color: #b3261e; font-weight: bold; }
"""
SCORES = ["player", "Elo", "won", "drawn", "lost", "return", "regret", "moves"]
ANSWERS = ["answers", "illegal", "unparsable", "s/move", "tokens"]


def page(records: Sequence[Record], scores: Sequence[Score], elo: Ratings) -> str:
    """Return an HTML page: a table of the players, and every game with its moves and two positions."""
    env = env_of(records[0].game)
    rows = list[str]()
    has_results = any(score.won + score.drawn + score.lost for score in scores)
    for score, rating, half in zip(scores, elo.elo, elo.intervals, strict=True):
        cells = [
            *(score.name, "" if isnan(rating) else f"{rating:+.0f} ± {half:.0f}"),
            *((score.won, score.drawn, score.lost) if has_results else ("", "", "")),
            *(f"{score.mean_return:+.3f}", f"{score.regret:.4f} ± {score.interval:.4f}", score.moves),
            *((score.answers, f"{score.illegal:.1%}", f"{score.unparsable:.1%}") if score.answers else ("", "", "")),
            *(f"{score.seconds:.3f}", "" if score.tokens is None else score.tokens),
        ]
        rows.append("".join(f"<td>{escape(str(cell))}</td>" for cell in cells))
    title = escape(f"{env.id}: {len(records)} games of {len(rows)} players")
    head = "".join(f"<th>{name}</th>" for name in SCORES + ANSWERS)
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    games = "\n".join(_game(number, game) for number, game in enumerate(records))
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style>\n"
        f"<h1>{title}</h1><table><tr>{head}</tr>{table}</table>\n"
        f"<p>Regret by {escape(records[0].notes['oracle'])}.</p>\n{games}</html>\n"
    )


def _game(number: int, game: Record) -> str:
    """Return HTML of a game: its moves, the position before the move of the highest regret, and the last one."""
    names = game.notes["players"]
    regrets = game.notes["regret"]
    states = positions(game)
    worst = max(range(len(regrets)), key=lambda ply: regrets[ply] or 0.0, default=0)
    items = []
    for seat, name, regret in zip(game.players, game.names, regrets, strict=True):
        loss = f' <span class="bad">−{regret:.3g}</span>' if regret else ""
        items.append(f"<li>{escape(names[seat])}: {escape(name)}{loss}</li>")
    pictures = _picture(states[-1], "the last position")
    if regrets and regrets[worst]:
        pictures = _picture(states[worst], f"before move {worst + 1}, the worst") + pictures
    returns = zip(names, sum_rewards(game.rewards, len(names)), strict=True)
    result = escape(", ".join(f"{name} {value:+g}" for name, value in returns))
    kinds = escape(", ".join(game.notes["disguise"]["kinds"]))
    return (
        f"<details><summary>Game {number + 1}, seed {game.seed}: {result}{f' ({kinds})' if kinds else ''}</summary>"
        f"{pictures}<ol>{''.join(items)}</ol></details>"
    )


def _picture(state: State, caption: str) -> str:
    """Return HTML with a picture of a position."""
    data = b64encode(state.env.render(state).encode()).decode()
    return f'<figure><img src="data:image/svg+xml;base64,{data}" alt=""><figcaption>{caption}</figcaption></figure>'
