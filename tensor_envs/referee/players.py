"""Players of a referee: packaged policies, functions and programs of text, and endpoints of language models."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensor_envs._validate import shown
from tensor_envs.agents import Policy, load, perfect, playout_search, uniform
from tensor_envs.env import Env

SECONDS = 600.0  # for an answer of an endpoint
KEY = "OPENAI_API_KEY"
PACKAGED = "uniform, playout:SIMULATIONS, weights, perfect or a .safetensors file"


class Participant(NamedTuple):
    """Participant with a name: a policy of states, or a function of text.

    Attributes:
        name: name in tables and records.
        policy: a policy, see `te.agents`.
        ask: a function of the prompt to the answer, or to the answer and the number of tokens that it took.

    Examples:
        >>> from tensor_envs.referee import Participant
        >>> Participant("silent", ask=lambda text: "").name
        'silent'
    """

    name: str
    policy: Policy | None = None
    ask: Callable[[str], Any] | None = None


def packaged(name: str, env: Env, seed: int = 0) -> Participant:
    """Return a player that the package has, by its name. ValueError for another name or game."""
    kind, _, count = name.partition(":")
    if name == "uniform":
        return Participant(name, uniform)
    if kind == "playout" and count.isdecimal():
        return Participant(name, playout_search(int(count), seed))
    if name == "weights" or name.endswith(".safetensors"):
        policy = load(env.id if name == "weights" else name, num_simulations=0)
    elif name == "perfect":
        policy = perfect()
    else:
        raise ValueError(f"a player must be {PACKAGED}, got {shown(name)}")
    policy(env.init(1))  # raises ValueError for another game
    return Participant(name, policy)


def function(name: str) -> Participant:
    """Return the player of a function "package.module:name" of text. ValueError if there is none."""
    module, _, attribute = name.partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"a player must be {PACKAGED}, or package.module:function, got {name!r}: {error}") from None
    if not callable(value):
        raise ValueError(f"a player must be a function, and {name!r} is of type {type(value).__name__}")
    return Participant(name, ask=value)


def command(words: Sequence[str]) -> Participant:
    """Return a player that runs a program for every answer: it reads the prompt and writes the answer."""

    def ask(text: str) -> str:
        done = subprocess.run(words, input=text, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"--command {shlex.join(words)!r} ended with exit code {done.returncode}")
        return done.stdout

    return Participant(shlex.join(words), ask=ask)


def endpoint(url: str, model: str, key: str = KEY) -> Participant:
    """Return a player that asks a language model at an endpoint with the interface of OpenAI's chat completions.

    Args:
        url: base of the endpoint, such as "http://127.0.0.1:8080/v1".
        model: name of the model.
        key: name of the environment variable with the key, which may be missing.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must start with http:// or https://, got {shown(url)}")
    headers = {"Content-Type": "application/json"}
    if os.environ.get(key):
        headers["Authorization"] = f"Bearer {os.environ[key]}"

    def ask(text: str) -> tuple[str, int | None]:
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                reply = json.load(response)
            answer, tokens = reply["choices"][0]["message"]["content"], reply.get("usage", {}).get("total_tokens")
        except urllib.error.HTTPError as error:
            raise OSError(f"{url} answered {error.code}: {error.read(300).decode(errors='replace')}") from None
        except OSError as error:
            raise OSError(f"{url} cannot be reached: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise RuntimeError(f"{url} answered what is no chat completion: {error!r}") from None
        return answer or "", tokens

    return Participant(model, ask=ask)
