"""Pages of the reference: mkdocstrings replaces each `:::` line by the docstring of the name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import tensor_envs as te
from tensor_envs import rules

# title of each page, and names by heading; "search.*" stands for the module's `__all__`
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "index": (
        "Environments and states",
        {
            "Environments": "make register registered GameEntry Env",
            "States": "State concat where save_state load_state",
            "Records of games": "Record record replay save_game load_game",
            "One game in plain Python": "debug ScalarGame",
            "Source of kernels": "inspect Inspection",
            "te.text": "text.*",
            "The conformance test": "testing.check_env",
        },
    ),
    "loops": (
        "Loops and rollouts",
        {
            "Loops": "VectorEnv Transition jit",
            "Policies": "masked_logits sample_action advantages",
            "Many steps in a kernel": "rollout rollout_from Rollout DecisionCounts playout",
            "Devices and processes": "shard Shard num_threads set_num_threads",
            "Arrays of other libraries": "to_numpy from_numpy to_torch from_torch to_dlpack from_dlpack",
            "Pictures and pages": "contact_sheet save_animation web.build",
        },
    ),
    "search": (
        "Search, players, solutions",
        {
            "te.search": "search.*",
            "te.agents": "agents.*",
            "te.lab": "lab.*",
            "Matches": "evaluate Evaluation arena Ratings regret PlayoutOracle",
            "Language models": "referee.*",
            "Counting and solving": "perft Perft solve Solution SearchSolution",
            "Hidden information": "game_tree GameTree equilibrium Equilibrium TabularPolicy exploitability "
            "best_response resolve exploitability_bound ExploitabilityBound",
        },
    ),
    "training": ("Training", {"te.train": "train.*"}),
    "adapters": (
        "Adapters",
        {
            "Gymnasium": "adapters.gymnasium.SingleAgentVectorEnv adapters.gymnasium.SingleAgentEnv",
            "Stable-Baselines3": "adapters.stable_baselines3.SingleAgentVecEnv",
            "TorchRL": "adapters.torchrl.SingleAgentTorchEnv",
            "RLlib": "adapters.rllib.MaskedEnv",
            "PettingZoo": "adapters.pettingzoo.env adapters.pettingzoo_parallel.parallel_env",
            "OpenSpiel": "adapters.open_spiel.register_games",
            "OpenEnv": "adapters.openenv.TextEnvironment adapters.openenv.GameClient adapters.openenv.application",
            "verifiers": "adapters.verifiers.load_environment adapters.verifiers.GameTasksetConfig",
        },
    ),
    "lines": ("Lines on custom boards", {"te.ops": "ops.*"}),
}
# modules of the language in import order: a name belongs to the first module that has it
LANGUAGE = {
    "scalar": "Numbers",
    "lists": "Lists and sets",
    "kernel": "Loops",
    "chance": "Chance",
    "observation": "Observations",
    "actions": "Actions",
    "spec": "Specification of a game",
    "grid": "Boards",
}


def language() -> str:
    """Return the page of all operations of the language of rules."""
    groups: dict[str, list[str]] = {heading: [] for heading in LANGUAGE.values()}
    for name in rules.__all__:
        modules = {heading: f"tensor_envs.rules.{module}" for module, heading in LANGUAGE.items()}
        heading = next(h for h, module in modules.items() if hasattr(importlib.import_module(module), name))
        groups[heading].append(f"rules.{name}")
    return page("The language of rules", groups)


def page(title: str, groups: Mapping[str, list[str]]) -> str:
    """Return a page from names below `tensor_envs` by heading."""
    lines = [f"# {title}"]
    for heading, names in groups.items():
        lines += [f"## {heading}", *map(directive, names)]
    return "\n\n".join(lines) + "\n"


def directive(name: str) -> str:
    """Return the `:::` line of a name, by the module that defines it."""
    module, _, last = name.rpartition(".")
    heading = last if module == "rules" else f"te.{name}"
    path, options = f"tensor_envs.{name}", f"heading: {heading}, toc_label: {last}"
    if not name.startswith("adapters."):  # adapters need packages
        target = getattr(public_module(module), last)
        path = f"{getattr(target, '__module__', 'typing')}.{getattr(target, '__qualname__', '')}"
        path = path if path.startswith("tensor_envs.") else f"tensor_envs.{name}"
        if any(base.__module__.startswith("tensor_envs._") for base in getattr(target, "__mro__", ())[1:]):
            options += ", inherited_members: true"  # a private base class has no page of its own
    return f"::: {path}\n    options: {{{options}}}"


def public_module(name: str) -> Any:
    """Return the package for "", an attribute of it that is a module, or a module that only an import loads."""
    if not name:
        return te
    known = inspect.ismodule(getattr(te, name, None))
    return getattr(te, name) if known else importlib.import_module(f"tensor_envs.{name}")


def named(group: str) -> Iterator[str]:
    for name in group.split():
        module, _, every = name.rpartition(".")
        if every == "*":
            yield from (f"{module}.{one}" for one in public_module(module).__all__)
        else:
            yield name


def pages() -> dict[str, Callable[[], str]]:
    """Return functions that return each page's text. Raise ValueError if a public name is on no page."""
    pages = {name: {h: list(named(g)) for h, g in groups.items()} for name, (_, groups) in GROUPS.items()}
    listed = {name for groups in pages.values() for names in groups.values() for name in names}
    listed |= {name.split(".")[0] for name in listed} | {name.rpartition(".")[2] for name in listed}
    if missing := sorted({*te.__all__} - listed - {*rules.__all__, "__version__"}):
        raise ValueError(f"{missing[0]!r} is on no page of the reference: add it to GROUPS")
    return {f"reference/{name}.md": partial(page, GROUPS[name][0], groups) for name, groups in pages.items()}
