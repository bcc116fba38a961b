"""Networks of PyTorch: evaluation for searches, and description in files.

A module maps observations, float32 [B, *observation_shape], to logits [B, A] and to values [B] of the player to move. A
file has the name of its class and its arguments, which are enough to construct it again. Nothing is unpickled.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._runtime.cuda import card_of, is_cuda
from tensor_envs._runtime.exchange import to_torch
from tensor_envs._validate import need, wrong_type
from tensor_envs.train.own_network import CHECKED, check_output, first_device, imported

try:
    import torch
except ImportError:
    raise ImportError("networks of PyTorch need it: pip install 'tensor_envs[torch]'") from None

if TYPE_CHECKING:
    from tensor_envs._runtime.devices import DeviceName
    from tensor_envs.envs.env import Env
    from tensor_envs.envs.state import State


class TorchNetwork:
    """Module of PyTorch as the network of a game.

    Attributes:
        env: the environment.
        module: the module, in evaluation mode.
        value_scale: return for which the module's value is 1.
        place: PyTorch's device: "cpu", or the card of the games; the first one if there are several.
        forward: callable that evaluates the module: the module itself, or a compiled one.
    """

    def __init__(
        self,
        env: Env,
        module: torch.nn.Module,
        value_scale: float,
        device: DeviceName | None,
        *,
        bfloat16: bool = False,
        compiled: bool = False,
    ):
        """Move a module to the games' device, and check its outputs on a few games.

        Args:
            env: the environment.
            module: the module.
            value_scale: return for which the module's value is 1.
            device: as in `Env.init`.
            bfloat16: whether PyTorch's autocast computes some operations in bfloat16; weights stay float32.
            compiled: whether `torch.compile` compiles the module, at the first call of each shape.

        Raises:
            TypeError: `module` is no module, has state that is no tensor, or does not return two tensors of a float
                dtype.
            ValueError: the module has floats of another dtype than float32, or returns wrong shapes or numbers that are
                not finite.
        """
        if not isinstance(module, torch.nn.Module):
            raise wrong_type("network", "None, a torch.nn.Module or a pair of a function and parameters", module)
        place = first_device(device)
        self.env = env
        self.value_scale = value_scale
        self.place = f"cuda:{card_of(place)}" if is_cuda(place) else "cpu"
        self.module = module.to(self.place).eval()
        self.forward = torch.compile(self.module) if compiled else self.module
        # No cache of converted weights: all threads share it, and a call in one thread empties it for the others.
        self.precision = {"dtype": torch.bfloat16, "enabled": bfloat16, "cache_enabled": False}
        for name, tensor in module.state_dict().items():
            if not isinstance(tensor, torch.Tensor):  # `get_extra_state` may return any object.
                raise wrong_type(f"the network's state {name!r}", "a torch.Tensor", tensor)
            if tensor.is_floating_point() and tensor.dtype is not torch.float32:
                raise ValueError(f"network must have weights of float32, got {tensor.dtype} for {name!r}")
        observation = to_torch(env.observe(env.init(CHECKED, device=place))).to(self.place)
        with torch.inference_mode():
            check_output(env, self.module(observation.float()), torch.Tensor)

    def __call__(self, observation: torch.Tensor, forward: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the module's logits [B, A] and values [B], float32.

        Args:
            observation: numbers or bools, [B, n].
            forward: callable to use in place of the attribute `forward`.
        """
        # A copy, since a module may change its input in place, and the observations may be read again.
        planes = observation.reshape(-1, *self.env.observation_shape).to(torch.float32, copy=True)
        with torch.autocast(planes.device.type, **self.precision):
            logits, value = self.forward(planes) if forward is None else forward(planes)
        return logits.float(), value.float()

    def evaluate(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """Evaluate positions for a search: logits [B, A], and returns [B] or, for every player, [B, P]."""
        players = self.env.num_players
        with torch.inference_mode():
            logits, value = self(to_torch(self.env.observe(state)).to(self.place))
            value = value * self.value_scale
            if players == 1 or (players == 2 and self.env.spec.zero_sum):
                return logits, value
            # The other players share the negated value equally, which is an approximation.
            mover = to_torch(state.current_player).to(self.place)[:, None] == torch.arange(players, device=self.place)
            return logits, torch.where(mover, value[:, None], -value[:, None] / (players - 1))

    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the module's parameters and buffers by name."""
        return {name: to_array(tensor) for name, tensor in self.module.state_dict().items()}

    def assign_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Assign arrays to parameters and buffers. ValueError, which names an array, if names or shapes differ."""
        own = {name: tuple(tensor.shape) for name, tensor in self.module.state_dict().items()}
        if wrong := sorted({*own.items()} ^ {(name, array.shape) for name, array in arrays.items()}):
            name, _ = wrong[0]
            got = arrays[name].shape if name in arrays else "none"
            raise ValueError(f"{name!r} must have shape {own.get(name)}, got {got}")
        self.module.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return a copy of a tensor as an array."""
    return np.array(tensor.detach().cpu().numpy())


def architecture_of(module: torch.nn.Module) -> dict[str, Any]:
    """Return the name of a module's class and its arguments, from which `build` constructs the module again.

    The value of each argument is the module's attribute of this name. `env` is no argument in the file.

    Raises:
        ValueError: the class cannot be imported by its name, or an argument is missing.
        TypeError: an argument is no plain value.
    """
    kind = type(module)
    name = f"{kind.__module__}:{kind.__qualname__}"
    if imported_class(name) is not kind:
        raise ValueError(f"network must be of a class that can be imported by its name, and {name!r} is another one")
    arguments = {}
    for parameter in inspect.signature(kind).parameters.values():
        key = parameter.name
        if key == "env":
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"network must be of a class whose arguments have names, got {name!r} with {parameter}")
        if not hasattr(module, key):
            raise ValueError(f"network must have its argument {key!r} as an attribute, so that a file can name it")
        value = getattr(module, key)
        if value is not None:  # TOML has no null.
            arguments[key] = _plain(f"network.{key}", value)
    return {"class": name, "arguments": arguments}


