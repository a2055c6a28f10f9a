"""Rewrites a kernel or helper so that its loops, conditions and calls go through the tracer.

    for t in it: body      →   flow = rt.for_(k, it, locals())
                               for t in flow:
                                   if "x" in flow.names: x = flow.names["x"]     (carried names)
                                   body
                                   flow.end(locals())
                               if "x" in flow.names: x = flow.names["x"]
    if c: a else: b        →   flow = rt.if_(k, c, locals())
                               if flow.then(): a; flow.end_then(locals())
                               if flow.otherwise(): names as before; b; flow.end_otherwise(locals())
                               merged names
    return in a branch     →   returns.py
    a and b, a or b, not a, a < b < c, a if c else b, f(x), while c, assert c: calls of rt that see symbolic values.

Positions are kept, so tracebacks and source places are those of the file.
"""
# ruff: noqa: D102, D105, D107

from __future__ import annotations

import ast
import copy
import types
from dataclasses import dataclass, field

from pypto.frontend.rewriting.changes import (
    Holds,
    Known,
    ReturningFor,
    asks_for_none,
    calls_that_may_give_none,
    given_to,
    is_operation,
    may_write,
)
from pypto.frontend.rewriting.code_objects import MADE, RUNTIME, find, named, owner_of_private_names
from pypto.frontend.rewriting.hoisting import hoist, holds, own_names
from pypto.frontend.rewriting.liveness import EMPTY, FlowNames, Liveness, Names, Paths, loads_of
from pypto.frontend.rewriting.returns import without_conditional_returns
from pypto.frontend.rewriting.rewrite_objects import elements_in
from pypto.frontend.rewriting.rewrite_stores import Stores
from pypto.frontend.rewriting.source import Source

_INNER = "_pypto_inner"
CHOSEN = "conditional expression"  # names what a conditional expression gives


@dataclass
class FlowMeta:
    """What the runtime must know of one `for` or `if`, or of operands that Python may not evaluate."""

    node: ast.For | ast.If | ast.expr
    names: FlowNames
    number: int
    paths: Paths  # of the function
    escapes: list[ast.stmt] = field(default_factory=list)  # return, break, continue that leave it
    writes: bool = False  # operands: whether they may change a container or write into a tensor


def _escapes(statements: list[ast.stmt], *, loop_level: bool) -> list[ast.stmt]:
    """Statements that jump out: `return` at any depth, `break` and `continue` of the loop around."""
    found: list[ast.stmt] = []
    for node in statements:
        if isinstance(node, ast.Return) or (loop_level and isinstance(node, ast.Break | ast.Continue)):
            found.append(node)
        elif isinstance(node, ast.If | ast.With):
            found += _escapes([*node.body, *getattr(node, "orelse", [])], loop_level=loop_level)
        elif isinstance(node, ast.For | ast.While):
            found += _escapes(node.body, loop_level=False)
    return found


def _uncertain(flows: dict[ast.AST, FlowNames]) -> set[str]:
    """Names that a loop or branch binds."""
    found: set[str] = set()
    for names in flows.values():
        found |= names.assigned
    return found


