"""The reference, from docstrings: which name stands on which page. mkdocstrings writes what `:::` names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import tensor_envs as te
from tensor_envs import rules

# by page its title, and names by heading; "search.*" is all that the module says it has
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "index": (
        "Environments and states",
        {
            "Environments": "make register registered GameEntry Env",
            "States": "State concat where save_state load_state",
            "One game in plain Python": "debug ScalarGame",
            "te.text": "text.*",
            "The conformance test": "testing.check_env",
        },
    ),
    "loops": (
        "Loops and rollouts",
        {
            "Loops": "VectorEnv Transition jit",
            "Policies": "masked_logits sample_action advantages",
            "Many steps in a kernel": "rollout rollout_from Rollout playout",
            "Devices and processes": "shard Shard num_threads set_num_threads",
            "Arrays of other libraries": "to_numpy from_numpy to_torch from_torch",
            "Pictures and pages": "contact_sheet save_animation web.build",
        },
    ),
    "search": (
        "Search, players, solutions",
        {
            "te.search": "search.*",
            "te.agents": "agents.*",
            "Matches": "evaluate Evaluation arena Ratings regret",
            "Counting and solving": "perft Perft solve Solution",
        },
    ),
    "adapters": (
        "Adapters",
        {
            "Gymnasium": "adapters.gymnasium.SingleAgentVectorEnv adapters.gymnasium.SingleAgentEnv",
            "Stable-Baselines3": "adapters.stable_baselines3.SingleAgentVecEnv",
            "TorchRL": "adapters.torchrl.SingleAgentTorchEnv",
            "RLlib": "adapters.rllib.MaskedEnv",
            "PettingZoo": "adapters.pettingzoo.env adapters.pettingzoo_parallel.parallel_env",
            "OpenSpiel": "adapters.open_spiel.register_games",
        },
    ),
    "lines": ("Lines on boards of your own", {"te.ops": "ops.*"}),
}
# of the language, the modules in the order in which they import each other: a name is of the first that has it
LANGUAGE = {
    "scalar": "Numbers",
    "lists": "Lists",
    "control": "Loops",
    "bits": "Sets as words of bits",
    "chance": "Chance",
    "observation": "What a player sees",
    "spec": "What a game is",
}


def language() -> str:
    """The page of every operation of the language of rules."""
    groups: dict[str, list[str]] = {heading: [] for heading in LANGUAGE.values()}
    for name in rules.__all__:
        modules = {heading: f"tensor_envs.rules.{module}" for module, heading in LANGUAGE.items()}
        heading = next(h for h, module in modules.items() if hasattr(importlib.import_module(module), name))
        groups[heading].append(f"rules.{name}")
    return page("The language of rules", groups)


def page(title: str, groups: Mapping[str, list[str]]) -> str:
    """Headings, and names below `tensor_envs` whose docstrings stand under them."""
    lines = [f"# {title}"]
    for heading, names in groups.items():
        lines += [f"## {heading}", *map(asked, names)]
    return "\n\n".join(lines) + "\n"


def asked(name: str) -> str:
    """For mkdocstrings, by the module that defines it: `tensor_envs.rollout` is a module and a function."""
    module, _, last = name.rpartition(".")
    called = last if module == "rules" else f"te.{name}"
    where = f"tensor_envs.{name}"
    if not name.startswith("adapters."):  # which need packages
        found = getattr(importlib.import_module(f"tensor_envs.{module}".rstrip(".")), last)
        where = f"{getattr(found, '__module__', 'typing')}.{getattr(found, '__qualname__', '')}"
        where = where if where.startswith("tensor_envs.") else f"tensor_envs.{name}"
    return f"::: {where}\n    options: {{heading: {called}, toc_label: {last}}}"


def named(group: str) -> Iterator[str]:
    for name in group.split():
        module, _, every = name.rpartition(".")
        if every == "*":
            yield from (f"{module}.{one}" for one in importlib.import_module(f"tensor_envs.{module}").__all__)
        else:
            yield name


def pages() -> dict[str, Callable[[], str]]:
    """What writes each page. ValueError if a public name is on none."""
    found = {name: {h: list(named(g)) for h, g in groups.items()} for name, (_, groups) in GROUPS.items()}
    there = {name for groups in found.values() for names in groups.values() for name in names}
    there |= {name.split(".")[0] for name in there} | {name.rpartition(".")[2] for name in there}
    if gone := sorted({*te.__all__} - there - {*rules.__all__, "__version__"}):
        raise ValueError(f"{gone[0]!r} is on no page of the reference: add it to GROUPS")
    return {f"reference/{name}.md": partial(page, GROUPS[name][0], groups) for name, groups in found.items()}
