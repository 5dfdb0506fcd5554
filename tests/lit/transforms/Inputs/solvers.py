"""Print what a transform makes of a program with an implicit derivative: python solvers.py SOLVER TRANSFORM."""

import sys

import quabla as qb

solver, transform = sys.argv[1:]
vector = qb.ShapeDtype((3,))


def solution(k, b):
    """x of ``k x = b`` elementwise."""
    if solver == "newton":
        return qb.newton(lambda x: k * x - b, b)
    return getattr(qb.linalg, solver)(lambda x: k * x, b)


def tangent(k, b, t):
    return qb.jvp(lambda k: solution(k, b), (k,), (t,))[1]


def cotangent(k, b, ct):
    return qb.vjp(lambda k: solution(k, b), k)[1](ct)[0]


def lanes(ks, b):
    return qb.vmap(lambda k: solution(k, b))(ks)


programs = {
    "value": (solution, (vector, vector)),
    "jvp": (tangent, (vector, vector, vector)),
    "vjp": (cotangent, (vector, vector, vector)),
    "vmap": (lanes, (qb.ShapeDtype((5, 3)), vector)),
}
program, specs = programs[transform]
print(qb.jit(program).lower(*specs).as_text(), end="")
