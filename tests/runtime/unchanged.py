"""Run everything and print a list of tinygrad's attributes that have changed."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tinygrad import Device, Tensor
from tinygrad.helpers import ContextVar

DEVICES = "CPU", "PYTHON"
MODULES = "codegen engine.jit engine.realize nn.optim renderer.cstyle renderer.llvmir renderer.wgsl runtime.ops_cpu"
MODULES += " runtime.ops_python runtime.ops_null"

# attributes that tinygrad itself assigns while it runs
COUNTERS = {"GlobalCounters", "Buffer", "UOpMetaClass"}


def owners() -> Iterator[tuple[str, Any]]:
    """Yield tinygrad's modules, classes, opened devices and renderers by name."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "tinygrad" and "autogen" not in name:
            yield name, module
            for one in list(vars(module).values()):
                if isinstance(one, type) and one.__module__ == name and one.__name__ not in COUNTERS:
                    yield f"{name}.{one.__qualname__}", one
    for device in sorted(Device._opened_devices):
        opened = Device[device]
        yield from {device: opened, f"{device} renderer": opened.renderer}.items()
        yield f"{device} compiler", opened.renderer.compiler
        yield f"{device} allocator", opened.allocator


def snapshot() -> dict[str, Any]:
    """Return the attributes, and the entries of dictionaries of classes and objects, by name."""
    attributes: dict[str, Any] = {f"environment {key}": value for key, value in os.environ.items()}
    for name, owner in owners():
        for key, value in vars(owner).items():
            attributes[f"{name}.{key}"] = value
            if isinstance(value, dict) and not isinstance(owner, ModuleType):
                attributes |= {f"{name}.{key}[{entry!r}]": x for entry, x in value.items()}
    for name, setting in ContextVar._cache.items():
        attributes[f"setting {name}"] = setting.value
    return attributes


def run_everything(every: bool) -> None:
    """Use the package; `every` launches all forms of its kernels."""
    import tensor_envs as te
    from tests.engine import every_kernel

    env = te.make("tic_tac_toe")
    if every:
        every_kernel.use(env)
    te.make("kuhn_poker").init(2, device=DEVICES[1])
    weights = Tensor.ones(math.prod(env.observation_shape), env.num_actions).contiguous().realize()

    def evaluate(state: te.State) -> tuple[Tensor, Tensor]:
        seen = env.observe(state).flatten(1).float()
        return seen @ weights, seen.mean(1).tanh()

    state, vector = env.init(70), te.VectorEnv(env, 70, observe=True)
    vector.step_uniform()
    vector.step(te.agents.uniform(vector.state).numpy())
    vector.numpy()
    te.jit(lambda state: env.step(state, te.agents.uniform(state)))(state)
    te.rollout_from(env.take(state, range(70)), "uniform", 4)
    te.search.playout_policy(state, 2, limit=4)
    te.search.gumbel_muzero_policy(state, evaluate, 2).action.numpy()
    if every:
        te.search.muzero_policy(state, evaluate, 2).action.numpy()
    te.to_numpy(state.ply)


def main() -> None:
    for module in MODULES.split():
        importlib.import_module(f"tinygrad.{module}")
    for device in DEVICES:
        assert Device[device].renderer.compiler and Device[device].allocator
    before = snapshot()
    run_everything("every" in sys.argv)
    after = snapshot()
    assert len(before) > 3000, "too little was compared"
    missing = object()
    same = {name for name, x in before.items() if (y := after.get(name, missing)) is x or (type(x) is str and x == y)}
    print(sorted(before.keys() - same))


if __name__ == "__main__":
    main()
