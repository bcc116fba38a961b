"""Captured calls: the only place where `TinyJit` is used, with its hazards kept away from everybody else.

What TinyJit does not do and is done here: containers such as a `State` are flattened into tensors and rebuilt; every
call is checked against shapes, dtypes and devices, since a capture replayed with other sizes reads out of bounds;
inputs that are no plain buffers are made so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, TinyJit
from tinygrad.engine import realize
from tinygrad.helpers import GlobalCounters
from tinygrad.uop.ops import Ops, UOp, buffers


def is_capturing() -> bool:
    """Whether somebody's TinyJit is recording: what is called now must stay lazy."""
    return bool(realize.capturing)


def buffer_of(t: Tensor) -> UOp | None:
    """The realised buffer that a tensor is, whole and in order; None if it is anything else."""
    u = t.uop
    if u.op is Ops.UNSHARD:
        u = u.src[0]
    while u.op is Ops.RESHAPE:
        u = u.src[0]
    return u if u.op is Ops.BUFFER and u.is_realized else None


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Capture a function of States, Tensors and plain values (nested in tuples or lists) and replay it as one graph.

    The first call for a signature (structure, shapes, dtypes, devices, plain values) runs the function, the second
    captures it, later ones replay. Like TinyJit's, the results stand in buffers of the capture: they are valid until
    the next call of the same function, which may take them as its arguments.
    """
    captures: dict[Any, tuple[Any, list[Any]]] = {}

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        leaves: list[Tensor] = []
        structure = _flatten((arguments, tuple(sorted(named.items()))), leaves)
        if structure not in captures:
            results: list[Any] = []

            def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
                positional, keywords = _rebuild(structure, tensors)
                # a capture would give back the argument of its own call: what is passed through is not its business
                outputs = list(tensors)
                results[:] = [_flatten(function(*positional, **dict(keywords)), outputs)]
                return tuple(outputs[len(tensors) :])

            captures[structure] = TinyJit(flat), results
        captured, results = captures[structure]
        outputs = captured(*leaves)  # running the function, it fills `results`
        return _rebuild(results[0], [*leaves, *outputs])

    return call


def _flatten(value: Any, leaves: list[Tensor]) -> Any:
    """Append the tensors of a value to `leaves`, unless they are there -> its structure, in which they are numbered."""
    if isinstance(value, Tensor):
        known = next((i for i, leaf in enumerate(leaves) if leaf.uop is value.uop), len(leaves))
        if known == len(leaves):
            leaves.append(value)
        return "tensor", known, tuple(value.shape), value.dtype, value.device
    if hasattr(value, "__flatten__"):
        about, tensors = value.__flatten__()
        return "object", type(value), about, _flatten(tensors, leaves)
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *(_flatten(item, leaves) for item in value)
    try:
        hash(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(
            f"a jitted function takes States, Tensors, tuples, lists and plain values, got {kind}"
        ) from None
    return "plain", type(value), value


def _rebuild(structure: Any, leaves: Sequence[Tensor]) -> Any:
    kind, *rest = structure
    if kind == "tensor":
        return leaves[rest[0]]
    if kind == "object":
        return rest[0].__unflatten__(rest[1], _rebuild(rest[2], leaves))
    if kind == "plain":
        return rest[1]
    items = (_rebuild(item, leaves) for item in rest)
    return tuple(items) if kind == "tuple" else list(items)


class Replay:
    """A function of tensors that writes into some of them, captured at its first call and replayed after it.

    The arguments must be whole buffers, of the same shapes, dtypes and devices in every call (the caller's cache key);
    which of them are written is up to the function. A TinyJit call inspects its arguments for hundreds of microseconds,
    a replay does not; a capture that is one kernel on one device is launched directly.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.run: Callable[[Sequence[Tensor]], Any] | None = None

    def __call__(self, *tensors: Tensor) -> None:
        if self.run is not None:
            self.run(tensors)
            return
        jit = TinyJit(self.function)
        jit.cnt = 1  # capture at once: TinyJit's first call would only run, and a call must take effect once
        jit(*tensors)
        captured: Any = jit.captured
        self.run = _single_kernel(captured.linear) or (lambda ts: captured([buffer_of(t) for t in ts], {}))


def _single_kernel(graph: UOp) -> Callable[[Sequence[Tensor]], None] | None:
    """A captured graph that is one kernel on one device, as a call of its program; None if it is anything else.

    tinygrad resolves, checks and counts at every call of a graph for about 70 us; a small batch's kernel takes 10.
    """
    if len(graph.src) != 1 or graph.src[0].src[0].op is not Ops.PROGRAM:
        return None
    call, program = graph.src[0], graph.src[0].src[0]
    parameters, device = realize.get_call_arg_uops(call), call.src[1].device
    if not isinstance(device, str) or any(p.op is not Ops.PARAM for p in parameters):
        return None
    slots = [parameters[n].arg.slot for n in program.arg.globals]
    run = realize.get_runtime(device, program)
    size: Any = realize.estimate_uop(call).mem
    (groups, threads), values = program.arg.launch_dims({}), program.arg.vals({})

    def launch(tensors: Sequence[Tensor]) -> None:
        memory: list[Any] = []
        for slot in slots:
            u = tensors[slot].uop
            while u.op is Ops.RESHAPE:
                u = u.src[0]
            buffer: Any = buffers[u]  # KeyError: no buffer, which the caller promised
            memory.append(buffer.get_buf(device))
        run(*memory, global_size=groups, local_size=threads, vals=values)
        GlobalCounters.kernel_count += 1
        GlobalCounters.global_mem += size

    return launch
