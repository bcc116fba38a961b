"""Players of a referee: packaged policies, functions and programs of text, and endpoints of language models."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tensor_envs._validate import instance, shown, wrong_type
from tensor_envs.agents import Policy, load, perfect, playout_search, uniform
from tensor_envs.env import Env
from tensor_envs.search.policies import EXPLORATION

TIME_LIMIT = 600.0  # seconds for one answer
MAX_ANSWER = 2**18  # characters
MAX_BODY = 2**22  # bytes of an endpoint's reply, which may hold more than the answer
MAX_REASON = 300  # characters of an endpoint's message in an error
MIN_SECRET = 8  # characters of a key that is removed from answers; shorter ones occur in words
KEY = "OPENAI_API_KEY"
PACKAGED = "uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect or a .safetensors file"
TEMPORARY = (408, 425, 429)  # statuses of HTTP that may change, besides those of 500 and more


class Unavailable(ConnectionError):
    """Failure of an endpoint that may pass, such as an overload.

    Attributes:
        retry_after: seconds to wait before another request; None if the endpoint does not say.
    """

    def __init__(self, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.retry_after = retry_after


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


def _nameless_file() -> Any:
    """Return an open file without a name, in memory where the system has that: no disk may be writable."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("prompt"), "w+b")
    return tempfile.TemporaryFile()


def command(words: Sequence[str]) -> Participant:
    """Return a player that runs a program for every answer: it reads the prompt and writes the answer."""
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise wrong_type("words", "a program and its arguments", words)
    if not words:
        raise ValueError("words must be a program and its arguments, got none")

    def ask(text: str) -> str:
        with _nameless_file() as prompt:  # a pipe would block where the program does not read it
            prompt.write(text.encode())
            prompt.seek(0)
            process = subprocess.Popen(words, stdin=prompt, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        complete = False
        try:
            data = process.stdout.read(MAX_ANSWER + 1)
            complete = len(data) <= MAX_ANSWER and process.wait() is not None
        finally:
            if not complete:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # also what the program has started
                process.wait()
            process.stdout.close()
        try:
            answer = data.decode(errors="strict" if complete else "replace")
        except UnicodeDecodeError as error:
            raise RuntimeError(f"--command {shlex.join(words)!r} answered what is no text: {error}") from None
        if complete and process.returncode:
            raise RuntimeError(f"--command {shlex.join(words)!r} ended with exit code {process.returncode}")
        return answer

    return Participant(shlex.join(words), ask=ask)


def endpoint(url: str, model: str, key: str = KEY) -> Participant:
    """Return a player that asks a language model at an endpoint with the interface of OpenAI's chat completions.

    Redirects are errors, so no other host gets the key, and no error or answer contains it.

    Args:
        url: base of the endpoint, such as "http://127.0.0.1:8080/v1".
        model: name of the model.
        key: name of the environment variable with the key, which may be missing.

    Raises:
        ValueError, TypeError: a URL or a key that HTTP cannot send.
    """
    for name, value in (("url", url), ("model", model), ("key", key)):
        instance(name, value, str)
    _check_url(url)
    secret = os.environ.get(key, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(f"the key in {key} must be of printable ASCII characters")
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"

    def without_key(text: str) -> str:
        for spelled in {secret, json.dumps(secret)[1:-1]} - {""}:
            text = text.replace(spelled, "***")
        return text

    def ask(text: str) -> tuple[str, int | None]:
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
        try:
            with OPENER.open(request, timeout=TIME_LIMIT) as response:
                data = response.read(MAX_BODY + 1)
                missing = response.length  # None for a body in chunks
            if len(data) > MAX_BODY:
                raise ValueError(f"more than {MAX_BODY} bytes")
            if missing:
                raise http.client.IncompleteRead(data, missing)
            answer, tokens = _completion(json.loads(data))
        except urllib.error.HTTPError as error:
            reason = without_key(_reason(error))[:MAX_REASON]
            message = f"{url} answered {error.code}: {reason}"
            if error.code in TEMPORARY or error.code >= 500:
                raise Unavailable(message, _seconds(error.headers.get("Retry-After"))) from None
            raise OSError(message) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{url} cannot be reached: {without_key(str(error))[:MAX_REASON]}") from None
        except Exception as error:  # whatever a reply makes the parsers of HTTP and JSON raise
            reason = without_key(repr(error))[:MAX_REASON]
            raise RuntimeError(f"{url} answered what is no chat completion: {reason}") from None
        return without_key(answer) if len(secret) >= MIN_SECRET else answer, tokens

    return Participant(model, ask=ask)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that makes redirects errors: urllib would send the key to the other host."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse a redirect."""


OPENER = urllib.request.build_opener(_NoRedirects)


def _check_url(url: str) -> None:
    """Raise ValueError unless a URL is the base of an endpoint that HTTP can address."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must start with http:// or https://, got {shown(url)}")
    if "@" in url.split("/")[2] or "?" in url or "#" in url:  # what may be secret is not printed
        raise ValueError("url must have no user, query or fragment; a key is in an environment variable")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:  # of `port`, or of brackets that do not close
        has_host = False
    if not (has_host and url.isascii() and url.isprintable() and " " not in url):
        raise ValueError(
            f"url must have a host, perhaps a port, and only ASCII characters without spaces, got {shown(url)}"
        )


def _completion(reply: Any) -> tuple[str, int | None]:
    """Return the answer and the number of tokens, if it is known, of a reply in JSON."""
    answer = reply["choices"][0]["message"]["content"]
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"content is of type {type(answer).__name__}")
    usage = reply.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    known = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**53
    return answer or "", tokens if known else None


def _reason(error: urllib.error.HTTPError) -> str:
    """Return what an endpoint says of an error: the target of a redirect, or the beginning of the body."""
    if "Location" in error.headers:
        return f"a redirect to {error.headers['Location']}, which is not followed"
    try:
        return error.read(MAX_BODY).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException):
        return error.reason


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which has a number or a date; None for anything else."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max((parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError if the block takes longer.

    In the main thread a signal interrupts the block. In others the error comes once the block ends.
    """
    message = f"no answer within {seconds:g} s"
    start = time.monotonic()

    def end(*_: Any) -> None:
        raise TimeoutError(message)

    in_main = threading.current_thread() is threading.main_thread()
    if in_main:
        handler = signal.signal(signal.SIGALRM, end)
        remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if in_main:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            if remaining:  # a timer of the caller
                left = max(remaining - (time.monotonic() - start), 1e-3)
                signal.setitimer(signal.ITIMER_REAL, left, interval)
    if time.monotonic() - start > seconds:
        raise TimeoutError(message)
