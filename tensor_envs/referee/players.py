"""Players of a referee: packaged policies, functions and programs of text, and endpoints of language models."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tensor_envs._validate import instance, integer, number, shown, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.evaluation.agents import Policy, load, perfect, playout_search, uniform

TIME_LIMIT = 600.0  # seconds for one answer
MAX_ANSWER = 2**18  # maximum characters of an answer
MAX_BODY = 2**22  # maximum bytes of an endpoint's reply, which contains more than the answer
MAX_REASON = 300  # maximum characters of an endpoint's message in an error
MIN_SECRET = 8  # minimum characters of a key that is removed from answers; shorter ones may occur in words
KEY = "OPENAI_API_KEY"
PACKAGED = "uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect or a .safetensors file"
MAX_TEMPERATURE = 100.0
WATCH_SECONDS = 0.2  # time between interruptions of a block that has exceeded its time limit
RESERVED_ENTRIES = ("model", "messages", "stream", "n")  # entries of a request that `extra_body` may not have
TEMPORARY_STATUSES = (408, 425, 429)  # HTTP statuses of failures that may pass, besides those from 500 on


class Unavailable(ConnectionError):
    """Failure of an endpoint that may pass, such as an overload.

    Attributes:
        retry_after: seconds to wait before another request; None if the endpoint does not request a time.
    """

    def __init__(self, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.retry_after = retry_after


class Participant(NamedTuple):
    """Participant with a name: either a policy or a player of text.

    Attributes:
        name: name in tables and records.
        policy: a policy, see `te.agents`.
        ask: function from a prompt to the answer, or to the answer and its number of tokens.
        options: options of a model such as a temperature, which are noted in records.
        image: whether `ask` takes a PNG of the position as a second argument.

    Examples:
        >>> from tensor_envs.referee import Participant
        >>> Participant("silent", ask=lambda text: "").name
        'silent'
    """

    name: str
    policy: Policy | None = None
    ask: Callable[..., Any] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    image: bool = False


def packaged(name: str, env: Env, seed: int = 0) -> Participant:
    """Return a player of the package by name. ValueError for an unknown name, or a game that it cannot play."""
    instance("name", name, str)
    instance("env", env, Env)
    if name == "uniform":
        return Participant(name, uniform)
    if search := re.fullmatch(r"playout:(\d+)(?::(\d*\.?\d+))?", name):
        count, exploration = search.groups()
        weight = None if exploration is None else float(exploration)
        return Participant(name, playout_search(int(count), seed, exploration=weight))
    if name == "weights" or name.endswith(".safetensors"):
        policy = load(env.id if name == "weights" else name, num_simulations=0)
    elif name == "perfect":
        policy = perfect()
    else:
        raise ValueError(f"a player must be {PACKAGED}, got {shown(name)}")
    policy(env.init(1))  # raises ValueError for another game
    return Participant(name, policy)


def is_function(name: str) -> bool:
    """Return whether a player's name has the form of a function's, "package.module:function"."""
    return ":" in name and not name.startswith("playout:")


def function(name: str) -> Participant:
    """Return the player of a function from prompts to answers, by name. ValueError if there is no such function."""
    instance("name", name, str)
    module, _, attribute = name.partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"a player must be {PACKAGED}, or package.module:function, got {name!r}: {error}") from None
    if not callable(value):
        raise ValueError(f"a player must be a function, and {name!r} is of type {type(value).__name__}")
    return Participant(name, ask=value)


def hosted_game(game: str, rules: dict[str, Any], custom: bool) -> Env:
    """Return the environment of a client's game, whose illegal actions lose.

    Args:
        game: an id or, if `custom`, "package.module:Name".
        rules: rule fields, with lists in place of tuples.
        custom: whether games of modules are allowed.

    Raises:
        ValueError, TypeError: another game or other fields.
    """
    instance("game", game, str)
    instance("rules", rules, dict)
    if not custom and ":" in game:
        raise ValueError(f"game must be one of the package, got {shown(game)}; --custom of the server allows it")
    if "illegal" in rules:
        raise ValueError("rules must be rule fields, got 'illegal', which the server decides")
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in rules.items()}
    return make(game, **fields)


def hosted_player(name: str, env: Env, seed: int, custom: bool) -> Participant:
    """Return a client's opponent: a packaged player or, if `custom`, also a file's or a function's.

    Raises:
        ValueError: another player.
    """
    instance("opponent", name, str)
    if not custom and (is_function(name) or name.endswith(".safetensors")):
        raise ValueError(f"opponent must be one of the package, got {shown(name)}; --custom of the server allows it")
    return function(name) if is_function(name) else packaged(name, env, seed)


def opponents(names: str | Sequence[str], env: Env) -> list[str]:
    """Return the name of each of a client's opponents; a single name is repeated. ValueError for another number."""
    others = env.num_players - 1
    if not isinstance(names, (str, list, tuple)):
        raise wrong_type("opponent", "a name or a list of names", names)
    result = [names] * others if isinstance(names, str) else list(names)
    if len(result) != others:
        raise ValueError(f"opponent must be one, or one for each of {others} seats, got {shown(result)}")
    return result


