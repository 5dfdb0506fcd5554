"""Einstein summation: any equation, as transposes, reshapes, sums and matrix products of two operands at a time.

In what order more than two operands are multiplied is opt_einsum's choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from quabla import errors
from quabla.ops.dispatch import Value, apply, promote, weakly
from quabla.ops.elementwise import MUL
from quabla.ops.indexing import SLICE
from quabla.ops.linalg import MATMUL
from quabla.ops.reductions import SUM
from quabla.ops.shaping import RESHAPE, TRANSPOSE

__all__ = ["einsum"]

#: A term: a label for each axis. Labels of an ellipsis are ``.0``, ``.1``, … counted from its last axis.
Labels = tuple[str, ...]
Term = tuple[Value, Labels]


def einsum(equation: object, *operands: object) -> Value:
    """Sums of products of elements of arrays, by Einstein's summation convention.

    Args:
        equation: a term for each operand, separated by commas, each with a letter for each axis or ``...`` for any
            number of them; then, after ``->``, the axes of the result. Letters that the result lacks are summed over;
            a letter twice in a term takes a diagonal. Without ``->`` the result has the letters that occur once, in
            alphabetical order, after those of ``...``.
        operands: arrays, or one list or tuple of arrays. Extents of 1 broadcast.

    Raises:
        ValueError: for an equation that is malformed or does not fit the operands, bool arrays, or different float
            dtypes.
        TypeError: where the equation is not a string.

    Example:
        >>> import quabla as qb
        >>> a = qb.array([[1.0, 2.0], [3.0, 4.0]])
        >>> qb.einsum("ij,jk->ik", a, a).tolist()
        [[7.0, 10.0], [15.0, 22.0]]
        >>> qb.einsum("ii", a).item()
        5.0
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation must be a string, got {equation!r}{errors.at_user_line()}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise _malformed(equation, f"it has {len(terms)} terms for {len(operands)} operands")
    values, weak = promote("einsum", *operands)
    labels = [_labels(equation, t, v) for t, v in zip(terms, values, strict=True)]
    extents = _extents(equation, values, labels)
    wanted = _wanted(equation, output if "->" in equation else None, labels)
    parts = [_simplified(v, n, extents) for v, n in zip(values, labels, strict=True)]
    value, have = _reduced(parts, wanted, extents)
    return weakly(_permuted(value, have, wanted), weak)


# ---- reading the equation -----------------------------------------------------------------------


def _malformed(equation: str, why: str) -> ValueError:
    return ValueError(f"einsum: {equation!r}: {why}{errors.at_user_line()}")


def _split_term(equation: str, term: str) -> tuple[str, str | None]:
    """The letters before and after the ellipsis; None after where there is no ellipsis."""
    head, dots, tail = term.partition("...")
    for letter in head + tail:
        if not (letter.isascii() and letter.isalpha()):
            raise _malformed(equation, f"{letter!r} in {term!r} is not a letter")
    return head, tail if dots else None


def _labels(equation: str, term: str, x: Value) -> Labels:
    head, tail = _split_term(equation, term)
    spare = x.type.ndim - len(head) - len(tail or "")
    if spare < 0 or (spare and tail is None):
        raise _malformed(equation, f"the term {term!r} does not fit an operand of type {x.type}")
    return (*head, *(f".{i}" for i in range(spare - 1, -1, -1)), *(tail or ""))