class _Rewriter(Stores):
    def __init__(self, function: ast.FunctionDef, liveness: Liveness) -> None:
        self.own = own_names(function)
        self.paths = Paths()
        self.flows = liveness.flows
        self.live = liveness.live
        self.metas: list[FlowMeta] = []
        self.uncertain = _uncertain(self.flows)  # names that may be bound on some paths only
        self.left: set[ast.AST] = set()  # `and` and `or` that are left operands of others
        self.given: set[ast.expr] = set()  # such names where they are arguments of a call
        self.asked: dict[tuple[str, tuple[str, ...]], Names] = {}  # by name and parameters of a function
        self.kept, bound = calls_that_may_give_none(function)  # calls, and names that hold what they give
        self.uncertain |= bound

    def _operand(self, body: ast.expr, key: int) -> ast.Lambda:
        """An operand that is evaluated where the runtime calls it."""
        marked = ast.arguments(
            posonlyargs=[], args=[], kwonlyargs=[ast.arg(MADE)], kw_defaults=[ast.Constant(key)], defaults=[]
        )
        return self._located(ast.Lambda(marked, body), body)

    def _operands_meta(self, node: ast.expr, operands: list[ast.expr], names: Names = EMPTY) -> int:
        """The number of what the runtime must know of operands, which are not rewritten yet."""
        bound = FlowNames(names, names)
        self.metas.append(
            FlowMeta(node, bound, len(self.metas), self.paths, writes=any(may_write(operand) for operand in operands))
        )
        return len(self.metas) - 1

    def _take(self, flow: str, names: Names) -> list[ast.stmt]:
        """`if "x" in flow.names: x = flow.names["x"]` for each name."""
        made: list[ast.stmt] = []
        for name in sorted(names):
            table = self._attribute(flow, "names")
            value = ast.Subscript(self._attribute(flow, "names"), ast.Constant(name), ast.Load())
            made.append(
                ast.If(
                    ast.Compare(ast.Constant(name), [ast.In()], [table]),
                    [ast.Assign([self._name(name, store=True)], value)],
                    [],
                )
            )
        return made

    def _meta(self, node: ast.For | ast.If, escapes: list[ast.stmt]) -> int:
        self.metas.append(FlowMeta(node, self.flows[node], len(self.metas), self.paths, escapes))
        return len(self.metas) - 1

    def ask(self, node: ast.FunctionDef | ast.Lambda) -> Names:
        """The parameters that a function asks whether they are None, or gives to others that may: the caller may give
        it a name that holds None on some paths only."""
        arguments = node.args
        names = tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        body, name = ([node.body], "<lambda>") if isinstance(node, ast.Lambda) else (node.body, node.name)
        asked = asks_for_none(body).intersection(names)
        self.asked[name, names] = asked & self.asked.get((name, names), asked)
        return asked

    # Statements.

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        escapes = node.returns if isinstance(node, ReturningFor) else _escapes(node.body, loop_level=True)
        key = self._meta(node, escapes)
        names = self.flows[node]
        flow = f"_pypto_flow{key}"
        iterable = self.visit(node.iter)
        reads = names.live_at_head.union(*map(loads_of, node.body))
        body = self._visit_all(node.body)
        end = ast.Expr(self._call(flow, "end", self._frame()))
        self._placed([end], node)
        begin = self._located(self._call(RUNTIME, "for_", ast.Constant(key), iterable, self._frame()), node.iter)
        opening = ast.Assign([self._name(flow, store=True)], begin)
        carried = names.assigned & (names.live_at_head | names.live_after)
        target, first = node.target, self._placed(self._take(flow, carried), node)
        if elements_in(target):
            target, pairs = self._without_elements(copy.deepcopy(target))
            for each, name in pairs:
                first += self._put_later(each, name, each, reads)
            first += self._forget([name for _, name in pairs], node)
        loop = ast.For(target, self._name(flow), [*first, *body, end], [])
        return self._placed([opening, loop, *self._take(flow, names.assigned & names.live_after)], node)

    visit_ReturningFor = visit_For

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        key = self._meta(node, _escapes([*node.body, *node.orelse], loop_level=True))
        names = self.flows[node]
        flow = f"_pypto_flow{key}"
        test = self._tested(node.test)
        begin = self._located(self._call(RUNTIME, "if_", ast.Constant(key), test, self._frame()), node.test)
        opening = ast.Assign([self._name(flow, store=True)], begin)
        parts: list[ast.stmt] = [opening]
        branches = (("then", node.body, EMPTY), ("otherwise", node.orelse, names.assigned))
        for word, statements, restored in branches:
            end = ast.Expr(self._call(flow, f"end_{word}", self._frame()))
            restore = self._placed(self._take(flow, restored), node)
            body = [*restore, *self._visit_all(statements), *self._placed([end], node)]
            parts.append(ast.If(self._call(flow, word), body, []))
        return self._placed([*parts, *self._take(flow, names.assigned & names.live_after)], node)

    visit_ReturningIf = visit_If

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        hoist(node)
        without_conditional_returns(node)
        outer, around, liveness = self.flows, self.own, Liveness(node)
        self.own = own_names(node)
        self.flows, self.live = liveness.flows, self.live | liveness.live
        known, self.uncertain = self.uncertain, self.uncertain | _uncertain(self.flows) | self.ask(node)
        # Naming the runtime makes it a captured variable, by which rewritten functions are known.
        keep = ast.copy_location(ast.Expr(ast.copy_location(self._name(RUNTIME), node.body[0])), node.body[0])
        node.body = [keep, *self._visit_all(node.body)]
        self.flows, self.uncertain, self.own = outer, known, around
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.test = self._located(self._call(RUNTIME, "truth", ast.Constant("while"), node.test), node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.generic_visit(node)
        node.test = self._located(self._call(RUNTIME, "truth", ast.Constant("assert"), node.test), node.test)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None:
            self._note_tested(node.value)
        self.generic_visit(node)
        if node.value is not None and not isinstance(node.value, ast.Constant):
            node.value = self._located(self._call(RUNTIME, "returned", node.value), node.value)
        return node

    # Expressions.

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        known, self.uncertain = self.uncertain, self.uncertain | self.ask(node)
        self.generic_visit(node)
        self.uncertain = known
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.uncertain:
            return node
        word = "given" if node in self.given or node in self.kept else "load"
        return self._located(self._call(RUNTIME, word, ast.copy_location(self._name(node.id), node)), node)

    def _note_tested(self, node: ast.expr) -> None:
        """An expression of which nothing but the truth is used: a name that holds None is none to refuse."""
        if isinstance(node, ast.Name):
            self.given.add(node)

    def _tested(self, node: ast.expr) -> ast.expr:
        self._note_tested(node)
        made: ast.expr = self.visit(node)
        return made

    @staticmethod
    def _binds(*nodes: ast.expr) -> bool:
        """Whether an expression binds a name, which a lambda would keep to itself."""
        return any(isinstance(inner, ast.NamedExpr) for node in nodes for inner in ast.walk(node))

    def _known(self, condition: ast.expr) -> ast.expr:
        """A condition of operands that bind names where no statement can be made of them."""
        return self._located(self._call(RUNTIME, "known", condition), condition)

    def visit_Known(self, node: Known) -> ast.expr:
        return self._located(self._call(RUNTIME, "is_known", self.visit(node.operand)), node)

    def visit_Holds(self, node: Holds) -> ast.expr:
        return self._located(self._call(RUNTIME, "holds", self._tested(node.operand)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if self._binds(*node.values[1:]):
            self.generic_visit(node)
            node.values[:-1] = [self._known(value) for value in node.values[:-1]]
            return node
        word = "left" if node in self.left else ""
        self.left.update(value for value in node.values[:-1] if isinstance(value, ast.BoolOp))
        keys = [self._operands_meta(value, [value]) for value in node.values[1:]]
        values: list[ast.expr] = [self.visit(value) for value in node.values]
        method = ("and_" if isinstance(node.op, ast.And) else "or_") + word
        rest = [self._operand(value, key) for value, key in zip(values[1:], keys, strict=True)]
        return self._located(self._call(RUNTIME, method, values[0], *rest), node)

    def _asks_for_none(self, node: ast.Compare) -> bool:
        """Whether it is `name is None` or `name is not None`, of a name that may be bound on some paths only."""
        left = node.left.value if isinstance(node.left, ast.NamedExpr) else node.left
        is_name = left in self.kept or (isinstance(node.left, ast.Name) and node.left.id in self.uncertain)
        is_identity = len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot)
        other = node.comparators[0]
        return is_name and is_identity and isinstance(other, ast.Constant) and other.value is None

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if self._asks_for_none(node):
            left = node.left if isinstance(node.left, ast.Name) else self.visit(node.left)
            asked = self._call(RUNTIME, "is_none", left, ast.Constant(type(node.ops[0]).__name__))
            return self._located(asked, node)
        if len(node.ops) == 1 or self._binds(*node.comparators):
            self.generic_visit(node)
            if len(node.ops) > 1:
                return node
            if not isinstance(node.ops[0], ast.Is | ast.IsNot):
                return self._compared(node)
            name = ast.Constant(type(node.ops[0]).__name__)
            return self._located(self._call(RUNTIME, "compare_two", name, node.left, node.comparators[0]), node)
        keys = [self._operands_meta(value, [value]) for value in node.comparators]
        self.generic_visit(node)
        names: list[ast.expr] = [ast.Constant(type(op).__name__) for op in node.ops]
        rest = [self._operand(value, key) for value, key in zip(node.comparators, keys, strict=True)]
        operators = ast.Tuple(names, ast.Load())
        return self._located(self._call(RUNTIME, "compare", operators, node.left, *rest), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if self._binds(node.body, node.orelse):
            self.generic_visit(node)
            node.test = self._known(node.test)
            return node
        key = self._operands_meta(node, [node.body, node.orelse], frozenset({CHOSEN}))
        self._note_tested(node.test)
        self.generic_visit(node)
        branches = [self._operand(value, key) for value in (node.body, node.orelse)]
        return self._located(self._call(RUNTIME, "select", node.test, *branches), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in {"any", "all"} and len(node.args) == 1:
            values = node.args[0]
            if isinstance(values, ast.GeneratorExp) and not self._binds(values.elt):
                values.elt = holds(values.elt)
                key = self._operands_meta(values.elt, [values.elt])
                self.generic_visit(node)
                values.elt = self._operand(values.elt, key)
                return self._located(self._call(RUNTIME, "quantified", node.func, values), node)
        names = [] if is_operation(node) else [each for each in given_to(node) if each.id in self.uncertain]
        self.given.update(names)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in {"super", "locals"}:
            return node
        word = "call_kept" if node in self.kept else "call_given" if names else "call"
        node.func = self._located(self._call(RUNTIME, word, node.func), node.func)
        return node


def rewrite(
    source: Source, function: types.FunctionType, live_at_end: Names, *, returns_frame: bool = False
) -> tuple[types.CodeType, list[FlowMeta]]:
    """The code of the rewritten function, with RUNTIME as one more free variable, and its loops and branches.

    With `returns_frame` (kernels) the function returns its local variables at the end.
    """
    tree = source.tree
    hoist(tree)
    if not returns_frame:
        without_conditional_returns(tree)
    liveness = Liveness(tree, live_at_end)
    source.live.update(liveness.by_line())
    rewriter = _Rewriter(tree, liveness)
    if not returns_frame:
        rewriter.uncertain |= rewriter.ask(tree)
    arguments = tree.args
    plain = ast.arguments(
        posonlyargs=[ast.arg(a.arg) for a in arguments.posonlyargs],
        args=[ast.arg(a.arg) for a in arguments.args],
        vararg=arguments.vararg and ast.arg(arguments.vararg.arg),
        kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
        kw_defaults=[None if value is None else ast.Constant(None) for value in arguments.kw_defaults],
        kwarg=arguments.kwarg and ast.arg(arguments.kwarg.arg),
        defaults=[ast.Constant(None) for _ in arguments.defaults],
    )
    # A first statement that names the runtime keeps it free even in functions without calls.
    keep = ast.Expr(ast.Name(RUNTIME, ast.Load()))
    body = [keep, *rewriter._visit_all(tree.body)]
    source.asked.update(rewriter.asked)
    if returns_frame:
        body.append(ast.Return(rewriter._frame()))
    # Not under its own name, which would hide a global that its body may read: itself.
    inner = ast.FunctionDef(_INNER, plain, body, [], None)
    free = [RUNTIME, *function.__code__.co_freevars]
    outer_arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in free], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    owner = owner_of_private_names(function, tree)
    holder = inner if owner is None else ast.ClassDef(owner, [], [], [inner], [])
    outer = ast.FunctionDef("_pypto_outer", outer_arguments, [holder], [], None)
    ast.copy_location(keep, tree)
    ast.copy_location(inner, tree)
    ast.copy_location(holder, tree)
    ast.copy_location(outer, tree)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = compile(module, source.filename, "exec", dont_inherit=True)
    found = find(code, "_pypto_outer")
    found = found if owner is None else find(found, owner)
    return named(find(found, _INNER), tree.name), rewriter.metas
