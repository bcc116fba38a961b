"""Trained networks as files of other programs: safetensors for PyTorch, and ONNX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tensor_envs.envs.registry import env_metadata
from tensor_envs.files.arrays import replace_file
from tensor_envs.train.metrics_file import METRICS
from tensor_envs.train.network import WEIGHTS, Player, load, save_imported, weights_file
from tensor_envs.train.run import CHECKPOINT, CONFIG, CURVES

TARGETS = ("safetensors", "onnx")
RUN_FILES = (CONFIG, METRICS, CHECKPOINT, WEIGHTS, CURVES)


def as_torch(player: Player) -> Player:
    """Return a player whose network is no longer one of tinygrad, but `modules.Dense` of PyTorch."""
    if player.network is not None:
        return player
    weights = {name: array.astype(np.float32) for name, array in player.weights.items()}
    blocks = sum(name.startswith("tower") for name in weights) // 4  # two weights, two biases
    arguments = {
        "hidden": len(weights["second.bias"]),
        "blocks": blocks,
        "channels": len(weights["first.bias"]),
        "tanh": player.activation == "tanh",
        "action_planes": len(weights.get("local.bias", ())),
    }
    network = {"class": "tensor_envs.train.modules:Dense", "arguments": arguments}
    return player._replace(weights=weights, network=network)


def export_network(run: Path, target: str, out: Path | None = None) -> Path:
    """Write the network of a run to a file, and return its path.

    Args:
        run: folder of a run, file of weights, or id of a game whose weights come with the package.
        target: one of `TARGETS`.
        out: path of the file, which is replaced unless it is one of the run; None: beside the weights of a run, or else
            in the current folder.

    Raises:
        ImportError: a package that writes ONNX is not installed.
        FileNotFoundError: there are no such weights.
        ValueError: the weights do not fit, or `out` is the file of weights or another file of the run.
        OSError: the file cannot be written.
    """
    source = weights_file(run)
    player = as_torch(load(source))
    if out is None:
        out = run / f"network.{target}" if run.is_dir() else Path(f"{run.stem}.{target}")
    # A run needs its files to continue, and the exported network is one of another library.
    if out.resolve() in (path.resolve() for path in (source, *map(source.with_name, RUN_FILES))):
        raise ValueError(f"out must be another file than those of the run, got {str(out)!r}")
    assert player.network is not None
    if target == "safetensors":
        save_imported(player.env, player.network, player.value_scale, player.weights, out)
        return out
    model = onnx_model(player)
    model.metadata_props.add(key="tensor_envs", value=json.dumps(env_metadata(player.env)))
    replace_file(out, [model.SerializeToString()])
    return out


def onnx_model(player: Player) -> Any:
    """Return the ONNX model of a player of PyTorch or JAX, `onnx.ModelProto`."""
    network = player.network
    assert network is not None
    if "function" in network:
        from tensor_envs.train import jax_network  # only these networks need JAX

        pair = jax_network.build(network, player.weights)
        return jax_network.onnx_model(jax_network.JaxNetwork(player.env, pair, player.value_scale, "CPU"))
    from tensor_envs.train import torch_network  # and these PyTorch

    module = torch_network.build(network, player.env)
    of_torch = torch_network.TorchNetwork(player.env, module, player.value_scale, "CPU")
    of_torch.assign_weights(player.weights)
    return torch_network.onnx_model(of_torch)
