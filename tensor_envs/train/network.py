"""Network of the players that come with the package, and its files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor, nn
from tinygrad.helpers import TRAINING

from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.launch import realize
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import integer, number, one_of, shown
from tensor_envs.envs.registry import env_metadata, env_of
from tensor_envs.envs.sampling import masked_logits
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.train import fused, fused_gpu
from tensor_envs.train.architecture import Architecture, board_shape, planes_of_actions
from tensor_envs.train.fused_source import TYPES

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.envs.state import State
    from tensor_envs.search.outputs import Evaluate

# the older one names no activation
FORMAT = "tensor_envs network 2"
TANH_FORMAT = "tensor_envs network 1"
IMPORTED_FORMAT = "tensor_envs imported network 1"
WEIGHTS = "weights.safetensors"  # in the folder of a run
ACTIVATIONS = ("relu", "tanh")
HALF_MAX = float(np.finfo(np.float16).max)
FOLDER = Path(__file__).parents[1] / "weights"  # weights of the package: files <id of the game>.safetensors


class LayerWeights(NamedTuple):
    """Weights [inputs, outputs], for a convolution [3 * 3 * inputs, outputs], and biases [outputs] of a layer."""

    matrix: Tensor
    bias: Tensor


class Network:
    """Network of two hidden layers from the observation to log-probabilities [B, A] and values [B].

    With `blocks`, a residual tower replaces the first layer: a 3x3 convolution, then blocks of two convolutions. It
    also adds a local policy to the logits, see `Architecture`. On the CPU one kernel of the package evaluates all
    layers, and one computes their gradients. On a GPU kernels of the package evaluate networks without a tower, one for
    each layer; tinygrad's do the rest.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state, network = env.init(2), te.train.Network(env, hidden=8)
        >>> logits, values = network(env.observe(state).flatten(1).float(), state.legal_action_mask)
        >>> logits.shape, values.shape
        ((2, 9), (2,))
    """

    def __init__(
        self,
        env: Env,
        hidden: int = 128,
        blocks: int = 0,
        channels: int = 32,
        *,
        activation: str = "relu",
        weights: dict[str, np.ndarray] | None = None,
        seed: int | None = None,
        device: DeviceName | None = None,
    ):
        """Build the layers with random weights, or with given ones, which also define the sizes.

        Args:
            env: the environment.
            hidden: width of the hidden layers.
            blocks: number of residual blocks; 0 for none.
            channels: channels of the tower.
            activation: "relu" or "tanh", of the hidden layers and of the first convolution.
            weights: initial weights by name.
            seed: seed of the random weights, 0..2^63-1; None for others in every call.
            device: as in `Env.init`; None leaves the weights on the default device.

        Raises:
            ValueError: a size out of range, blocks for an observation of fewer than three dimensions, weights that do
                not fit, or another activation.
            TypeError: `activation` is no string, or a size or `seed` no integer.
        """
        hidden, blocks, channels = (
            integer(name, size, low, 2**20)
            for name, size, low in (("hidden", hidden, 1), ("blocks", blocks, 0), ("channels", channels, 1))
        )
        self.activation = one_of("activation", activation, ACTIVATIONS)
        self.architecture = _architecture(env, hidden, blocks, channels, activation, weights)
        shapes = self._shapes()
        own = {f"{name}.weight": shape for name, shape in shapes.items()}
        own |= {f"{name}.bias": shape[:1] for name, shape in shapes.items()}
        open_device(device)  # opens the device with the package's compiler, for tinygrad's kernels too
        # Shapes are compared as a whole, since one wrong size changes several of them.
        if weights is None:
            weights = _random_weights(shapes, None if seed is None else integer("seed", seed, 0, 2**63 - 1))
        elif {k: w.shape for k, w in weights.items()} != own:
            raise ValueError(f"their shapes are not those of a network for {env!r}")

        def tensor(array: np.ndarray) -> Tensor:
            values = Tensor(np.ascontiguousarray(array, np.float32))
            if device is None:
                return values
            return values.to(device) if isinstance(device, str) else values.shard(device)

        # Matrices are kept transposed, [inputs, outputs], as the kernels read them.
        self.layers = {
            name: LayerWeights(tensor(self._matrix(name, weights[f"{name}.weight"])), tensor(weights[f"{name}.bias"]))
            for name in shapes
        }
        # realised here, so that a capture reads them
        realize(*nn.state.get_parameters(self.layers))

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights by layer, [outputs, inputs] or [outputs, inputs, n, n].

        Names and shapes are those of PyTorch's layers, so that weights can be exchanged.
        """
        net = self.architecture
        hidden = net.hidden[0]
        actions = net.heads[0]
        shapes: dict[str, tuple[int, ...]] = {}
        if net.blocks:
            shapes["first"] = net.channels, net.inputs // net.cells, 3, 3
            shapes |= {f"tower.{k}": (net.channels, net.channels, 3, 3) for k in range(2 * net.blocks)}
            shapes["second"] = hidden, net.channels * net.cells
        else:
            shapes |= {"first": (hidden, net.inputs), "second": (hidden, hidden)}
        shapes |= {"policy": (actions, hidden), "value": (1, hidden)}
        if net.action_planes:
            shapes["local"] = net.action_planes, net.channels, 1, 1
        return shapes

    def _matrix(self, name: str, weight: np.ndarray) -> np.ndarray:
        """Return a layer's weights [outputs, inputs] or [outputs, inputs, n, n] as a matrix [n * n * inputs, outputs].

        The features of a board are [channels, cells] in files, [cells, channels] here.
        """
        if self.architecture.blocks and name == "second":
            weight = weight.reshape(len(weight), -1, self.architecture.cells).transpose(2, 1, 0)
        else:
            weight = weight.transpose((2, 3, 1, 0) if weight.ndim == 4 else (1, 0))
        return weight.reshape(-1, weight.shape[-1])

    def parameters(self) -> dict[str, Tensor]:
        """Return the tensors that the network is computed from, for optimisers and checkpoints."""
        return nn.state.get_state_dict(self.layers)

    def matrices(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return weights by name in the form of `parameters`."""
        named = {f"{name}.matrix": self._matrix(name, weights[f"{name}.weight"]) for name in self.layers}
        return named | {f"{name}.bias": weights[f"{name}.bias"] for name in self.layers}

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name as `save` writes them, [outputs, inputs] and [outputs, inputs, n, n]; lazy."""
        result = {}
        for name, layer in self.layers.items():
            result[f"{name}.weight"] = self._weight(name).contiguous()
            result[f"{name}.bias"] = layer.bias
        return result

    def _weight(self, name: str) -> Tensor:
        matrix = self.layers[name].matrix
        net = self.architecture
        outputs = matrix.shape[1]
        if not net.blocks or name in ("policy", "value"):
            return matrix.T
        if name == "second":
            return matrix.reshape(net.cells, net.channels, outputs).permute(2, 1, 0).reshape(outputs, -1)
        side = 1 if name == "local" else 3
        return matrix.reshape(side, side, -1, outputs).permute(3, 2, 0, 1)

    def __call__(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return masked log-probabilities [B, A] and values [B] for observations [B, n] of numbers or bools.

        There is no gradient with respect to the observations. As of any Tensor, `gradient` comes before `realize`:
        tinygrad gives zeros for what is computed from realised outputs.

        Raises:
            ValueError: an observation or a mask on another device than the weights.
        """
        device = self.layers["policy"].bias.device
        for name, tensor in (("observation", observation), ("mask", mask)):
            if tensor.device not in (device, None):
                raise ValueError(f"{name} must be on the network's device {device!r}, got {tensor.device!r}")
        if observation.dtype not in TYPES:
            observation = observation.float()
        weights = [x for layer in self.layers.values() for x in (layer.matrix, layer.bias)]
        if fused_gpu.is_layered(self.architecture, observation):
            return fused_gpu.evaluate(self.architecture, observation, mask, weights)
        if not fused.is_fused(self.architecture, observation):
            # stored: otherwise tinygrad 0.14 converts within the product, once for every unit
            return self._by_tinygrad(self._stored(observation.float()), mask)
        logs, values = fused.evaluate(self.architecture, observation, mask, weights, bool(TRAINING))
        return logs, values

    def _by_tinygrad(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate by tinygrad's operations."""
        activation = Tensor.relu if self.activation == "relu" else Tensor.tanh
        features = observation
        if self.architecture.blocks:
            planes, _ = self.architecture.convolutions[0]
            boards = observation.reshape(-1, planes, *self.architecture.board)

            def convolution(name: str, x: Tensor) -> Tensor:
                return x.conv2d(self._weight(name), self.layers[name].bias, padding=1)

            features = self._stored(activation(convolution("first", boards)))
            for k in range(0, 2 * self.architecture.blocks, 2):
                inner = self._stored(convolution(f"tower.{k}", features).relu())
                features = self._stored((features + convolution(f"tower.{k + 1}", inner)).relu())
            boards = features
            features = features.permute(0, 2, 3, 1).flatten(1)
        for name in ("second",) if self.architecture.blocks else ("first", "second"):
            features = self._stored(activation(features.linear(*self.layers[name])))
        logits = features.linear(*self.layers["policy"])
        if self.architecture.action_planes:
            local = boards.conv2d(self._weight("local"), self.layers["local"].bias).flatten(1)
            logits = logits + local.pad((None, (0, logits.shape[1] - local.shape[1])))
        logits = masked_logits(logits, mask)
        return logits.log_softmax(), features.linear(*self.layers["value"]).squeeze(1)

    def _stored(self, features: Tensor) -> Tensor:
        """Write features to memory, where convolutions and gradients would otherwise recompute them for every use."""
        return features.contiguous() if self.architecture.blocks or TRAINING else features


def _architecture(
    env: Env, hidden: int, blocks: int, channels: int, activation: str, weights: Mapping[str, np.ndarray] | None
) -> Architecture:
    """Return the sizes of a network. Given weights define them, so that a file needs no other description.

    Raises:
        ValueError: a layer without weights, blocks for an observation of fewer than three dimensions, or a local policy
            for more actions than there are.
    """
    if weights is not None:
        if missing := [f"{name}.bias" for name in ("first", "second") if f"{name}.bias" not in weights]:
            raise ValueError(f"weights must have {missing[0]!r}, got {shown(list(weights))}")
        hidden = len(weights["second.bias"])
        channels = len(weights["first.bias"])
        blocks = sum(name.startswith("tower") for name in weights) // 4  # two weights, two biases
    inputs = math.prod(env.observation_shape)
    heads = (env.num_actions, 1)
    if not blocks:
        return Architecture(inputs, (hidden, hidden), heads, activation)
    try:
        _, rows, columns = board_shape(env.observation_shape)
    except ValueError as error:
        raise ValueError(f"blocks must be 0 for {env!r}, got {blocks}: {error}") from None
    # Towers of earlier versions have no local policy.
    given = None if weights is None else len(weights.get("local.bias", ()))
    action_planes = planes_of_actions(env.num_actions, rows * columns, given)
    # A tower stands for the first hidden layer.
    return Architecture(inputs, (hidden,), heads, activation, (rows, columns), channels, blocks, action_planes)


def _random_weights(shapes: Mapping[str, tuple[int, ...]], seed: int | None) -> dict[str, np.ndarray]:
    """Return weights and biases of layers, uniform in +-1 / sqrt(inputs of a unit)."""
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in shapes.items():
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        weights[f"{name}.weight"] = random.uniform(-bound, bound, shape).astype(np.float32)
        weights[f"{name}.bias"] = random.uniform(-bound, bound, shape[:1]).astype(np.float32)
    for name in ("policy.weight", "local.weight"):
        if name in weights:
            weights[name] *= 0.01  # the initial policy is nearly uniform
    return weights


def network_inputs(env: Env, state: State) -> tuple[Tensor, Tensor]:
    """Return observations, float32 [B, n], and masks, bool [B, A], of the players to move."""
    return env.observe(state).flatten(1).float().contiguous(), state.legal_action_mask.contiguous()


def evaluator(
    env: Env, network: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], value_scale: float = 1.0
) -> Evaluate:
    """Return an evaluation for searches; its values are [B] for one player or two with zero sum, else [B, P].

    Args:
        env: the environment.
        network: the network, or another function of observations [B, n] and masks [B, A] to logits and values [B].
        value_scale: return that the network gives as a value of 1, above 0.

    Raises:
        ValueError, TypeError: `value_scale` is not above 0, or no number.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> evaluate = te.train.evaluator(env, te.train.Network(env, hidden=8))
        >>> te.search.gumbel_muzero_policy(env.init(2), evaluate, num_simulations=4).action.shape
        (2,)
    """
    spec = env.spec
    value_scale = number("value_scale", value_scale, 1e-12, 1e12)

    def evaluate(state: State) -> tuple[Tensor, Tensor]:
        logits, value = network(env.observe(state).flatten(1), state.legal_action_mask)
        value = value if value_scale == 1 else value * value_scale
        if spec.num_players == 1 or (spec.num_players == 2 and spec.zero_sum):
            return logits, value
        # the other players share the negated value equally: exact only in zero-sum games
        mover = state.current_player.reshape(-1, 1) == Tensor.arange(spec.num_players).reshape(1, -1)
        return logits, mover.where(value.reshape(-1, 1), -value.reshape(-1, 1) / (spec.num_players - 1))

    return evaluate


class Player(NamedTuple):
    """Content of a file of weights.

    Attributes:
        env: the environment.
        weights: the weights by name, float16 for a network of tinygrad.
        activation: the activation of the hidden layers of a network of tinygrad.
        network: name ("class") and "arguments" of a class of PyTorch, or name of a "function" of JAX; None for a
            network of tinygrad.
        value_scale: return that a network of PyTorch or JAX gives as a value of 1.
    """

    env: Env
    weights: dict[str, np.ndarray]
    activation: str
    network: dict[str, Any] | None = None
    value_scale: float = 1.0

    def evaluator(self, device: DeviceName | None = None) -> Evaluate:
        """Return the network's evaluation for searches on a device."""
        if self.network is None:
            network = Network(self.env, weights=self.weights, activation=self.activation, device=device)
            return evaluator(self.env, network)
        if "function" in self.network:
            from tensor_envs.train import jax_network  # JAX is optional

            pair = jax_network.build(self.network, self.weights)
            return jax_network.JaxNetwork(self.env, pair, self.value_scale, device).evaluate
        from tensor_envs.train import torch_network  # PyTorch is optional

        module = torch_network.build(self.network, self.env)
        made = torch_network.TorchNetwork(self.env, module, self.value_scale, device)
        made.assign_weights(self.weights)
        return made.evaluate


def save(env: Env, weights: Mapping[str, Tensor | np.ndarray], path: str | Path, activation: str = "relu") -> None:
    """Write weights in half precision, with the environment and the activation, to a safetensors file.

    Args:
        env: the environment.
        weights: the weights by name.
        path: path of the file; an existing one is replaced.
        activation: "relu" or "tanh", as in `Network`.

    Raises:
        TypeError, ValueError: another activation, or a weight that is NaN or beyond the range of half precision.
        OSError: the file cannot be written.
    """
    with np.errstate(over="ignore"):
        arrays = {k: (to_numpy(w) if isinstance(w, Tensor) else w).astype(np.float16) for k, w in weights.items()}
    if wide := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise ValueError(f"weights must be in +-{HALF_MAX:g}, the range of half precision, got others in {wide}")
    sizes = {name: list(array.shape) for name, array in arrays.items()}
    metadata = {"activation": one_of("activation", activation, ACTIVATIONS), "sizes": sizes}
    write_arrays(path, FORMAT, env_metadata(env) | metadata, arrays)


def save_imported(
    env: Env, network: dict[str, Any], value_scale: float, weights: Mapping[str, np.ndarray], path: str | Path
) -> None:
    """Write the weights of a network of PyTorch or JAX, with its name, to a safetensors file.

    Raises:
        OSError: the file cannot be written.
    """
    metadata = {"network": network, "value_scale": value_scale}
    write_arrays(path, IMPORTED_FORMAT, env_metadata(env) | metadata, weights)


def weights_file(path: Path) -> Path:
    """Return the file of weights of a run's folder, or of a game whose weights come with the package.

    Raises:
        FileNotFoundError: there is neither a file, a folder with weights, nor a game of this name.
    """
    if path.is_file():
        return path
    folder = path.parent if path.name == WEIGHTS else path
    if folder.is_dir():
        if not (folder / WEIGHTS).is_file():
            hint = "the command of a run writes it from the folder's checkpoint, if there is one"
            raise FileNotFoundError(f"{str(folder)!r} has no {WEIGHTS}; {hint}")
        return folder / WEIGHTS
    packaged = FOLDER / f"{path}.safetensors"
    if not packaged.is_file():
        ids = ", ".join(sorted(path.stem for path in FOLDER.glob("*.safetensors")))
        raise FileNotFoundError(f"no file {str(path)!r}; games whose weights come with the package: {ids}")
    return packaged


def load(path: str | Path) -> Player:
    """Return the content of a file of weights: by `save`, or of a network of PyTorch or JAX.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file of another kind, or of another version of the game; the network that it names cannot be
            imported, or its weights do not fit.
    """
    metadata, stored = read_arrays(path, FORMAT, TANH_FORMAT, IMPORTED_FORMAT)
    weights = {name: np.array(array) for name, array in stored.items()}  # copies of the mapped file
    try:
        env = env_of(metadata)
        player = Player(
            env, weights, metadata.get("activation", "tanh"), metadata.get("network"), metadata.get("value_scale", 1.0)
        )
        player.evaluator()
    except (KeyError, TypeError, AttributeError, ValueError, ImportError, ZeroDivisionError) as error:
        raise ValueError(f"{str(path)!r} has no weights that fit: {str(error)[:240]}") from None
    return player
