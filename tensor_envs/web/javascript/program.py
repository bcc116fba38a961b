"""JavaScript modules of Python functions: code from the source of all that they reach, data from its values."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
import enum
import functools
import html
import inspect
import itertools
import math
import operator
import re
import sys
import textwrap
import types
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad.dtype import DType

from tensor_envs._compiler.tape import recording
from tensor_envs.web.javascript.syntax import FUNCTIONS, Untranslatable, Writer, literal, parameters_of, quoted, words

ABSENT = ("tensor_envs._compiler.arithmetic", "tensor_envs._compiler.tape")  # modules that only kernels need
PLAIN = ("wrap", "_to_float64")  # functions of those modules for plain numbers
FOREIGN = {*sys.stdlib_module_names, "numpy", "tinygrad"}
# functions and types of Python that `runtime.js` has, by the name there
KNOWN: dict[str, Any] = {
    name: getattr(module, name)
    for module, names in (
        (
            builtins,
            "abs all any bool dict divmod enumerate float frozenset getattr hasattr int isinstance iter len list",
        ),
        (builtins, "map max min next pow range repr reversed round set sorted str sum tuple type vars zip Exception"),
        (builtins, "ValueError TypeError KeyError IndexError NotImplementedError StopIteration"),
        (itertools, "chain pairwise product zip_longest"),
        (math, "ceil cos floor isfinite prod sin sqrt"),
        (operator, "add and_ eq floordiv ge gt index le lshift lt mod mul ne neg or_ rshift sub truediv xor"),
    )
    for name in words(names)
}
KNOWN |= {
    "wrap": textwrap.wrap, "escape": html.escape, "substituted": re.sub, "fullmatch": re.fullmatch,
    "reduce": functools.reduce, "partial": functools.partial, "float32": np.float32,
    "setAttribute": object.__setattr__, "blank": object.__new__, "listInit": list.__init__, "no": recording,
    "fromIterable": itertools.chain.from_iterable,
}  # fmt: skip
KNOWN_NAMES = {value: name for name, value in KNOWN.items()}
# methods that Python calls by itself
OPERATORS = words("add sub mul truediv floordiv mod lshift rshift and or xor")
IMPLICIT = frozenset(
    f"__{name}__"
    for name in (
        *words("init post_init getitem setitem len iter bool contains call eq ne lt le gt ge neg invert"),
        *(f"{side}{operation}" for operation in OPERATORS for side in ("", "r")),
    )
)


def module(functions: Mapping[str, Callable[..., Any]], runtime: str) -> str:
    """Translate functions, and all that they reach, to a JavaScript module.

    Args:
        functions: those of the module by the names that it exports. Free variables and globals keep their values.
        runtime: path of `runtime.js`, as the module imports it.

    Returns:
        The module's text. What has no translation raises an error where it is reached.
    """
    program = _Module()
    exported = {name: program.value(function) for name, function in functions.items()}
    program.complete()
    exports = [f"export const {name} = $.entry({text});" for name, text in exported.items()]
    return "\n".join([f'import * as $ from "{runtime}";', *program.lines, *exports, ""])


@cache
def _functions_of(file: str) -> list[ast.FunctionDef | ast.Lambda]:
    """Return the syntax of all functions of a file."""
    return [node for node in ast.walk(ast.parse(Path(file).read_text())) if isinstance(node, FUNCTIONS)]


def _node_of(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Return the syntax of a function. Raise Untranslatable if it has no source."""
    code = function.__code__
    places = {(line, column) for line, _, column, _ in code.co_positions()}
    for node in _functions_of(code.co_filename) if Path(code.co_filename).is_file() else ():
        if isinstance(node, ast.Lambda):
            begins = (node.body.lineno, node.body.col_offset)
            if code.co_name == "<lambda>" and begins in places and node.lineno == code.co_firstlineno:
                return node
        elif node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise Untranslatable(f"no source of {function.__qualname__}")


def _is_own(value: Any) -> bool:
    """Return whether a function or a class is of this package or of a user's game."""
    is_absent = value.__module__ in ABSENT and value.__name__ not in PLAIN
    return value.__module__.partition(".")[0] not in FOREIGN and not is_absent