def _unnamed_file() -> Any:
    """Return an open file without a name, in memory if the system supports it, since no disk may be writable."""
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
        with _unnamed_file() as prompt:  # a pipe would block if the program does not read it
            prompt.write(text.encode())
            prompt.seek(0)
            process = subprocess.Popen(words, stdin=prompt, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout is not None
        complete = False

        def kill() -> None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # includes the processes that the program has started

        try:
            with at_time_limit(kill):
                data = process.stdout.read(MAX_ANSWER + 1)
                complete = len(data) <= MAX_ANSWER and process.wait() is not None
        finally:
            if not complete:
                kill()
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


def endpoint(
    url: str,
    model: str,
    key: str = KEY,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
    system: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    image: bool = False,
) -> Participant:
    """Return the player of a language model at an endpoint with the interface of OpenAI's chat completions.

    Redirects are errors, so no other host gets the key, and it is removed from errors and answers.

    Args:
        url: base of the endpoint, such as "http://127.0.0.1:8080/v1".
        model: name of the model.
        key: name of the environment variable with the key. It may be unset, and then no key is sent.
        temperature: temperature of the model's sampling; None: the endpoint's default.
        max_tokens: upper bound of an answer's tokens; None: the endpoint's default.
        system: system prompt before each question.
        extra_body: further entries of the request in JSON, such as {"reasoning_effort": "low"}.
        image: whether the model also gets a picture of the position, a PNG in a data URL.

    Raises:
        ValueError, TypeError: a URL, a key or an option that cannot be sent.

    Examples:
        >>> from tensor_envs.referee import endpoint
        >>> endpoint("http://127.0.0.1:8080/v1", "a-model", temperature=0.0).options
        {'temperature': 0.0}
    """
    # Check all arguments now rather than in the first game.
    for name, value in (("url", url), ("model", model), ("key", key)):
        instance(name, value, str)
    _check_url(url)
    # Options that are not given are left out of requests, so that the endpoint's defaults hold.
    options = dict[str, Any]()
    if temperature is not None:
        options["temperature"] = number("temperature", temperature, 0.0, MAX_TEMPERATURE)
    if max_tokens is not None:
        options["max_tokens"] = integer("max_tokens", max_tokens, 1, 2**31 - 1)
    extra_entries = _json_entries(extra_body)
    instance("image", image, bool)
    # The system prompt precedes every question.
    messages = list[dict[str, str]]()
    if system is not None:
        instance("system", system, str)
        messages.append({"role": "system", "content": system})
    # The key is sent only in a header.
    secret = os.environ.get(key, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(f"the key in {key} must be of printable ASCII characters")
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"

    def without_key(text: str) -> str:
        """Remove the key from a text: an endpoint may repeat a request, and answers are printed and saved."""
        for spelling in {secret, json.dumps(secret)[1:-1]} - {""}:
            text = text.replace(spelling, "***")
        return text

    def ask(text: str, png: bytes | None = None) -> tuple[str, int | None]:
        question = {"role": "user", "content": text if png is None else content_of(text, png)}
        body = json.dumps({"model": model, "messages": [*messages, question], **options, **extra_entries}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
        # Read the whole reply, up to a maximum size.
        try:
            with OPENER.open(request, timeout=TIME_LIMIT) as response:
                data = response.read(MAX_BODY + 1)
                missing = response.length  # None for a body in chunks
            if len(data) > MAX_BODY:
                raise ValueError(f"more than {MAX_BODY} bytes")
            if missing:
                raise http.client.IncompleteRead(data, missing)
            answer, tokens = _completion(json.loads(data))
        # Failures that may pass are `Unavailable`, after which requests are repeated; other errors end the game.
        except urllib.error.HTTPError as error:
            reason = without_key(_reason(error))[:MAX_REASON]
            message = f"{url} answered {error.code}: {reason}"
            if error.code in TEMPORARY_STATUSES or error.code >= 500:
                raise Unavailable(message, _seconds(error.headers.get("Retry-After"))) from None
            raise OSError(message) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{url} cannot be reached: {without_key(str(error))[:MAX_REASON]}") from None
        except Exception as error:  # the parsers of HTTP and JSON may raise any error
            reason = without_key(repr(error))[:MAX_REASON]
            raise RuntimeError(f"{url} answered what is no chat completion: {reason}") from None
        return without_key(answer) if len(secret) >= MIN_SECRET else answer, tokens

    # Records note all options that are set.
    noted = dict(options)
    if system is not None:
        noted["system"] = system
    if extra_entries:
        noted["extra_body"] = extra_entries
    if image:
        noted["image"] = True
    return Participant(model, ask=ask, options=noted, image=image)


def content_of(text: str, png: bytes) -> list[dict[str, Any]]:
    """Return the content of a message of a chat with a text and a picture, a PNG."""
    url = f"data:image/png;base64,{b64encode(png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _json_entries(extra_body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a copy of further entries of a request. ValueError or TypeError unless JSON can hold them."""
    if extra_body is None:
        return {}
    instance("extra_body", extra_body, Mapping)
    if reserved := [name for name in RESERVED_ENTRIES if name in extra_body]:
        raise ValueError(f"extra_body must have none of {', '.join(RESERVED_ENTRIES)}, got {', '.join(reserved)}")
    try:
        entries: dict[str, Any] = json.loads(json.dumps(dict(extra_body), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra_body must be what JSON can hold: {error}") from None
    return entries


class _Interruptible(http.client.HTTPConnection):
    """HTTP connection that a time limit closes, also in a thread other than the main one."""

    def connect(self) -> None:
        super().connect()
        # Use the method of `socket`, since another thread must not call that of SSLSocket.
        _interruptions().append(partial(socket.socket.shutdown, self.sock, socket.SHUT_RDWR))


class _SecureInterruptible(_Interruptible, http.client.HTTPSConnection):
    """HTTPS connection that a time limit closes."""


class _Http(urllib.request.HTTPHandler):
    """Handler of http:// with connections that can be interrupted."""

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Interruptible, request)


class _Https(urllib.request.HTTPSHandler):
    """Handler of https:// with connections that can be interrupted."""

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureInterruptible, request)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that treats redirects as errors, since urllib would send the key to the other host."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse a redirect."""


OPENER = urllib.request.build_opener(_NoRedirects, _Http, _Https)


def _check_url(url: str) -> None:
    """Raise ValueError unless a URL is the base of an endpoint that HTTP can address."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must start with http:// or https://, got {shown(url)}")
    if "@" in url.split("/")[2] or "?" in url or "#" in url:
        # The message omits the URL, which may contain a secret.
        raise ValueError("url must have no user, query or fragment; a key is in an environment variable")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or an unclosed bracket
        has_host = False
    if not (has_host and url.isascii() and url.isprintable() and " " not in url):
        raise ValueError(
            f"url must have a host, perhaps a port, and only ASCII characters without spaces, got {shown(url)}"
        )


def _completion(reply: Any) -> tuple[str, int | None]:
    """Return the answer in a reply, and its number of tokens, or None if the reply has none."""
    answer = reply["choices"][0]["message"]["content"]
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"content is of type {type(answer).__name__}")
    usage = reply.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    is_valid = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**53
    return answer or "", tokens if is_valid else None


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the reason of an HTTP error: the target of a redirect, or the beginning of the body."""
    if "Location" in error.headers:
        return f"a redirect to {error.headers['Location']}, which is not followed"
    try:
        return error.read(MAX_BODY).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException):
        return error.reason


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date; None for anything else."""
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

    In the main thread a signal interrupts the block. In other threads, the block's connections and programs are ended;
    a block without these raises the error when it ends.
    """
    message = f"no answer within {seconds:g} s"
    start = time.monotonic()
    limit = _interrupted_by_signal if threading.current_thread() is threading.main_thread() else _interrupted_by_thread
    try:
        with limit(seconds, message):
            yield
    except Exception:
        if time.monotonic() - start > seconds:  # an interruption may cause any error
            raise TimeoutError(message) from None
        raise
    if time.monotonic() - start > seconds:
        raise TimeoutError(message)


@contextmanager
def _interrupted_by_signal(seconds: float, message: str) -> Iterator[None]:
    """Raise TimeoutError in the block by a signal, and restore the caller's timer after it."""
    start = time.monotonic()

    def interrupt(*_: Any) -> None:
        raise TimeoutError(message)

    handler = signal.signal(signal.SIGALRM, interrupt)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            remaining = max(remaining - (time.monotonic() - start), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)


@contextmanager
def _interrupted_by_thread(seconds: float, message: str) -> Iterator[None]:
    """Call the block's interruptions from another thread once its time is over, until it ends."""
    actions = _thread_local.actions = list[Callable[[], None]]()
    ended = threading.Event()

    def watch() -> None:
        pause = seconds
        while not ended.wait(pause):
            pause = WATCH_SECONDS  # connections that are opened later are interrupted as well
            for action in [*actions]:
                with suppress(OSError):
                    action()

    watcher = threading.Thread(target=watch, name=message, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()  # no action may interrupt the next block
        del _thread_local.actions


@contextmanager
def at_time_limit(action: Callable[[], None]) -> Iterator[None]:
    """Call an action from another thread if a time limit expires during the block."""
    actions = _interruptions()
    actions.append(action)
    try:
        yield
    finally:
        actions.remove(action)


_thread_local = threading.local()


def _interruptions() -> list[Callable[[], None]]:
    """Return the list of actions that interrupt this thread's block; a new list if the block has no time limit."""
    return getattr(_thread_local, "actions", [])
