"""Write the folder of a custom game: rules, a reference in plain Python, and a test of both.

    python -m tensor_envs.new my_game                  # writes my_game here
    python -m pytest my_game                           # passes as it stands
    python -m tensor_envs.play --env my_game:MyGame    # plays it in a browser

The folder has a small complete game, which you replace by your own part by part; its comments say how. Dictionaries,
texts and pictures are those that every game has without modules of its own. Nothing is overwritten.
"""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tensor_envs import rules
from tensor_envs._command import command_parser, run
from tensor_envs._validate import shown
from tensor_envs.envs.registry import registered

TEMPLATE = Path(__file__).parent / "template"  # files of a game with the names of EXAMPLE
EXAMPLE = "my_game"


def class_name(name: str) -> str:
    """Return the name of a game's class: "MyGame" for "my_game"."""
    return "".join(word.capitalize() for word in name.split("_"))


def check_name(name: str) -> None:
    """Raise ValueError unless a new game can have this name."""
    is_keyword = keyword.iskeyword(name) or keyword.iskeyword(class_name(name))
    if is_keyword or not re.fullmatch("[a-z][a-z0-9_]*", name):
        allowed = "a Python identifier of lower case letters, digits and underscores"
        raise ValueError(f"name must be {allowed}, such as {EXAMPLE}, got {shown(name)}")
    if Path(name).exists():
        raise ValueError(f"name must be that of a new folder, and {Path(name).absolute()} exists")
    # the folder would hide the module from Python, or the game's id would be taken
    if name in registered() or importlib.util.find_spec(name):
        raise ValueError(f"name must be new, and there is a module or a game {name!r}")
    if hasattr(rules, class_name(name)):
        raise ValueError(f"name must leave {class_name(name)} to the language of rules, got {name!r}")


def write_game(name: str) -> list[Path]:
    """Write the folder of a game into the current one.

    Args:
        name: name of the folder; the name of the class follows from it, see `class_name`.

    Returns:
        The paths of the files.

    Raises:
        ValueError: no such name is possible, or it is taken.
        OSError: the folder cannot be written. There is none then.
    """
    check_name(name)
    folder = Path.cwd() / name
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}.") as part:
            written = Path(part) / name
            written.mkdir()
            for source in TEMPLATE.glob("*.txt"):
                text = source.read_text("utf-8").replace(EXAMPLE, name).replace(class_name(EXAMPLE), class_name(name))
                (written / source.name.removesuffix(".txt")).write_text(text, "utf-8")
            written.rename(folder)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the game: {error.strerror}", str(folder)) from None
    return sorted(Path(name).iterdir())


def work(options: argparse.Namespace) -> None:
    name = options.name
    for path in write_game(name):
        print(f"wrote {path}")
    print(f"\npython -m pytest {name}\npython -m tensor_envs.play --env {name}:{class_name(name)}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.new", __doc__)
    parser.add_argument("name", help=f"of the game and its folder, such as {EXAMPLE}")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
