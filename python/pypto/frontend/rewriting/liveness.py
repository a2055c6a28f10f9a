"""Which names a loop or a branch assigns, and which of them can be read later: what must be carried or merged.

A backward walk over the statements of one function. Names that nested functions and lambdas read count as read where
those are called; everywhere if a function is used in another way than by a call of its name.
"""
# ruff: noqa: D102, D105, D107

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Names = frozenset[str]
EMPTY: Names = frozenset()
_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Delete)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class FlowNames:
    """Names around one `for` or `if`."""

    assigned: Names = EMPTY  # bound somewhere inside, in this function's frame
    live_after: Names = EMPTY  # can be read behind the statement before they are set again
    live_at_head: Names = EMPTY  # of a loop: can be read at the start of an iteration before they are set
    read_first: Names = EMPTY  # of a loop: its body itself can read them before it sets them
    stores: dict[str, ast.AST] = field(default_factory=dict)  # last place where each name is bound


def evaluated_by(function: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """What is evaluated where a function is made: decorators and default values."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    given = (*function.args.defaults, *function.args.kw_defaults)
    return [*decorators, *(each for each in given if each is not None)]


class _Stores(ast.NodeVisitor):
    """Names bound in the frame of the function that holds a statement."""

    def __init__(self) -> None:
        self.found: dict[str, ast.AST] = {}
        self._inner = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store | ast.Del) and not self._inner:
            self.found[node.id] = node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.found[node.target.id] = node
        self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit_Lambda(node)
        self.found[node.name] = node

    def visit_Lambda(self, node: ast.Lambda | ast.FunctionDef) -> None:
        for each in evaluated_by(node):
            self.visit(each)

    def visit_alias(self, node: ast.alias) -> None:
        self.found[(node.asname or node.name).partition(".")[0]] = node

    def _comprehension(self, node: ast.AST) -> None:
        self._inner += 1
        self.generic_visit(node)
        self._inner -= 1

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def stores_of(nodes: Sequence[ast.AST]) -> dict[str, ast.AST]:
    """Names that the statements bind, with the last place of each."""
    visitor = _Stores()
    for node in nodes:
        visitor.visit(node)
    return visitor.found


class Paths:
    """How the elements that statements set are written, and of which name each is: nodes are rewritten later."""

    def __init__(self) -> None:
        self._known: dict[ast.AST, tuple[str, str]] = {}

    def note(self, node: ast.Subscript | ast.Attribute) -> tuple[str, str]:
        """Keeps how a node is written that is not rewritten yet."""
        if node not in self._known:
            base: ast.AST = node
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            self._known[node] = ast.unparse(node), base.id if isinstance(base, ast.Name) else ""
        return self._known[node]

    def last_store(self, node: ast.AST, path: str) -> ast.AST:
        """The last statement inside that sets an element or attribute such as "state['acc']"; the node itself if none.

        If none sets just this one, the last that sets another of the same name.
        """
        found = node
        root = path.partition("[")[0].partition(".")[0]
        is_exact = False
        for each in ast.walk(node):
            if not isinstance(each, ast.Subscript | ast.Attribute) or not isinstance(each.ctx, ast.Store | ast.Del):
                continue
            written, name = self.note(each)
            exact = written == path
            if name == root and exact >= is_exact:
                found, is_exact = each, exact
        return found


def _loads(node: ast.AST | None) -> set[str]:
    """Names that an expression or a nested function can read from the frame around it."""
    if node is None:
        return set()
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        found |= _loads(child)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for generator in node.generators:
            found -= {name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name)}
        found |= _loads(node.generators[0].iter)
    elif isinstance(node, _FUNCTIONS):
        own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        if not isinstance(node, ast.Lambda):
            own |= set(stores_of(list(node.body)))
        found = (found - own).union(*map(_loads, evaluated_by(node)))
    return found


def loads_of(node: ast.AST) -> Names:
    """Names that a statement can read."""
    return frozenset(_loads(node))


def _called_only(function: ast.FunctionDef) -> dict[str, list[ast.AST]]:
    """Functions inside the function, by the name that they are bound to and that is not used but to call them."""
    nodes = [node for node in ast.walk(function) if node is not function]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    loads = {node.id for node in names if isinstance(node.ctx, ast.Load) and id(node) not in called}
    bound: dict[str, list[ast.AST]] = {}
    ours: set[int] = set()  # names that statements bind to a lambda
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            bound.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append(node.value)
                ours.add(id(target))
    others = {node.id for node in names if not isinstance(node.ctx, ast.Load) and id(node) not in ours}
    others |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return {name: made for name, made in bound.items() if name not in loads | others}


def captured_names(function: ast.FunctionDef) -> tuple[Names, dict[str, Names]]:
    """Names that functions and lambdas inside the function read from it: anywhere, and where a name is called."""
    called = _called_only(function)
    known = {id(node) for made in called.values() for node in made}
    anywhere: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, _FUNCTIONS) and node is not function and id(node) not in known:
            anywhere |= _loads(node)
    through = {name: frozenset[str]().union(*(_loads(node) for node in made)) for name, made in called.items()}
    for _ in through:  # functions that call others
        through = {name: reads.union(*(through.get(each, EMPTY) for each in reads)) for name, reads in through.items()}
    anywhere |= {each for name in anywhere for each in through.get(name, EMPTY)}
    return frozenset(anywhere), through


def _set_at_end(node: ast.stmt) -> set[str]:
    """Names that a statement sets when everything in it has been evaluated."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    inner = [each for target in targets for each in ast.walk(target)]
    is_plain = all(isinstance(each, ast.Name | ast.Tuple | ast.List | ast.expr_context) for each in inner)
    names = {each.id for each in inner if isinstance(each, ast.Name)} if is_plain else set()
    return names - {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}


def _header_lines(node: ast.AST) -> Iterator[int]:
    """Lines of what a compound statement evaluates itself, without the statements in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.pattern):
            yield from range(child.lineno, (child.end_lineno or child.lineno) + 1)
        elif not isinstance(child, ast.stmt):
            yield from _header_lines(child)


def _common(a: Names | None, b: Names | None) -> Names | None:
    """What both of two ways set; None stands for a way that is not taken."""
    return b if a is None else a if b is None else a & b


class _Transfer(NamedTuple):
    """What can be read before statements, for any names that can be read behind them.

    Each way out of the statements sets some names; None where they are not left that way.
    """

    reads: Names = EMPTY
    sets: Names | None = EMPTY  # on the way to what follows
    sets_at_break: Names | None = None
    sets_at_continue: Names | None = None

    def then(self, rest: _Transfer) -> _Transfer:
        """These statements, followed by others."""
        if self.sets is None:
            return self
        ways = [None if way is None else way | self.sets for way in rest[1:]]
        return _Transfer(
            self.reads | (rest.reads - self.sets),
            ways[0],
            _common(self.sets_at_break, ways[1]),
            _common(self.sets_at_continue, ways[2]),
        )

    def otherwise(self, other: _Transfer) -> _Transfer:
        """Either these statements or others."""
        ways = [_common(a, b) for a, b in zip(self[1:], other[1:], strict=True)]
        return _Transfer(self.reads | other.reads, *ways)

    def before(self, after: Names, at_break: Names, at_continue: Names) -> Names:
        """Names that can be read before the statements, from those that can be where they are left."""
        ways = zip(self[1:], (after, at_break, at_continue), strict=True)
        return self.reads.union(*(names - sets for sets, names in ways if sets is not None))


class Liveness:
    """Live names of one function. `flows` maps each `for` and `if` node to its FlowNames."""

    def __init__(self, function: ast.FunctionDef, live_at_end: Names = EMPTY) -> None:
        self.flows: dict[ast.AST, FlowNames] = {}
        self.live: dict[ast.AST, Names] = {}  # by statement: names that can be read behind it
        self._always, self._through = captured_names(function)
        self._break: list[Names] = []
        self._continue: list[Names] = []
        self._transfers: dict[ast.stmt, _Transfer] = {}  # of what loops repeat
        self._block(function.body, live_at_end | self._always)

    def by_line(self) -> dict[int, Names]:
        """Names that can be read after a call has begun, by the lines of plain statements alone."""
        found: dict[int, Names] = {}
        headers: set[int] = set()
        for node, after in self.live.items():
            if isinstance(node, _PLAIN):
                names = (after - _set_at_end(node)) | self._reads(node)
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line] = found.get(line, EMPTY) | names
            else:
                headers.update(_header_lines(node))
        return {line: names for line, names in found.items() if line not in headers}

    def _reads(self, node: ast.AST | None) -> set[str]:
        """Names that an expression can read, and those that the functions that it calls can."""
        found = _loads(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        return found.union(*(self._through.get(name, EMPTY) for name in found))

    def _block(self, statements: list[ast.stmt], after: Names) -> Names:
        live = after
        for statement in reversed(statements):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, after: Names) -> Names:
        self.live[node] = after
        if isinstance(node, ast.If):
            return self._if(node, after)
        if isinstance(node, ast.For):
            return self._for(node, after)
        if isinstance(node, ast.While):
            return self._while(node, after)
        if isinstance(node, ast.With):
            inside = self._block(node.body, after)
            return self._plain(node.items, inside)
        if isinstance(node, ast.Return):
            return frozenset(self._reads(node.value)) | self._always
        if isinstance(node, ast.Raise):
            return frozenset(self._reads(node)) | self._always
        if isinstance(node, ast.Break) and self._break:
            return self._break[-1]
        if isinstance(node, ast.Continue) and self._continue:
            return self._continue[-1]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return after | self._reads(node)
        return self._plain([node], after)

    def _plain(self, nodes: Sequence[ast.AST], after: Names) -> Names:
        killed: set[str] = set()
        read: set[str] = set()
        for node in nodes:
            killed |= set(stores_of([node]))
            read |= self._reads(node)
        return (after - killed) | read | self._always

    def _record(
        self, node: ast.AST, inside: list[ast.AST], after: Names, head: Names, read_first: Names = EMPTY
    ) -> None:
        stores = stores_of(inside)
        self.flows[node] = FlowNames(frozenset(stores), after, head, read_first, stores)

    def _if(self, node: ast.If, after: Names) -> Names:
        self._record(node, [*node.body, *node.orelse], after, EMPTY)
        return self._block(node.body, after) | self._block(node.orelse, after) | self._reads(node.test)

    def _loop(self, node: ast.For | ast.While, after: Names, killed: Names, test: set[str]) -> Names:
        """One pass finds what is live at the head: another one would add nothing."""
        base = self._block(node.orelse, after) | test
        head = base | (self._transfer_of(node.body).before(base, after, base) - killed)
        self._break.append(after)
        self._continue.append(head)
        self._block(node.body, head)
        self._continue.pop()
        self._break.pop()
        return head

    def _for(self, node: ast.For, after: Names) -> Names:
        targets = frozenset(stores_of([node.target]))
        read_first = self._transfer_of(node.body).reads - targets
        head = self._loop(node, after, targets, self._reads(node.target))
        self._record(node, [node.target, *node.body], after, head, read_first)
        return head | self._reads(node.iter)

    def _while(self, node: ast.While, after: Names) -> Names:
        return self._loop(node, after, EMPTY, self._reads(node.test))

    def _transfer_of(self, statements: Sequence[ast.stmt]) -> _Transfer:
        found = _Transfer()
        for statement in reversed(statements):
            if statement not in self._transfers:
                self._transfers[statement] = self._transfer(statement)
            found = self._transfers[statement].then(found)
        return found

    def _transfer(self, node: ast.stmt) -> _Transfer:
        if isinstance(node, ast.If):
            sides = self._transfer_of(node.body).otherwise(self._transfer_of(node.orelse))
            return sides._replace(reads=sides.reads | self._reads(node.test))
        if isinstance(node, ast.For):
            return self._transfer_of_loop(
                node, frozenset(stores_of([node.target])), self._reads(node.target), self._reads(node.iter)
            )
        if isinstance(node, ast.While):
            return self._transfer_of_loop(node, EMPTY, self._reads(node.test), set())
        if isinstance(node, ast.With):
            return self._transfer_of_plain(node.items).then(self._transfer_of(node.body))
        if isinstance(node, ast.Return):
            return _Transfer(frozenset(self._reads(node.value)) | self._always, None)
        if isinstance(node, ast.Raise):
            return _Transfer(frozenset(self._reads(node)) | self._always, None)
        if isinstance(node, ast.Break):
            return _Transfer(EMPTY, None, EMPTY, None)
        if isinstance(node, ast.Continue):
            return _Transfer(EMPTY, None, None, EMPTY)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return _Transfer(frozenset(self._reads(node)))
        return self._transfer_of_plain([node])

    def _transfer_of_plain(self, nodes: Sequence[ast.AST]) -> _Transfer:
        sets, reads = frozenset(stores_of(nodes)), self._always.union(*(self._reads(node) for node in nodes))
        return _Transfer(reads, sets)

    def _transfer_of_loop(self, node: ast.For | ast.While, killed: Names, test: set[str], first: set[str]) -> _Transfer:
        """Of a loop: it can run no iteration, and is left behind its `else` or by `break`."""
        body, otherwise = self._transfer_of(node.body), self._transfer_of(node.orelse)
        left_by_break = None if body.sets_at_break is None else body.sets_at_break | killed
        return _Transfer(
            otherwise.reads | test | (body.reads - killed) | first,
            _common(otherwise.sets, left_by_break),
            otherwise.sets_at_break,
            otherwise.sets_at_continue,
        )