def _extents(equation: str, values: Sequence[Value], labels: Sequence[Labels]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for v, names in zip(values, labels, strict=True):
        within: dict[str, int] = {}
        for name, n in zip(names, v.type.shape, strict=True):
            if within.setdefault(name, n) != n:
                raise _malformed(equation, f"{name!r} has the extents {within[name]} and {n} in one operand")
            known = extents.get(name, 1)
            if known != n and 1 not in (known, n):
                raise _malformed(equation, f"{name!r} has the extents {known} and {n}")
            extents[name] = n if known == 1 else known
    return extents


def _wanted(equation: str, output: str | None, labels: Sequence[Labels]) -> Labels:
    occurring = Counter(name for names in labels for name in names)
    dotted = tuple(sorted((n for n in occurring if n[0] == "."), key=lambda n: -int(n[1:])))
    if output is None:
        return (*dotted, *sorted(n for n, times in occurring.items() if times == 1 and n[0] != "."))
    head, tail = _split_term(equation, output)
    names = (*head, *(dotted if tail is not None else ()), *(tail or ""))
    if len(set(names)) != len(names):
        raise _malformed(equation, "a letter is repeated in the result")
    for name in names:
        if name not in occurring:
            raise _malformed(equation, f"{name!r} in the result is in no term")
    if tail is None and dotted:
        raise _malformed(equation, "the result needs '...' for the axes that the terms have there")
    return names


# ---- computing ----------------------------------------------------------------------------------


def _simplified(x: Value, labels: Labels, extents: dict[str, int]) -> Term:
    """A term whose labels are distinct and whose extents are those of the whole: broadcast axes are dropped."""
    shape = x.type.shape
    kept = [i for i, name in enumerate(labels) if shape[i] == extents[name]]
    if len(kept) != len(labels):
        x = apply(RESHAPE, (x,), (tuple([shape[i] for i in kept]),))
        labels = tuple([labels[i] for i in kept])
    while len(set(labels)) != len(labels):
        name = next(n for n in labels if labels.count(n) > 1)
        i = labels.index(name)
        j = labels.index(name, i + 1)
        x = _diagonal(x, i, j)
        labels = (*[n for k, n in enumerate(labels) if k not in (i, j)], name)
    return x, labels


def _diagonal(x: Value, i: int, j: int) -> Value:
    """The elements whose positions along axes i and j are equal, along a new last axis."""
    rest = [k for k in range(x.type.ndim) if k not in (i, j)]
    x = apply(TRANSPOSE, (x,), ((*rest, i, j),))
    *lead, n, _ = x.type.shape
    x = apply(RESHAPE, (x,), ((*lead, n * n),))
    return apply(SLICE, (x,), (len(lead), 0, n, n + 1))


def _reduced(parts: list[Term], wanted: Labels, extents: dict[str, int]) -> Term:
    """All terms multiplied, two at a time."""
    parts = [_summed(part, i, parts, wanted) for i, part in enumerate(parts)]
    for i, j in _path([frozenset(names) for _, names in parts], wanted, extents):
        rest = [part for k, part in enumerate(parts) if k not in (i, j)]
        needed = {*wanted, *(name for _, names in rest for name in names)}
        parts = [*rest, _multiplied(parts[i], parts[j], needed, extents)]
    return parts[0]


def _path(terms: list[frozenset[str]], wanted: Labels, extents: dict[str, int]) -> list[tuple[int, int]]:
    """Which two terms to multiply, one pair after the other; each product goes to the end of the list."""
    if len(terms) <= 2:
        return [(0, 1)][: len(terms) - 1]
    from opt_einsum import paths

    # An extent of 0 would make every order free.
    sizes = {name: n or 1 for name, n in extents.items()}
    return [(i, j) for i, j in paths.auto(list(terms), frozenset(wanted), sizes)]


def _summed(part: Term, i: int, parts: list[Term], wanted: Labels) -> Term:
    """The term summed over labels that nothing else has."""
    x, labels = part
    needed = {*wanted, *(name for k, (_, names) in enumerate(parts) if k != i for name in names)}
    axes = tuple([k for k, name in enumerate(labels) if name not in needed])
    if not axes:
        return part
    return apply(SUM, (x,), (axes,)), tuple([name for name in labels if name in needed])


def _multiplied(left: Term, right: Term, needed: set[str], extents: dict[str, int]) -> Term:
    (x, p), (y, q) = left, right
    batch = tuple([n for n in p if n in q and n in needed])
    inner = tuple([n for n in p if n in q and n not in needed])
    rows = tuple([n for n in p if n not in q])
    columns = tuple([n for n in q if n not in p])
    names = (*batch, *rows, *columns)
    if not inner:
        first = _grouped(x, p, names, extents)
        second = _grouped(y, q, names, extents)
        return apply(MUL, (first, second)), names
    stack = [extents[n] for n in batch]
    m, k, n = (prod([extents[name] for name in group]) for group in (rows, inner, columns))
    first = apply(RESHAPE, (_permuted(x, p, (*batch, *rows, *inner)),), ((*stack, m, k),))
    second = apply(RESHAPE, (_permuted(y, q, (*batch, *inner, *columns)),), ((*stack, k, n),))
    product = apply(MATMUL, (first, second))
    return apply(RESHAPE, (product,), (tuple([extents[name] for name in names]),)), names


def _permuted(x: Value, have: Labels, want: Labels) -> Value:
    return apply(TRANSPOSE, (x,), (tuple([have.index(name) for name in want]),)) if have != want else x


def _grouped(x: Value, have: Labels, want: Labels, extents: dict[str, int]) -> Value:
    """``x`` with its axes in the order of ``want``, and axes of extent 1 for the labels that it lacks."""
    x = _permuted(x, have, tuple([name for name in want if name in have]))
    shape = tuple([extents[name] if name in have else 1 for name in want])
    return apply(RESHAPE, (x,), (shape,)) if x.type.shape != shape else x
