"""The examples of the docstrings give what they show, and every public function has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import quabla as qb

MODULES = ["quabla", *(m.name for m in pkgutil.walk_packages(qb.__path__, "quabla."))]
FUNCTIONS = {
    f"{module.__name__}.{name}": function
    for module in (qb, qb.distributed, qb.linalg, qb.ode, qb.optim, qb.random, qb.tree)
    for name, function in ((n, getattr(module, n)) for n in dir(module))
    if inspect.isfunction(function) and not name.startswith("_") and (module is qb or name in module.__all__)
}


#: Modules that need a package which not every machine has.
NEEDS = {"quabla.lowering.mlx.helpers": "mlx.core", "quabla.lowering.mlx.linalg": "mlx.core"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, extraglobs={"qb": qb}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


# Functions that are made from a record are not in the source of any module, where doctest would find them.
@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_function_has_an_example_that_runs(name):
    (found,) = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs={"qb": qb})
    assert found.examples
    failures, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found)
    assert failures == 0
