"""Train one player of a game by sb3-contrib's MaskablePPO, against random play.

    python scripts/train/maskable_ppo.py
    python scripts/train/maskable_ppo.py --env othello --player 1 --decisions 500000 --save othello.zip

Needs Stable-Baselines3 and sb3-contrib (extra `sb3`). The script imports nothing from its folder: copy it to start
your own. `te.evaluate` then plays the learner against random play; its score counts a win as 1 and a draw as a half.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tensor_envs as te
from tensor_envs._command import add_game, command_parser, game_of, new_file, run, whole
from tensor_envs._validate import need


def work(options: argparse.Namespace) -> None:
    need("sb3_contrib", "this script", "sb3")
    from sb3_contrib import MaskablePPO

    from tensor_envs.adapters.stable_baselines3 import SingleAgentVecEnv

    env = game_of(options)
    vector = SingleAgentVecEnv(env, options.num_envs, player=options.player)
    vector.seed(options.seed)
    sizes = {"n_steps": 32, "batch_size": 512, "n_epochs": 4}
    learner = MaskablePPO("MlpPolicy", vector, **sizes, ent_coef=0.01, seed=options.seed, device="cpu")
    learner.learn(options.decisions)

    def trained(state: te.State) -> np.ndarray:
        masks = state.legal_action_mask.numpy()
        actions: np.ndarray = learner.predict(env.observe(state).numpy(), action_masks=masks, deterministic=True)[0]
        return actions

    policies: list[te.agents.Policy] = [te.agents.uniform] * env.num_players
    policies[options.player] = trained
    result = te.evaluate(env, policies, options.games, seats="fixed", seed=options.seed)
    print(
        f"{env!r}: score {result.scores[options.player]:.3f} against random play, {learner.num_timesteps:,} decisions"
    )
    if options.save:
        learner.save(options.save)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/train/maskable_ppo.py", __doc__)
    add_game(parser, "connect_four")
    parser.add_argument("--player", type=whole(0), default=0, help="the player who learns; default: %(default)s")
    parser.add_argument("--num-envs", type=whole(1), default=64, help="games at once; default: %(default)s")
    parser.add_argument("--decisions", type=whole(1), default=100_000, help="of the learner; default: %(default)s")
    parser.add_argument("--games", type=whole(1), default=256, help="games of the evaluation; default: %(default)s")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0)
    parser.add_argument(
        "--save", type=new_file, metavar="FILE", help="file for the learner, a .zip of Stable-Baselines3"
    )
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
