"""Players of a referee: packaged policies, functions and programs of text, and endpoints of language models."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import shlex
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tensor_envs._validate import instance, shown, wrong_type
from tensor_envs.agents import Policy, load, perfect, playout_search, uniform
from tensor_envs.env import Env
from tensor_envs.search.policies import EXPLORATION

SECONDS = 600.0  # for an answer of an endpoint
KEY = "OPENAI_API_KEY"
PACKAGED = "uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect or a .safetensors file"


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
    instance("name", name, str)
    instance("env", env, Env)
    if name == "uniform":
        return Participant(name, uniform)
    if search := re.fullmatch(r"playout:(\d+)(?::(\d*\.?\d+))?", name):
        count, exploration = search.groups()
        weight = EXPLORATION if exploration is None else float(exploration)
        return Participant(name, playout_search(int(count), seed, exploration=weight))
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
    instance("name", name, str)
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
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise wrong_type("words", "a program and its arguments", words)
    if not words:
        raise ValueError("words must be a program and its arguments, got none")

    def ask(text: str) -> str:
        try:
            done = subprocess.run(words, input=text, stdout=subprocess.PIPE, text=True, check=False)
        except UnicodeDecodeError as error:
            raise RuntimeError(f"--command {shlex.join(words)!r} answered what is no text: {error}") from None
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

    Raises:
        ValueError, TypeError: a URL or a key that HTTP cannot send.
    """
    for name, value in (("url", url), ("model", model), ("key", key)):
        instance(name, value, str)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must start with http:// or https://, got {shown(url)}")
    if not _has_host(url):
        raise ValueError(
            f"url must have a host, perhaps a port, and only ASCII characters without spaces, got {shown(url)}"
        )
    headers, secret = {"Content-Type": "application/json"}, os.environ.get(key, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(f"the key in {key} must be of printable ASCII characters")
    if secret:
        headers["Authorization"] = f"Bearer {secret}"

    def ask(text: str) -> tuple[str, int | None]:
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                reply = json.load(response)
            answer, tokens = reply["choices"][0]["message"]["content"], (reply.get("usage") or {}).get("total_tokens")
        except urllib.error.HTTPError as error:
            raise OSError(f"{url} answered {error.code}: {error.read(300).decode(errors='replace')}") from None
        except (OSError, http.client.HTTPException) as error:
            raise OSError(f"{url} cannot be reached: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise RuntimeError(f"{url} answered what is no chat completion: {error!r}") from None
        return answer or "", tokens

    return Participant(model, ask=ask)


def _has_host(url: str) -> bool:
    """Return whether HTTP can send a URL: it has a host, perhaps a port, and is of printable ASCII without spaces."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and url.isascii() and url.isprintable() and " " not in url
    except ValueError:  # of `port`, or of brackets that do not close
        return False
