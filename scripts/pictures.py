"""Draw the README's pictures, games that the uniform policy has played: scripts/pictures/*.svg.

    python scripts/pictures.py [FOLDER]

Draws the same files on every machine, and needs nothing but the package.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensor_envs as te

FOLDER = Path(__file__).resolve().parent / "pictures"


@dataclass(frozen=True)
class Film:
    """Game 0 of a seed: the positions from ply `first` to ply `last`."""

    id: str
    seed: int
    fields: dict[str, Any] = field(default_factory=dict)
    first: int = 0
    last: int | None = None
    seconds: float = 1.0


FILMS = {
    "hyper_tic_tac_toe": Film("hyper_tic_tac_toe", 3, {"shape": (3, 3, 3, 3), "k": 3}),
    "shed": Film("shed", 3, {"cards": 7}),
    "tensor_stars": Film("tensor_stars", 3),
    "tensor_equilibrium": Film("tensor_equilibrium", 3, last=20),
    "three_will": Film("three_will", 3, first=166),
}
BATCH, SEED = 12, 0  # games of 3x3 on one sheet


def played(env: te.Env, state: te.State) -> list[te.State]:
    """All positions of the first game of a batch, to its end."""
    states = [state]
    while states[-1].numpy()["legal_action_mask"][0].any():
        states.append(env.step(states[-1], te.random_policy(states[-1])))
    return states


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, film in FILMS.items():
        env = te.make(film.id, **film.fields)
        states = played(env, env.init(1, film.seed))[film.first : film.last]
        te.save_animation(states, folder / f"{name}.svg", seconds=film.seconds)
    env = te.make("tic_tac_toe")
    state = env.init(BATCH, SEED)
    for _ in range(env.num_actions):
        state = env.step(state, te.random_policy(state))
    sheet = te.contact_sheet(state, range(BATCH), columns=4, width=200)
    (folder / "batch.svg").write_text(sheet, encoding="utf-8")
    for path in sorted(folder.glob("*.svg")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
