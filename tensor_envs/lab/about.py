"""Section about a registered game for the page of its rules, from its profile."""

from __future__ import annotations

from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.lab.similarity import CLOSEST, GAMES, closest, profiles


def about(env: Env) -> str:
    """Return the profile of a game as a section in Markdown; "" unless the game is registered with these rules."""
    own = profiles().get(env.id)
    if own is None or not env.plays_like(make(env.id)):
        return ""
    similar = ", ".join(f"{id} ({distance:.2f})" for id, distance in closest(own, CLOSEST, env.id))
    rows = {
        "plies": f"{10 ** own['plies, log10']:.0f}",
        "legal actions of a decision": f"{10 ** own['legal actions, log10']:.1f}",
        "decisions with one legal action": f"{own['forced moves']:.1%}",
        "games without a single winner": f"{own['draws']:.1%}",
        "advantage of a seat, 0 to 1": f"{own['advantage']:.2f}",
        "actions of the game that are used": f"{own['coverage']:.0%}",
        "most similar games (distance)": similar,
    }
    # In a cooperative game, no player wins against another.
    if not env.spec.zero_sum:
        del rows["games without a single winner"], rows["advantage of a seat, 0 to 1"]
    table = "\n".join(f"| {measure} | {value} |" for measure, value in rows.items())
    return f"\n## About this game\n\nMeasured in {GAMES} random games:\n\n| | |\n|---|---|\n{table}\n"
