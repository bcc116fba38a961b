"""Draw the picture at the top of the README, a game of 3x3x3 that the uniform policy has played: cube.png.

    python scripts/draw_cube.py [FILE]

Needs the extra 'draw'. Draws the same picture on every machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tensor_envs as te
from tensor_envs.games.hyper_tic_tac_toe.render import draw

CUBE = Path(__file__).resolve().parents[1] / "cube.png"
SHAPE, K, SEED = (3, 3, 3), 3, 0
GAME = 86  # a diagonal of the cube ends it


def main(path: Path) -> None:
    env = te.make("hyper_tic_tac_toe", shape=SHAPE, k=K)
    vector = te.VectorEnv(env, GAME + 1, SEED, autoreset="disabled")
    for _ in range(env.num_actions):
        vector.step_uniform()
    draw(env.rules, env.state_to_dict(vector.state, GAME)).save_png(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CUBE)
