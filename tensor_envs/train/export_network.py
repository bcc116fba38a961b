"""Trained networks as files of other programs: safetensors for PyTorch, and ONNX."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import torch

from tensor_envs._command import need
from tensor_envs.envs.registry import env_metadata
from tensor_envs.files.arrays import replace_file
from tensor_envs.train.network import Player, load, save_imported, weights_file
from tensor_envs.train.torch_network import TorchNetwork, build

TARGETS = ("safetensors", "onnx")


class Exported(torch.nn.Module):  # type: ignore[misc] # PyTorch has no types where it is not installed
    """Function of a file: float32 observations to logits [B, A] and values [B], which are returns."""

    def __init__(self, network: TorchNetwork):
        super().__init__()
        self.module = network.module
        self.value_scale = network.value_scale

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = self.module(observation)
        return logits, values * self.value_scale


def as_torch(player: Player) -> Player:
    """Return a player whose network is one of PyTorch; that of a network of tinygrad is `modules.Dense`."""
    if player.network is not None:
        return player
    weights = {name: array.astype(np.float32) for name, array in player.weights.items()}
    blocks = sum(name.startswith("tower") for name in weights) // 4  # two weights, two biases
    arguments = {
        "hidden": len(weights["second.bias"]),
        "blocks": blocks,
        "channels": len(weights["first.bias"]),
        "tanh": player.activation == "tanh",
    }
    network = {"class": "tensor_envs.train.modules:Dense", "arguments": arguments}
    return player._replace(weights=weights, network=network)


def export_network(run: Path, target: str, out: Path | None = None) -> Path:
    """Write the network of a run to a file, and return its path.

    Args:
        run: folder of a run, file of weights, or id of a game whose weights come with the package.
        target: one of `TARGETS`.
        out: path of the file, which is replaced; None: beside the weights of a run, or else in the current folder.

    Raises:
        ImportError: a package that writes ONNX is not installed.
        FileNotFoundError: there are no such weights.
        ValueError: the weights do not fit.
        OSError: the file cannot be written.
    """
    player = as_torch(load(weights_file(run)))
    if out is None:
        out = run / f"network.{target}" if run.is_dir() else Path(f"{run.stem}.{target}")
    assert player.network is not None
    if target == "safetensors":
        save_imported(player.env, player.network, player.value_scale, player.weights, out)
        return out
    if "function" in player.network:
        raise ValueError(f"export to ONNX must be of a network of tinygrad or PyTorch, got {player.network}")
    need("onnxscript", "export to ONNX", "onnx")
    network = TorchNetwork(player.env, build(player.network, player.env), player.value_scale, "CPU")
    network.assign_weights(player.weights)
    with warnings.catch_warnings(action="ignore"):  # PyTorch 2.13 warns of its own calls
        program = torch.onnx.export(
            Exported(network).eval(),
            (torch.zeros(2, *player.env.observation_shape),),
            dynamo=True,
            verbose=False,
            input_names=["observation"],
            output_names=["logits", "values"],
            dynamic_shapes={"observation": {0: torch.export.Dim("batch")}},
        )
    program.model.metadata_props["tensor_envs"] = json.dumps(env_metadata(player.env))
    replace_file(out, [program.model_proto.SerializeToString()])
    return out
