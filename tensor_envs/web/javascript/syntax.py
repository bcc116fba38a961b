"""JavaScript of the syntax of Python functions: statements and expressions."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


RESERVED = frozenset(
    words(
        "arguments await break case catch class const continue debugger default delete do else enum eval export "
        "extends false finally for function if implements import in instanceof interface let new null package private "
        "protected public return static super switch this throw true try typeof undefined var void while with yield"
    )
)
# methods of Python's own types, for which `runtime.js` has functions
METHODS = frozenset(
    words(
        "add append bit_count bit_length capitalize center copy count discard extend find format get index isdecimal "
        "isidentifier islower isupper items join keys ljust lower partition pop remove removesuffix replace rstrip "
        "setdefault sort split startswith strip update upper values"
    )
)
FUNCTIONS = (ast.FunctionDef, ast.Lambda)
SIGNS = {ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos"}


class Untranslatable(Exception):
    """Syntax without a translation. What contains it raises an error where it is reached."""


def quoted(text: str) -> str:
    return json.dumps(text)


def spelled(name: str) -> str:
    """Return a local name that JavaScript allows."""
    return f"{name}$" if name in RESERVED else name


def body_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of functions in it."""
    for node in body:
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from body_nodes(ast.iter_child_nodes(node))


def targets_of(node: ast.AST) -> set[str]:
    """Return the names that an assignment's target binds."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def locals_of(body: list[ast.stmt]) -> set[str]:
    """Return the names that a function's body binds, without those of comprehensions."""
    names = set[str]()
    inner = set[int]()
    outer = set[str]()
    nodes = [*body_nodes(body)]
    for node in nodes:
        if isinstance(node, ast.comprehension):
            inner |= {id(part) for part in ast.walk(node.target)}
        elif isinstance(node, ast.FunctionDef) or (isinstance(node, ast.ExceptHandler) and node.name):
            names.add(str(node.name))
        elif isinstance(node, (ast.Nonlocal, ast.Global)):
            outer |= {*node.names}
    names |= {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inner
    }
    return names - outer


def parameters_of(arguments: ast.arguments) -> list[str]:
    """Return the names of parameters that have a place in a call, the keyword-only ones last."""
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