def _plain(name: str, value: Any) -> Any:
    """Return a value in JSON's types. TypeError for anything but numbers, str, bool, and lists or tuples of these."""
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if not isinstance(value, (bool, int, float, str)):
        raise wrong_type(name, "a number, str, bool or a list of them, since it is an argument of the class", value)
    return value


def imported_class(name: str) -> Any:
    """Return the class of modules with the name "package.module:Class". ValueError if there is none."""
    kind = imported(name)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise ValueError(f"network must name a class of torch.nn.Module, got {name!r}")
    return kind


def build(architecture: Mapping[str, Any], env: Env, seed: int = 0) -> torch.nn.Module:
    """Construct a module from the name of its class and its arguments.

    Args:
        architecture: name and arguments, as from `architecture_of`.
        env: the environment, which is passed to a class with a parameter `env`.
        seed: seed of the initial weights.

    Raises:
        ValueError: the class cannot be imported, or does not take the arguments.
    """
    kind = imported_class(architecture["class"])
    arguments = dict(architecture["arguments"])
    if "env" in inspect.signature(kind).parameters:
        arguments["env"] = env
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            return kind(**arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(f"network {architecture['class']!r} cannot be constructed for {env!r}: {error}") from None


class Exported(torch.nn.Module):  # type: ignore[misc] # PyTorch has no types where it is not installed
    """Module of an exported file, from float32 observations to logits [B, A] and values [B], which are returns."""

    def __init__(self, network: TorchNetwork):
        super().__init__()
        self.module = network.module
        self.value_scale = network.value_scale

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = self.module(observation)
        return logits, values * self.value_scale


def onnx_model(network: TorchNetwork) -> Any:
    """Return the ONNX model of a network, `onnx.ModelProto`. ImportError if the extra `onnx` is not installed."""
    need("onnxscript", "export to ONNX", "onnx")
    with warnings.catch_warnings(action="ignore"):  # PyTorch 2.13 warns about its own calls.
        program = torch.onnx.export(
            Exported(network).eval(),
            (torch.zeros(2, *network.env.observation_shape),),
            dynamo=True,
            verbose=False,
            input_names=["observation"],
            output_names=["logits", "values"],
            dynamic_shapes={"observation": {0: torch.export.Dim("batch")}},
        )
    return program.model_proto
