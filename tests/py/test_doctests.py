"""The examples of the docstrings do what they say."""

import doctest
import importlib
import pkgutil

import pytest

import quabla as qb

MODULES = ["quabla", *(m.name for m in pkgutil.walk_packages(qb.__path__, "quabla."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"qb": qb}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not failed