class _Module:
    """Text of a module that is being written.

    Attributes:
        lines: statements. Functions are hoisted, all else stands before its use.
        names: JavaScript of the objects that have a name, by their id.
        kept: these objects, whose ids must stay theirs.
        used: names of attributes that some function reads. Only these are written of classes, modules and objects.
        holders: the latter, each with its name, its attributes and the names of those that are written.
    """

    def __init__(self) -> None:
        self.lines = list[str]()
        self.names = dict[int, str]()
        self.kept = list[Any]()
        self.used = set[str]()
        self.holders = list[tuple[str, Any, dict[str, Any], set[str]]]()

    def complete(self) -> None:
        """Write the attributes that are used, until none is missing."""
        count = -1
        while count != len(self.lines):
            count = len(self.lines)
            for name, holder, attributes, written in [*self.holders]:
                for attribute in sorted((self.used | IMPLICIT) & attributes.keys() - written):
                    written.add(attribute)
                    self.write_attribute(name, holder, attribute, attributes[attribute])

    # *** values ***

    def value(self, value: Any) -> str:
        """Return the JavaScript of an object of Python: "undefined" for one that only kernels need."""
        if isinstance(value, enum.Enum):
            value = value.value
        if value is None or value is ... or isinstance(value, (bool, int, float, str)):
            return literal(value)
        # values written before, and those of the runtime
        if id(value) in self.names:
            return self.names[id(value)]
        if callable(value) and isinstance(value, Hashable) and value in KNOWN_NAMES:
            return f"$.{KNOWN_NAMES[value]}"
        if isinstance(value, re.Pattern):
            return f"$.pattern({quoted(value.pattern)})"
        # functions, by their source; wrappers of them become the runtime's own
        if isinstance(value, functools.partial):
            return f"$.partial({', '.join(map(self.value, (value.func, *value.args)))})"
        if isinstance(value, types.MethodType):
            return f"$.attribute({self.value(value.__self__)}, {quoted(value.__name__)})"
        if hasattr(value, "cache_info"):
            return self.constant(value, value.__name__, f"$.cached({self.value(value.__wrapped__)})")
        if isinstance(value, types.FunctionType):
            function: Any = inspect.unwrap(value)
            return self.function(function)
        if isinstance(value, type):
            return self.class_(value)
        # objects, whose attributes are written as far as a function uses them
        if isinstance(value, types.ModuleType):
            return self.holder(value, value.__name__.rpartition(".")[2], "{}", vars(value))
        if type(value) in (list, tuple, dict, set, frozenset, range):
            return self.container(value)
        return self.instance(value)

    def constant(self, value: Any, name: str, text: str) -> str:
        """Give an object a name of its own, and return it."""
        letters = re.sub(r"\W", "_", name)
        self.names[id(value)] = named = f"{letters}${len(self.names)}"
        self.kept.append(value)
        self.lines.append(f"const {named} = {text};")
        return named

    def container(self, value: Any) -> str:
        """Return a list, a tuple, a dictionary, a set or a range."""
        if isinstance(value, range):
            return f"$.range({value.start}, {value.stop}, {value.step})"
        if isinstance(value, dict):
            pairs = ", ".join(f"[{self.value(key)}, {self.value(entry)}]" for key, entry in value.items())
            return self.constant(value, "dict", f"$.dict([{pairs}])")
        items = f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, (set, frozenset)):
            return self.constant(value, "set", f"$.set({items})")
        return items if isinstance(value, tuple) and len(items) < 40 else self.constant(value, "list", items)

    def holder(self, value: Any, name: str, blank: str, attributes: Mapping[str, Any]) -> str:
        """Declare an object whose attributes are written as far as they are used."""
        text = self.constant(value, name, blank)
        self.holders.append((text, value, {**attributes}, set()))
        return text

    def instance(self, value: Any) -> str:
        """Return an object with its attributes."""
        kind = type(value)
        own = self.class_(kind) if id(kind) not in self.names else self.names[id(kind)]
        if own == "undefined":
            return own
        if isinstance(value, tuple):
            return f"$.create({', '.join([own, *map(self.value, value)])})"
        slots = {slot for cls in kind.__mro__ for slot in getattr(cls, "__slots__", ()) if hasattr(value, slot)}
        if not _is_own(kind):
            slots |= {name for name, entry in vars(kind).items() if isinstance(entry, property)}
        attributes = {slot: getattr(value, slot) for slot in sorted(slots)} | getattr(value, "__dict__", {})
        text = self.holder(value, kind.__name__, f"$.blank({own})", attributes)
        if isinstance(value, list):
            self.lines.append(f"{text}.push({', '.join(map(self.value, value))});")
        return text

    def class_(self, kind: type) -> str:
        """Return a class."""
        if not (_is_own(kind) or kind is DType) or issubclass(kind, enum.Enum):
            return "undefined"
        bases = [base for base in kind.__bases__ if _is_own(base)]
        built_in = "$.List" if issubclass(kind, (list, tuple)) else "$.Instance"
        fields = self.fields(kind)
        attributes = {key: entry for key, entry in vars(kind).items() if key != "__init__" or fields is None}
        base = self.value(bases[0]) if bases else built_in
        name = self.holder(
            kind, kind.__name__, f"class extends ({base}) {{}}", {**attributes, "__name__": kind.__name__}
        )
        if fields is not None:
            self.lines.append(f"$.dataClass({name}, [{', '.join(fields)}], {_boolean(issubclass(kind, tuple))});")
        return name

    def fields(self, kind: type) -> list[str] | None:
        """Return the name of each parameter of a dataclass or a named tuple, and its default; None for other types."""
        defaults = dict[str, str]()
        names: list[str]
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            names = [*kind._fields]
            defaults |= {name: self.value(value) for name, value in vars(kind)["_field_defaults"].items()}
        elif dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind)]
            for field in dataclasses.fields(kind):
                if field.default is not dataclasses.MISSING:
                    defaults[field.name] = self.value(field.default)
                elif field.default_factory is not dataclasses.MISSING:
                    defaults[field.name] = f"$.create({self.value(field.default_factory)})"
        else:
            return None
        self.used |= {*names}  # all of them count when two are compared
        return [f"[{quoted(name)}, () => {defaults.get(name, 'undefined')}]" for name in names]

    def write_attribute(self, name: str, holder: Any, attribute: str, value: Any) -> None:
        """Write an attribute of a class, a module or an object."""
        key = quoted(attribute)
        if isinstance(value, types.FunctionType) and attribute in IMPLICIT and not _has_source(value):
            return  # a method that `dataclass` generates: `runtime_objects.js` has it
        if not isinstance(holder, type):
            self.lines.append(f"{name}[{key}] = {self.value(value)};")
        elif isinstance(value, functools.cached_property):
            self.lines.append(f"$.property({name}, {key}, {self.value(value.func)}, true);")
        elif isinstance(value, property):
            self.lines.append(f"$.property({name}, {key}, {self.value(value.fget)}, false);")
        elif isinstance(value, staticmethod):
            self.lines.append(f"$.attributeOf({name}, {key}, {self.value(value.__func__)});")
        elif isinstance(value, classmethod):
            self.lines.append(f"$.attributeOf({name}, {key}, $.partial({self.value(value.__func__)}, {name}));")
        elif isinstance(value, types.FunctionType) or hasattr(value, "cache_info"):
            self.lines.append(f"$.methodOf({name}, {key}, {self.value(value)});")
        elif not inspect.isdatadescriptor(value) and not inspect.ismethoddescriptor(value):
            self.lines.append(f"$.attributeOf({name}, {key}, {self.value(value)});")

    # *** functions ***

    def function(self, function: types.FunctionType) -> str:
        """Write a function and return its name."""
        if id(function) in self.names:
            return self.names[id(function)]
        try:
            if not _is_own(function):
                raise Untranslatable(function.__qualname__)
            node = _node_of(function)
        except Untranslatable as error:
            return f"$.missing({quoted(f'{error}')})"
        name = f"{re.sub(r'[^a-zA-Z_0-9]', '_', function.__name__)}${len(self.names)}"
        self.names[id(function)] = name
        self.kept.append(function)
        lookup = _Lookup(self, function)
        writer = Writer(lookup.resolve, lookup.constant, lookup.is_class, self.used)
        text = writer.function(node, name)
        parameters = ", ".join(map(quoted, parameters_of(node.args)))
        self.lines += [text, f"$.define({name}, [{parameters}], {_boolean(writer.has_rest(node.args))});"]
        return name


