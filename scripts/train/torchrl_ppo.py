"""Train one player of a game by PPO in TorchRL, against random play.

    python scripts/train/torchrl_ppo.py
    python scripts/train/torchrl_ppo.py --env othello --player 1 --decisions 500000 --save othello.pt

Needs PyTorch and TorchRL (extra `torchrl`). The script imports nothing from its folder: copy it to start your own.
`te.evaluate` then plays the learner against random play; its score counts a win as 1 and a draw as a half.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence

import numpy as np

import tensor_envs as te
from tensor_envs._command import add_game, command_parser, game_of, new_file, run, whole
from tensor_envs._validate import need

STEPS, EPOCHS, MINIBATCHES = 32, 4, 4  # of a batch of decisions


def work(options: argparse.Namespace) -> None:
    need("torchrl", "this script", "torchrl")
    import torch
    from tensordict.nn import TensorDictModule
    from torchrl.envs.utils import step_mdp
    from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    from tensor_envs.adapters.torchrl import SingleAgentTorchEnv

    torch.manual_seed(options.seed)
    env = game_of(options)

    class Network(torch.nn.Module):  # type: ignore[misc] # without PyTorch
        """Two hidden layers on the flat observation."""

        def __init__(self, outputs: int):
            super().__init__()
            sizes = [math.prod(env.observation_shape), 128, 128]
            layers = [(torch.nn.Linear(n, m), torch.nn.Tanh()) for n, m in itertools.pairwise(sizes)]
            self.layers = torch.nn.Sequential(*itertools.chain(*layers), torch.nn.Linear(sizes[-1], outputs))

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.layers(observation.flatten(-len(env.observation_shape)).float())
            return result

    policy = Network(env.num_actions)
    actor = ProbabilisticActor(
        TensorDictModule(policy, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(Network(1), in_keys=["observation"])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
    games, decisions = SingleAgentTorchEnv(env, options.num_envs, player=options.player), 0
    games.set_seed(options.seed)
    position = games.reset()
    while decisions < options.decisions:
        with torch.no_grad():
            data = games.rollout(STEPS, actor, auto_reset=False, tensordict=position, break_when_any_done=False)
        position = games.maybe_reset(step_mdp(data[:, -1]))
        for _ in range(EPOCHS):
            with torch.no_grad():
                advantage(data)
            for rows in torch.randperm(options.num_envs).chunk(MINIBATCHES):
                losses = loss(data[rows])
                optimiser.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                optimiser.step()
        decisions += data.numel()

    def trained(state: te.State) -> np.ndarray:
        with torch.no_grad():
            logits = policy(te.to_torch(env.observe(state)))
        actions: np.ndarray = logits.masked_fill(~te.to_torch(state.legal_action_mask), -math.inf).argmax(1).numpy()
        return actions

    policies: list[te.agents.Policy] = [te.agents.uniform] * env.num_players
    policies[options.player] = trained
    result = te.evaluate(env, policies, options.games, seats="fixed", seed=options.seed)
    print(f"{env!r}: score {result.scores[options.player]:.3f} against random play, {decisions:,} decisions")
    if options.save:
        torch.save(policy.state_dict(), options.save)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/train/torchrl_ppo.py", __doc__)
    add_game(parser, "connect_four")
    parser.add_argument("--player", type=whole(0), default=0, help="the player who learns; default: %(default)s")
    parser.add_argument("--num-envs", type=whole(1), default=64, help="games at once; default: %(default)s")
    parser.add_argument("--decisions", type=whole(1), default=100_000, help="of the learner; default: %(default)s")
    parser.add_argument("--games", type=whole(1), default=256, help="games of the evaluation; default: %(default)s")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0)
    parser.add_argument("--save", type=new_file, metavar="FILE", help="file for the network's weights, by torch.save")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
