"""Every public name exists, and takes its documented parameters in order, by name and with their defaults."""

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import quabla as qb


class Listed(NamedTuple):
    owner: str
    name: str
    starred: bool
    parameters: ast.arguments | None

    def __repr__(self):
        return f"{self.owner}.{self.name}"


def read():
    owner, found = "", []
    for line in (Path(__file__).parent / "data" / "signatures.txt").read_text().splitlines():
        if line.startswith("["):
            owner = line.strip("[]")
        elif line and not line.startswith("#"):
            text = line.removeprefix("- ")
            parameters = None
            if "(" in text:
                (definition,) = ast.parse(f"def {text}: ...").body
                assert isinstance(definition, ast.FunctionDef)
                parameters = definition.args
            found.append(Listed(owner, text.partition("(")[0], text is line, parameters))
    return found


LISTED = read()


def case(listed):
    return pytest.param(listed, id=repr(listed))


def owner_of(name: str) -> Any:
    """A module, or a class of the package."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


def value(node: ast.expr) -> Any:
    return getattr(qb, node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)


def listed_defaults(a: ast.arguments) -> dict[str, Any]:
    positional = [p.arg for p in a.args]
    found = dict(zip(positional[len(positional) - len(a.defaults) :], map(value, a.defaults), strict=True))
    found |= {p.arg: value(d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
    return found


@pytest.mark.parametrize("listed", [case(x) for x in LISTED])
def test_name(listed):
    owner = owner_of(listed.owner)
    found = getattr(owner, listed.name)
    if inspect.ismodule(owner):
        assert (listed.name in owner.__all__) == listed.starred
    if listed.parameters is None or (inspect.isclass(found) and not ast.unparse(listed.parameters)):
        return
    actual = dict(inspect.signature(found).parameters)
    if inspect.isclass(owner) and not isinstance(inspect.getattr_static(owner, listed.name), staticmethod):
        del actual[next(iter(actual))]  # self
    kinds = inspect.Parameter
    by_position = [p for p in actual.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    wanted = [p.arg for p in listed.parameters.args]
    assert [p.name for p in by_position[: len(wanted)]] == wanted
    assert all(p.kind is kinds.POSITIONAL_OR_KEYWORD for p in by_position[: len(wanted)])
    for p in listed.parameters.kwonlyargs:
        assert actual[p.arg].kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        wanted.append(p.arg)
    if listed.parameters.vararg is not None:
        assert any(p.kind is kinds.VAR_POSITIONAL for p in actual.values())
    for name, default in listed_defaults(listed.parameters).items():
        assert actual[name].default == default
        assert type(actual[name].default) is type(default)
    variadic = (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    for name in actual.keys() - set(wanted):
        assert actual[name].kind in variadic or actual[name].default is not kinds.empty


def test_everything_starred_is_listed_or_newer():
    """The list holds each name once, and nothing that __all__ lacks by mistake."""
    names = [(x.owner, x.name) for x in LISTED]
    assert len(set(names)) == len(names)
    for module in ("quabla", "quabla.linalg", "quabla.random", "quabla.tree"):
        starred = {x.name for x in LISTED if x.owner == module and x.starred}
        assert starred <= set(owner_of(module).__all__)