def _boolean(value: bool) -> str:
    return str(value).lower()


def _has_source(function: types.FunctionType) -> bool:
    return Path(function.__code__.co_filename).is_file()


class _Lookup:
    """Values of the names that a function does not bind."""

    def __init__(self, program: _Module, function: types.FunctionType):
        self.program = program
        self.known = {**vars(builtins), **function.__globals__}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                self.known[name] = cell.cell_contents

    def resolve(self, name: str) -> str:
        """Return the JavaScript of a name."""
        return self.program.value(self.known[name]) if name in self.known else f"$.missing({quoted(name)})"

    def found(self, names: list[str]) -> Any:
        """Return the object of `a.b.c` where `a` and `a.b` are modules or classes; None for other names."""
        value = self.known.get(names[0])
        for name in names[1:]:
            if not isinstance(value, (types.ModuleType, type)) or not hasattr(value, name):
                return None
            value = getattr(value, name)
        return value

    def constant(self, names: list[str]) -> str | None:
        """Return the JavaScript of `a.b.c` if it is fixed."""
        parent = self.found(names[:-1])
        if not isinstance(parent, (types.ModuleType, type)) or not hasattr(parent, names[-1]):
            return None
        value = getattr(parent, names[-1])
        return None if isinstance(value, property) else self.program.value(value)

    def is_class(self, names: list[str]) -> bool:
        """Return whether `a.b.c` is a class."""
        return isinstance(self.found(names), type)
