"""The pass table: this package's passes, and the most useful ones of MLIR and StableHLO by name.

A pass over functions runs on a ``func.func``, or on every function of a module. It reads the function as a graph,
emits another graph and writes it back, so it does exactly what the transform of the same name does while tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from quabla.mlir import ir
    from quabla.tracing.graph import Graph

__all__ = ["FUNCTION", "MODULE", "PASSES", "UPSTREAM", "Option", "Pass", "read_options"]

FUNCTION: Final = "func.func"
MODULE: Final = "builtin.module"

Options = Mapping[str, Any]


class Option(NamedTuple):
    """One option of a pass.

    Attributes:
        kind: ``"int"``; ``"ints"``, integers with commas between; or ``"axes"``, each ``0`` or ``none``.
    """

    name: str
    kind: str
    summary: str
    required: bool = False


class Pass(NamedTuple):
    """A pass of this package.

    Attributes:
        anchor: the op that it runs on, ``func.func`` or ``builtin.module``.
        run: ``(op, options) -> op``: the pass; it returns the op that is there afterwards.
    """

    name: str
    summary: str
    anchor: str
    options: tuple[Option, ...]
    run: Callable[[ir.Operation, Options], ir.Operation]


# ---- options --------------------------------------------------------------------------------------


def read_options(record: Pass, given: Mapping[str, str]) -> dict[str, Any]:
    """The values of a pass's options; None for those that are not given.

    Raises:
        ValueError: for an option that the pass does not have, that it needs, or whose value is of another kind.
    """
    known = {o.name: o for o in record.options}
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"no such option '{name}' of '{record.name}'; {has}")
    values: dict[str, Any] = {}
    for option in record.options:
        text = given.get(option.name)
        if text is None and option.required:
            raise ValueError(f"'{record.name}' needs the option '{option.name}': {option.summary}")
        values[option.name] = None if text is None else _option_value(record, option, text)
    return values


def _option_value(record: Pass, option: Option, text: str) -> Any:
    items = [item.strip() for item in text.split(",")]
    try:
        if option.kind == "axes":
            if any(item not in ("0", "none") for item in items):
                raise ValueError
            return [item == "0" for item in items]
        numbers = [int(item) for item in items]
        if min(numbers) < 0 or (option.kind == "int" and len(numbers) != 1):
            raise ValueError
    except ValueError:
        wanted = {
            "int": "a non-negative integer",
            "ints": "non-negative integers with commas between",
            "axes": "0 or none for each argument, with commas between",
        }[option.kind]
        raise ValueError(f"option '{option.name}' of '{record.name}' must be {wanted}, got '{text}'") from None
    return numbers[0] if option.kind == "int" else numbers


# ---- passes over functions ------------------------------------------------------------------------


def _over_graphs(transform: Callable[[Graph, Options], Graph]) -> Callable[[ir.Operation, Options], ir.Operation]:
    """The pass that applies a transform of graphs to a function."""

    def run(func: ir.Operation, options: Options) -> ir.Operation:
        from quabla.dialect import reader, writer
        from quabla.mlir import ir

        graph = transform(reader.read(func), options)
        name = ir.StringAttr(func.attributes["sym_name"]).value
        made = writer.write_func(graph, name, ir.InsertionPoint(func))
        if "sym_visibility" in func.attributes:
            made.attributes["sym_visibility"] = func.attributes["sym_visibility"]
        made.location = func.location
        func.erase()
        return made

    return run


def _simplify(graph: Graph, options: Options) -> Graph:
    from quabla.transforms.simplify import simplify

    return simplify(graph)


def _narrow(graph: Graph, options: Options) -> Graph:
    from quabla.transforms.narrowing import narrowed

    return narrowed(graph)


def _jvp(graph: Graph, options: Options) -> Graph:
    from quabla.transforms.forward import graph_jvp

    return _expanded(graph_jvp(graph, _wrt(graph, options["wrt"])))


def _vjp(graph: Graph, options: Options) -> Graph:
    from quabla.transforms.reverse import graph_vjp

    return _expanded(graph_vjp(graph, _wrt(graph, options["wrt"])))


def _wrt(graph: Graph, wrt: Sequence[int] | None) -> Sequence[int] | None:
    """The arguments to differentiate.

    Raises:
        ValueError: for an argument that is not there, is bool, or is named twice.
    """
    for i in wrt or ():
        if i >= len(graph.args):
            raise ValueError(f"wrt={i}: there is no such argument, the first of {len(graph.args)} is 0")
        if not graph.args[i].type.dtype.is_float:
            raise ValueError(f"wrt={i}: the argument is a {graph.args[i].type}, which has no derivative")
    if wrt is not None and len(set(wrt)) != len(wrt):
        raise ValueError(f"wrt={','.join(map(str, wrt))}: an argument is named twice")
    return wrt


def _vmap(graph: Graph, options: Options) -> Graph:
    from quabla.transforms.batching import graph_vmap

    mapped = options["in-axes"]
    if mapped is not None and len(mapped) != len(graph.args):
        raise ValueError(f"in-axes: needs an entry for each argument, {len(graph.args)} of them, got {len(mapped)}")
    return _expanded(graph_vmap(graph, options["size"], mapped))


def _expanded(graph: Graph) -> Graph:
    """The graph with choices that differ by lane as both branches and a selection: modules hold no others."""
    from quabla.transforms.expansion import expanded

    return expanded(graph)


# ---- passes over modules --------------------------------------------------------------------------


def _convert(module: ir.Operation, options: Options) -> ir.Operation:
    from quabla.lowering.to_stablehlo import convert

    convert(module.opview)
    return module


def _exact_f32(module: ir.Operation, options: Options) -> ir.Operation:
    from quabla.lowering.exact_f32 import widen

    widen(module.opview)
    return module


_WRT: Final = Option("wrt", "ints", "the arguments to differentiate, from 0 (default: all float ones)")

PASSES: Final = {
    p.name: p
    for p in (
        Pass(
            "convert-qb-to-stablehlo",
            "Lower functions of qb ops to StableHLO; what StableHLO lacks becomes composites",
            MODULE,
            (),
            _convert,
        ),
        Pass(
            "qb-jvp",
            "Forward mode: take the tangents of arguments too, return the results' tangents too",
            FUNCTION,
            (_WRT,),
            _over_graphs(_jvp),
        ),
        Pass(
            "qb-narrow",
            "Make every function what it would be with float32 for float64",
            FUNCTION,
            (),
            _over_graphs(_narrow),
        ),
        Pass(
            "qb-simplify",
            "Emit every function again with folding, sharing, hoisting and dead-code elimination",
            FUNCTION,
            (),
            _over_graphs(_simplify),
        ),
        Pass(
            "qb-vjp",
            "Reverse mode: take a cotangent for each result too, return the cotangents of arguments too",
            FUNCTION,
            (_WRT,),
            _over_graphs(_vjp),
        ),
        Pass(
            "qb-vmap",
            "Map every function over a new first axis of its arguments and results",
            FUNCTION,
            (
                Option("size", "int", "the extent of the mapped axis", required=True),
                Option("in-axes", "axes", "for each argument 0 (mapped) or none (default: all mapped)"),
            ),
            _over_graphs(_vmap),
        ),
        Pass(
            "stablehlo-exact-f32",
            "Compute every float32 op of a StableHLO program in float64 and round once",
            MODULE,
            (),
            _exact_f32,
        ),
    )
}

#: Passes of MLIR and StableHLO that are at home on these programs. Any other that the bindings register runs too.
UPSTREAM: Final = {
    "canonicalize": "Canonicalize operations",
    "chlo-legalize-to-stablehlo": "Legalize from CHLO ops to StableHLO and shape ops",
    "composite-fixed-point-pass": "Repeat a pipeline until a fixed point is reached",
    "cse": "Eliminate common sub-expressions",
    "generate-runtime-verification": "Generate additional runtime op verification checks",
    "inline": "Inline function calls",
    "loop-invariant-code-motion": "Hoist loop invariant instructions outside of the loop",
    "loop-invariant-subset-hoisting": "Hoist loop invariant subset ops outside of the loop",
    "mem2reg": "Promote memory slots into values",
    "print-op-stats": "Print statistics of operations",
    "remove-dead-values": "Remove dead values",
    "sccp": "Sparse conditional constant propagation",
    "scf-for-loop-canonicalization": "Canonicalize operations within scf.for loop bodies",
    "scf-for-to-while": "Convert SCF for loops to SCF while loops",
    "sroa": "Scalar replacement of aggregates",
    "stablehlo-canonicalize-dynamism": "Canonicalize dynamic StableHLO ops into static ops",
    "stablehlo-check-shape-assertions": "Check stablehlo.custom_call @shape_assertion ops",
    "stablehlo-compatibility-expander": "Expand newer ops for older versions of StableHLO",
    "stablehlo-complex-math-expander": "Expand complex math operations into real ones",
    "stablehlo-convert-to-signless": "Transform the IR to signless integers",
    "stablehlo-legalize-composite-to-call": "Replace composites by calls of their decompositions",
    "stablehlo-legalize-deprecated-ops": "Legalize deprecated ops to well-supported ops",
    "stablehlo-legalize-to-linalg": "Legalize StableHLO to linalg",
    "stablehlo-legalize-to-vhlo": "Legalize StableHLO to VHLO",
    "stablehlo-refine-arguments": "Refine the argument types of main",
    "stablehlo-refine-shapes": "Refine shapes across a StableHLO program",
    "stablehlo-wrap-in-composite": "Wrap StableHLO ops in composites",
    "strip-debuginfo": "Strip debug info from all operations",
    "symbol-dce": "Eliminate dead symbols",
    "symbol-privatize": "Mark symbols private",
    "topological-sort": "Sort regions without SSA dominance topologically",
    "trivial-dce": "Eliminate trivially dead operations",
    "view-op-graph": "Print Graphviz visualization of an operation",
    "vhlo-legalize-to-stablehlo": "Legalize VHLO to StableHLO",
    "vhlo-to-version": "Convert between versions of VHLO",
}