class Writer:
    """Writer of one function.

    Args:
        resolve: gives the JavaScript of a name that is not local, or raises KeyError.
        constant: gives the JavaScript of an attribute of such a name, such as `cards.INK`, or None.
        used: set that takes the names of all attributes that are read.
    """

    def __init__(
        self,
        resolve: Callable[[str], str],
        constant: Callable[[list[str]], str | None],
        is_class: Callable[[list[str]], bool],
        used: set[str],
    ):
        self.resolve = resolve
        self.constant = constant
        self.is_class = is_class
        self.used = used
        self.scopes: list[set[str]] = []
        self.nodes = list[ast.AST]()
        self.temporaries = 0

    # *** functions ***

    def function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> str:
        """Return a function's text; its name may be empty."""
        arguments = node.args
        body: list[ast.stmt] = node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]
        names = {*parameters_of(arguments)} | {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
        bound = locals_of(body) - names
        self.scopes.append(names | bound)
        if len(self.scopes) == 1:
            self.nodes = [*ast.walk(node)]
        is_generator = any(isinstance(x, (ast.Yield, ast.YieldFrom)) for x in body_nodes(body))
        lines = self.head(arguments)
        if bound:
            lines.append(f"let {', '.join(map(spelled, sorted(bound)))};")
        lines += self.block(body)
        parameters = self.parameters(arguments)
        self.scopes.pop()
        return f"function{'*' * is_generator} {name}({parameters}) {{\n" + "\n".join(lines) + "\n}"

    def has_rest(self, arguments: ast.arguments) -> bool:
        return arguments.vararg is not None or arguments.kwarg is not None

    def parameters(self, arguments: ast.arguments) -> str:
        """Return the parameters: the positional ones, then those by keyword, or the rest of all arguments."""
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
        if not self.has_rest(arguments):
            positional += arguments.kwonlyargs
            defaults += arguments.kw_defaults
        texts = [
            spelled(a.arg) + (f" = {self.expression(default)}" if default is not None else "")
            for a, default in zip(positional, defaults, strict=True)
        ]
        return ", ".join([*texts, "...rest$"] if self.has_rest(arguments) else texts)

    def head(self, arguments: ast.arguments) -> list[str]:
        """Return the lines that take keywords from the rest of all arguments."""
        if not self.has_rest(arguments):
            return []
        lines = ["const given$ = $.keywords(rest$);"]
        for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            other = "undefined" if default is None else self.expression(default)
            lines.append(f"let {spelled(a.arg)} = $.taken(given$, {quoted(a.arg)}, () => {other});")
        if arguments.vararg:
            lines.append(f"let {spelled(arguments.vararg.arg)} = rest$;")
        if arguments.kwarg:
            lines.append(f"let {spelled(arguments.kwarg.arg)} = $.dict(Object.entries(given$));")
        return lines

    def defined(self, node: ast.FunctionDef | ast.Lambda) -> str:
        """Return a function within another one, with the names of its parameters."""
        names = json.dumps(parameters_of(node.args))
        return f"$.define({self.function(node, '')}, {names}, {str(self.has_rest(node.args)).lower()})"

    # *** statements ***

    def block(self, body: list[ast.stmt]) -> list[str]:
        lines = list[str]()
        for statement in body:
            try:
                lines += self.statement(statement)
            except Untranslatable as error:
                lines.append(f"$.untranslatable({quoted(f'{error}')});")
        return lines

    def nested(self, head: str, body: list[ast.stmt]) -> list[str]:
        return [f"{head} {{", *self.block(body), "}"]

    def statement(self, node: ast.stmt) -> list[str]:
        """Return the lines of a statement."""
        method = getattr(self, f"write_{type(node).__name__}", None)
        if method is None:
            raise Untranslatable(f"line {node.lineno}: {type(node).__name__}")
        lines: list[str] = method(node)
        return lines

    def write_Expr(self, node: ast.Expr) -> list[str]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring
        return [f"{self.expression(node.value)};"]

    def write_Return(self, node: ast.Return) -> list[str]:
        return [f"return {self.expression(node.value) if node.value else 'null'};"]

    def write_Pass(self, node: ast.Pass) -> list[str]:
        return []

    def write_Assert(self, node: ast.Assert) -> list[str]:
        return []

    def write_Nonlocal(self, node: ast.Nonlocal) -> list[str]:
        return []

    def write_Break(self, node: ast.Break) -> list[str]:
        return [f"{self.broken[-1]} = true; break;" if self.broken[-1] else "break;"]

    def write_Continue(self, node: ast.Continue) -> list[str]:
        return ["continue;"]

    def write_Raise(self, node: ast.Raise) -> list[str]:
        return [f"throw {self.expression(node.exc)};" if node.exc else "throw error$;"]

    def write_FunctionDef(self, node: ast.FunctionDef) -> list[str]:
        return [f"{spelled(node.name)} = {self.defined(node)};"]

    def write_If(self, node: ast.If) -> list[str]:
        lines = self.nested(f"if ({self.test(node.test)})", node.body)
        return lines + (self.nested("else", node.orelse) if node.orelse else [])

    broken: list[str]  # by the loops around a statement: a variable that says whether it was left, or ""

    def looped(self, head: str, first: list[str], node: ast.For | ast.While) -> list[str]:
        """Return a loop, whose `else` follows where no `break` was reached."""
        name = self.temporary() if node.orelse else ""
        self.broken = [*getattr(self, "broken", []), name]
        lines = [f"{head} {{", *first, *self.block(node.body), "}"]
        self.broken.pop()
        if not node.orelse:
            return lines
        return [f"let {name} = false;", *lines, *self.nested(f"if (!{name})", node.orelse)]

    def write_For(self, node: ast.For) -> list[str]:
        item = self.temporary()
        head = f"for (const {item} of $.each({self.expression(node.iter)}))"
        return self.looped(head, self.assigned(node.target, item), node)

    def write_While(self, node: ast.While) -> list[str]:
        return self.looped(f"while ({self.test(node.test)})", [], node)

    def write_Assign(self, node: ast.Assign) -> list[str]:
        target = node.targets[0]
        if isinstance(node.value, ast.Tuple) and isinstance(target, ast.Tuple) and len(node.targets) == 1:
            parts = node.value.elts
            if not any(isinstance(part, ast.Starred) for part in (*parts, *target.elts)):
                names = [self.temporary() for _ in parts]
                lines = [f"const {k} = {self.expression(x, argument=True)};" for k, x in zip(names, parts, strict=True)]
                return lines + [line for pair in zip(target.elts, names, strict=True) for line in self.assigned(*pair)]
        value = self.expression(node.value, argument=True)
        if len(node.targets) == 1:
            return self.assigned(node.targets[0], value)
        name = self.temporary()
        return [f"const {name} = {value};", *(line for t in node.targets for line in self.assigned(t, name))]

    def write_AnnAssign(self, node: ast.AnnAssign) -> list[str]:
        return self.assigned(node.target, self.expression(node.value)) if node.value else []

    def write_AugAssign(self, node: ast.AugAssign) -> list[str]:
        in_place = isinstance(node.op, (ast.Add, ast.BitOr))
        change = f"$.i{BINARY[type(node.op)]}" if in_place else f"$.{self.binary(node.op)}"
        target = node.target
        load: ast.expr
        if isinstance(target, ast.Subscript):
            array, index = self.temporary(), self.temporary()
            return [
                f"const {array} = {self.expression(target.value)}, {index} = {self.expression(target.slice)};",
                f"$.put({array}, {index}, {change}($.at({array}, {index}), {self.expression(node.value)}));",
            ]
        if isinstance(target, ast.Attribute):
            load = ast.Attribute(target.value, target.attr, ast.Load())
        else:
            load = ast.Name(target.id, ast.Load())
        return self.assigned(target, f"{change}({self.expression(load)}, {self.expression(node.value)})")

    def assigned(self, target: ast.expr, value: str) -> list[str]:
        """Return the lines that assign a value, which is evaluated once."""
        if isinstance(target, ast.Name):
            return [f"{spelled(target.id)} = {value};"]
        if isinstance(target, ast.Attribute):
            return [f"{self.expression(target.value)}.{target.attr} = {value};"]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            raise Untranslatable(f"line {target.lineno}: a slice that is assigned")
        if isinstance(target, ast.Subscript):
            return [f"$.put({self.expression(target.value)}, {self.expression(target.slice)}, {value});"]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Untranslatable(f"line {target.lineno}: {type(target).__name__}")
        name = self.temporary()
        starred = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        after = len(target.elts) - starred[0] - 1 if starred else -1
        lines = [f"const {name} = $.unpack({value}, {after}, {starred[0] if starred else len(target.elts)});"]
        for k, part in enumerate(target.elts):
            lines += self.assigned(part.value if isinstance(part, ast.Starred) else part, f"{name}[{k}]")
        return lines

    def write_Delete(self, node: ast.Delete) -> list[str]:
        lines = []
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise Untranslatable(f"line {node.lineno}: del")
            lines.append(f"$.remove({self.expression(target.value)}, {self.expression(target.slice)});")
        return lines

    def write_With(self, node: ast.With) -> list[str]:
        call = node.items[0].context_expr
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "suppress"):
            raise Untranslatable(f"line {node.lineno}: with")
        kinds = ", ".join(map(self.expression, call.args))
        return [*self.nested("try", node.body), f"catch (error$) {{ $.only(error$, [{kinds}]); }}"]

    def write_Try(self, node: ast.Try) -> list[str]:
        lines = self.nested("try", node.body)
        if node.handlers:
            lines += ["catch (error$) {"]
            for k, handler in enumerate(node.handlers):
                kind = self.expression(handler.type) if handler.type else "$.Exception"
                lines.append(f"{'else ' * bool(k)}if ($.isinstance(error$, {kind})) {{")
                if handler.name:
                    lines.append(f"{spelled(handler.name)} = error$;")
                lines += [*self.block(handler.body), "}"]
            lines += ["else throw error$;", "}"]
        if node.finalbody:
            lines += self.nested("finally", node.finalbody)
        if node.orelse:
            raise Untranslatable(f"line {node.lineno}: else of try")
        return lines

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}$"

    # *** expressions ***

    def expression(self, node: ast.expr, argument: bool = False) -> str:
        """Return the text of an expression; of an argument, a method keeps its object."""
        if isinstance(node, ast.Attribute):
            return self.attribute(node, argument)
        method = getattr(self, f"text_{type(node).__name__}", None)
        if method is None:
            raise Untranslatable(f"line {node.lineno}: {type(node).__name__}")
        text: str = method(node)
        return text

    def test(self, node: ast.expr) -> str:
        """Return the text of a condition, true or false in JavaScript as in Python."""
        if isinstance(node, ast.BoolOp):
            return "(" + (" && " if isinstance(node.op, ast.And) else " || ").join(map(self.test, node.values)) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        return self.expression(node) if isinstance(node, ast.Compare) else f"$.truth({self.expression(node)})"

    def text_Constant(self, node: ast.Constant) -> str:
        return literal(node.value)

    def text_Name(self, node: ast.Name) -> str:
        if any(node.id in scope for scope in self.scopes):
            return spelled(node.id)
        return self.resolve(node.id)

    def chain(self, node: ast.expr) -> list[str] | None:
        """Return the names of `a.b.c` if `a` is not local."""
        names = list[str]()
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or any(node.id in scope for scope in self.scopes):
            return None
        return [node.id, *reversed(names)]

    def attribute(self, node: ast.Attribute, argument: bool) -> str:
        names = self.chain(node)
        if names and (text := self.constant(names)) is not None:
            return text
        self.used.add(node.attr)
        value = self.expression(node.value)
        return f"$.attribute({value}, {quoted(node.attr)})" if argument else f"{value}.{node.attr}"

    def text_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "(" + " + ".join(['""', *map(self.expression, node.values)]) + ")"

    def text_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.expression(node.value)
        if node.conversion == ord("r"):
            value = f"$.repr({value})"
        return f"$.format({value}, {self.expression(node.format_spec)})" if node.format_spec else f"$.str({value})"

    def sequence(self, elements: list[ast.expr]) -> str:
        return "[" + ", ".join(map(self.expression, elements)) + "]"

    def text_List(self, node: ast.List) -> str:
        return self.sequence(node.elts)

    def text_Tuple(self, node: ast.Tuple) -> str:
        return self.sequence(node.elts)

    def text_Set(self, node: ast.Set) -> str:
        return f"$.set({self.sequence(node.elts)})"

    def text_Starred(self, node: ast.Starred) -> str:
        return f"...$.each({self.expression(node.value)})"

    def text_Dict(self, node: ast.Dict) -> str:
        parts = [
            f"...$.entries({self.expression(value)})"
            if key is None
            else f"[{self.expression(key)}, {self.expression(value)}]"
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return f"$.dict([{', '.join(parts)}])"

    def text_IfExp(self, node: ast.IfExp) -> str:
        return f"({self.test(node.test)} ? {self.expression(node.body)} : {self.expression(node.orelse)})"

    def text_BoolOp(self, node: ast.BoolOp) -> str:
        name = "$.and" if isinstance(node.op, ast.And) else "$.or"
        first, *others = map(self.expression, node.values)
        return f"{name}({', '.join([first, *(f'() => {other}' for other in others)])})"

    def text_UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return self.test(node)
        return f"$.{SIGNS[type(node.op)]}({self.expression(node.operand)})"

    def binary(self, op: ast.operator) -> str:
        if type(op) not in BINARY:
            raise Untranslatable(type(op).__name__)
        return BINARY[type(op)] + "_" * (type(op) in (ast.BitAnd, ast.BitOr))

    def text_BinOp(self, node: ast.BinOp) -> str:
        return f"$.{self.binary(node.op)}({self.expression(node.left)}, {self.expression(node.right)})"

    def text_Compare(self, node: ast.Compare) -> str:
        if len(node.ops) == 1:
            left, right = self.expression(node.left), self.expression(node.comparators[0])
            return self.compared(left, node.ops[0], right)
        # every operand is evaluated once
        values = [node.left, *node.comparators]
        names = [self.temporary() for _ in values[1:-1]]
        texts = [self.expression(node.left)]
        parts = []
        for k, (op, value) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.expression(value)
            parts.append(self.compared(texts[-1], op, f"({names[k]} = {right})" if k < len(names) else right))
            texts.append(names[k] if k < len(names) else right)
        return f"((({', '.join(names)}) => {' && '.join(parts)})())"

    def compared(self, left: str, op: ast.cmpop, right: str) -> str:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return f"({left} {'===' if isinstance(op, ast.Is) else '!=='} {right})"
        if isinstance(op, (ast.In, ast.NotIn)):
            return f"{'!' * isinstance(op, ast.NotIn)}$.has({right}, {left})"
        return f"$.{COMPARISONS[type(op)]}({left}, {right})"

    def text_NamedExpr(self, node: ast.NamedExpr) -> str:
        return f"({spelled(node.target.id)} = {self.expression(node.value)})"

    def text_Lambda(self, node: ast.Lambda) -> str:
        return self.defined(node)

    def bounds(self, node: ast.Slice) -> str:
        parts = (node.lower, node.upper, node.step)
        return ", ".join("null" if part is None else self.expression(part) for part in parts)

    def text_Subscript(self, node: ast.Subscript) -> str:
        if (names := self.chain(node.value)) and self.is_class(names):
            return self.expression(node.value)  # a type with its parameters, such as list[int]
        value = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            return f"$.slice({value}, {self.bounds(node.slice)})"
        return f"$.at({value}, {self.expression(node.slice)})"

    def text_Yield(self, node: ast.Yield) -> str:
        return f"(yield {self.expression(node.value) if node.value else 'null'})"

    def text_YieldFrom(self, node: ast.YieldFrom) -> str:
        return f"(yield* $.each({self.expression(node.value)}))"

    def text_ListComp(self, node: ast.ListComp) -> str:
        return self.comprehension(node.generators, [node.elt], listed=True)

    def text_SetComp(self, node: ast.SetComp) -> str:
        return f"$.set({self.comprehension(node.generators, [node.elt], listed=True)})"

    def text_DictComp(self, node: ast.DictComp) -> str:
        return f"$.dict({self.comprehension(node.generators, [node.key, node.value], listed=True)})"

    def text_GeneratorExp(self, node: ast.GeneratorExp) -> str:
        return self.comprehension(node.generators, [node.elt])

    def comprehension(self, generators: list[ast.comprehension], elements: list[ast.expr], listed: bool = False) -> str:
        """Return a generator or an array of the elements, each a pair where there are two."""
        names = {name for generator in generators for name in targets_of(generator.target)}
        head = ""
        depth = 0
        self.scopes.append(set())
        for generator in generators:
            item = self.temporary()
            source = self.expression(generator.iter)
            self.scopes[-1] |= targets_of(generator.target)
            assigned = " ".join(self.assigned(generator.target, item))
            head += f"for (const {item} of $.each({source})) {{ {assigned} "
            depth += 1
            for condition in generator.ifs:
                head += f"if ({self.test(condition)}) {{ "
                depth += 1
        values = [*map(self.expression, elements)]
        self.scopes.pop()
        yielded = values[0] if len(values) == 1 else f"[{', '.join(values)}]"
        names_text = f"let {', '.join(map(spelled, sorted(names)))}; "
        loops = f"{head}{f'list$.push({yielded})' if listed else f'yield {yielded}'};{' }' * depth}"
        if listed:
            return f"(() => {{ const list$ = []; {names_text}{loops} return list$; }})()"
        return f"(function* () {{ {names_text}{loops} }})()"

    # *** calls ***

    def text_Call(self, node: ast.Call) -> str:
        arguments = [self.expression(argument, argument=True) for argument in node.args]
        given = ""
        if node.keywords:
            parts = [
                f"...$.named({self.expression(keyword.value)})"
                if keyword.arg is None
                else f"{keyword.arg}: {self.expression(keyword.value, argument=True)}"
                for keyword in node.keywords
            ]
            given = f"{{ {', '.join(parts)} }}"
        # an attribute that is asked for by name must be written
        called = node.func
        if isinstance(called, ast.Name) and called.id in ("hasattr", "getattr"):
            # a computed name may be any text in the function
            texts = [node.args[1]] if isinstance(node.args[1], ast.Constant) else self.nodes
            self.used |= {x.value for x in texts if isinstance(x, ast.Constant) and isinstance(x.value, str)}
        # a method is looked up when it is called; a function of a module is known here
        if isinstance(called, ast.Attribute):
            names = self.chain(called)
            if not names or self.constant(names) is None:
                return self.method_call(called, arguments, given)
        if isinstance(called, ast.Subscript) and (names := self.chain(called.value)) and self.is_class(names):
            called = called.value  # such as list[int]()
        # classes are created by the runtime, and keyword arguments are bound by it
        text = self.expression(called)
        names = self.chain(called)
        if not given and (not names or self.is_class(names)):
            return f"$.create({', '.join([text, *arguments])})"
        if given:
            return f"$.call({', '.join([text, given, *arguments])})"
        return f"{text}({', '.join(arguments)})"

    def method_call(self, called: ast.Attribute, arguments: list[str], given: str) -> str:
        self.used.add(called.attr)
        value = called.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super":
            owner = self.resolve("__class__")
            return f"$.inherited({owner}, {quoted(called.attr)}, self)({', '.join(arguments)})"
        text = self.expression(value)
        if given:
            return f"$.callMethod({', '.join([text, quoted(called.attr), given, *arguments])})"
        if called.attr in METHODS:
            return f"$.method({', '.join([text, quoted(called.attr), *arguments])})"
        return f"{text}.{called.attr}({', '.join(arguments)})"


def literal(value: Any) -> str:
    """Return the text of a number, a string or None."""
    if value is None or value is ...:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(int(value)) if abs(value) < 2**53 else f"{value}n"
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, str):
        return quoted(str(value))
    raise Untranslatable(type(value).__name__)
