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
MAX_ANSWER = 2**18  # characters
MAX_BODY = 2**22  # bytes of an endpoint's reply, which may hold more than the answer
MAX_REASON = 300  # characters of an endpoint's message in an error
MIN_SECRET = 8  # characters of a key that is removed from answers; shorter ones occur in words
KEY = "OPENAI_API_KEY"
PACKAGED = "uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect or a .safetensors file"
MAX_TEMPERATURE = 100.0
WATCH_SECONDS = 0.2  # between interruptions of a block whose time is over
DECIDED = ("model", "messages", "stream", "n")  # entries of a request that are not those of `extra_body`
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
        options: what else the player is asked with, such as a temperature; records note it.
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
    """Return a player that the package has, by its name. ValueError for another name or game."""
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
    """Return whether a player's name is that of a function, "package.module:function"."""
    return ":" in name and not name.startswith("playout:")


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


def hosted_game(game: str, rules: dict[str, Any], custom: bool) -> Env:
    """Return the environment of a client's game, whose illegal actions lose.

    Args:
        game: an id or, if `custom`, "package.module:Name".
        rules: rule fields as JSON has them.
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
    """Return the name of each of a client's opponents, one name standing for all. ValueError for another number."""
    others = env.num_players - 1
    if not isinstance(names, (str, list, tuple)):
        raise wrong_type("opponent", "a name or a list of names", names)
    each = [names] * others if isinstance(names, str) else list(names)
    if len(each) != others:
        raise ValueError(f"opponent must be one, or one for each of {others} seats, got {shown(each)}")
    return each


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

        def kill() -> None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # also what the program has started

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
    """Return a player that asks a language model at an endpoint with the interface of OpenAI's chat completions.

    Redirects are errors, so no other host gets the key, and no error or answer contains it.

    Args:
        url: base of the endpoint, such as "http://127.0.0.1:8080/v1".
        model: name of the model.
        key: name of the environment variable with the key, which may be missing.
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
    # refuse arguments that cannot be sent here, not in the first game
    for name, value in (("url", url), ("model", model), ("key", key)):
        instance(name, value, str)
    _check_url(url)
    options = dict[str, Any]()
    if temperature is not None:
        options["temperature"] = number("temperature", temperature, 0.0, MAX_TEMPERATURE)
    if max_tokens is not None:
        options["max_tokens"] = integer("max_tokens", max_tokens, 1, 2**31 - 1)
    more = _json_entries(extra_body)
    instance("image", image, bool)
    # messages that precede every question
    messages = list[dict[str, str]]()
    if system is not None:
        instance("system", system, str)
        messages.append({"role": "system", "content": system})
    # the key goes into a header, and nowhere else
    secret = os.environ.get(key, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(f"the key in {key} must be of printable ASCII characters")
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"

    # An endpoint may repeat a request in its answer, and answers are printed and saved.
    def without_key(text: str) -> str:
        for spelled in {secret, json.dumps(secret)[1:-1]} - {""}:
            text = text.replace(spelled, "***")
        return text

    def ask(text: str, png: bytes | None = None) -> tuple[str, int | None]:
        question = {"role": "user", "content": text if png is None else content_of(text, png)}
        body = json.dumps({"model": model, "messages": [*messages, question], **options, **more}).encode()
        request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
        # an answer is read whole, and no further than a bound
        try:
            with OPENER.open(request, timeout=TIME_LIMIT) as response:
                data = response.read(MAX_BODY + 1)
                missing = response.length  # None for a body in chunks
            if len(data) > MAX_BODY:
                raise ValueError(f"more than {MAX_BODY} bytes")
            if missing:
                raise http.client.IncompleteRead(data, missing)
            answer, tokens = _completion(json.loads(data))
        # temporary failures are retried; others end the game
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

    noted = options | ({} if system is None else {"system": system}) | ({"extra_body": more} if more else {})
    return Participant(model, ask=ask, options=noted | ({"image": True} if image else {}), image=image)


def content_of(text: str, png: bytes) -> list[dict[str, Any]]:
    """Return a text and a picture as the content of a message in a chat completion."""
    url = f"data:image/png;base64,{b64encode(png).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _json_entries(extra_body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a copy of further entries of a request. ValueError or TypeError unless JSON can hold them."""
    if extra_body is None:
        return {}
    instance("extra_body", extra_body, Mapping)
    if decided := [name for name in DECIDED if name in extra_body]:
        raise ValueError(f"extra_body must have none of {', '.join(DECIDED)}, got {', '.join(decided)}")
    try:
        entries: dict[str, Any] = json.loads(json.dumps(dict(extra_body), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra_body must be what JSON can hold: {error}") from None
    return entries


class _Interruptible(http.client.HTTPConnection):
    """Connection that a time limit ends, also in a thread."""

    def connect(self) -> None:
        super().connect()
        # not the method of SSLSocket, which another thread must not call
        _interruptions().append(partial(socket.socket.shutdown, self.sock, socket.SHUT_RDWR))


class _SecureInterruptible(_Interruptible, http.client.HTTPSConnection):
    """Encrypted connection that a time limit ends, also in a thread."""


class _Http(urllib.request.HTTPHandler):
    """Handler of http:// with connections that can be interrupted."""

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Interruptible, request)


class _Https(urllib.request.HTTPSHandler):
    """Handler of https:// with connections that can be interrupted."""

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureInterruptible, request)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that makes redirects errors: urllib would send the key to the other host."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse a redirect."""


OPENER = urllib.request.build_opener(_NoRedirects, _Http, _Https)


def _check_url(url: str) -> None:
    """Raise ValueError unless a URL is the base of an endpoint that HTTP can address."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must start with http:// or https://, got {shown(url)}")
    if "@" in url.split("/")[2] or "?" in url or "#" in url:  # the message omits parts that may be secret
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

    In the main thread a signal interrupts the block. In others its connections and programs are ended, and any other
    block has its error once it ends.
    """
    message = f"no answer within {seconds:g} s"
    start = time.monotonic()
    limit = _signalled if threading.current_thread() is threading.main_thread() else _watched
    try:
        with limit(seconds, message):
            yield
    except Exception:
        if time.monotonic() - start > seconds:  # whatever an interruption has made of it
            raise TimeoutError(message) from None
        raise
    if time.monotonic() - start > seconds:
        raise TimeoutError(message)


@contextmanager
def _signalled(seconds: float, message: str) -> Iterator[None]:
    """Raise TimeoutError in the block by a signal; a timer of the caller goes on."""
    start = time.monotonic()

    def end(*_: Any) -> None:
        raise TimeoutError(message)

    handler = signal.signal(signal.SIGALRM, end)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            left = max(remaining - (time.monotonic() - start), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def _watched(seconds: float, message: str) -> Iterator[None]:
    """Interrupt the block from a thread that waits for its end."""
    actions = _of_thread.actions = list[Callable[[], None]]()
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
        watcher.join()  # so that no action interrupts the next block
        del _of_thread.actions


@contextmanager
def at_time_limit(action: Callable[[], None]) -> Iterator[None]:
    """Call an action from another thread if a time limit ends during the block."""
    actions = _interruptions()
    actions.append(action)
    try:
        yield
    finally:
        actions.remove(action)


_of_thread = threading.local()


def _interruptions() -> list[Callable[[], None]]:
    """Return the actions that interrupt this thread's block, a new list where nothing watches it."""
    return getattr(_of_thread, "actions", [])
