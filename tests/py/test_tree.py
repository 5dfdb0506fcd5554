"""Pytrees: what is a node, what is a leaf, and how structures compare, print and register."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest

from quabla import tree


class Point(NamedTuple):
    x: Any
    y: Any


class Box:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


tree.register(Box, lambda v: ((v.a, v.b), "aux"), lambda aux, children: Box(*children))


@tree.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


@tree.register_dataclass(meta_fields=("activation",))
@dataclasses.dataclass(frozen=True)
class Dense:
    w: Any
    activation: str


NESTED = {"b": 1.0, "a": [2.0, None, (3.0, Point(4.0, Box(5.0, {})))]}


def test_leaves_come_in_order_of_sorted_keys() -> None:
    assert tree.leaves(NESTED) == [2.0, 3.0, 4.0, 5.0, 1.0]
    assert tree.leaves({3: "c", 1: "a", 2: "b"}) == ["a", "b", "c"]


def test_none_is_a_node_without_leaves() -> None:
    assert tree.leaves(None) == []
    assert tree.map(lambda a: a, None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "TreeDef(*)"),
        (None, "TreeDef(None)"),
        ((), "TreeDef(())"),
        ({"b": 1.0, "a": [2.0, None]}, "TreeDef({'a': [*, None], 'b': *})"),
        ({"b": [1, None], "a": (2,)}, "TreeDef({'a': (*,), 'b': [*, None]})"),
        (Point(1, [2]), "TreeDef(Point(x=*, y=[*]))"),
        (Box(1, 2), "TreeDef(Box(*, *, aux='aux'))"),
    ],
)
def test_structure_prints_as_its_tree(value: Any, text: str) -> None:
    assert repr(tree.structure(value)) == text


def test_structures_compare_by_shape_of_the_tree_only() -> None:
    assert tree.structure({"a": 1, "b": 2}) == tree.structure({"b": 3, "a": 4})
    assert hash(tree.structure([1])) == hash(tree.structure(["x"]))
    assert tree.structure([1]) != tree.structure((1,))
    assert tree.structure([1]) != [1]
    assert tree.structure([1, (2, 3)]).num_leaves == 3


def test_unflatten_inverts_flatten() -> None:
    leaves, treedef = tree.flatten(NESTED)
    again = tree.unflatten(treedef, (2 * x for x in leaves))
    assert tree.leaves(again) == [2 * x for x in leaves]
    assert tree.structure(again) == treedef
    assert isinstance(again["a"][2][1], Point)
    assert treedef.unflatten(leaves)["a"][1] is None


@pytest.mark.parametrize("leaves", [[], [1], [1, 2, 3]])
def test_unflatten_rejects_another_number_of_leaves(leaves: list[int]) -> None:
    with pytest.raises(ValueError, match="has 2 leaves"):
        tree.unflatten(tree.structure([0, 0]), leaves)


def test_unflatten_needs_a_treedef() -> None:
    with pytest.raises(TypeError, match="TreeDef"):
        tree.unflatten([1], [1])


def test_map_combines_trees_of_one_structure() -> None:
    assert tree.map(lambda a, b: a + b, {"a": 1, "b": [2]}, {"a": 10, "b": [20]}) == {"a": 11, "b": [22]}
    with pytest.raises(ValueError, match="differ"):
        tree.map(lambda a, b: a, {"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="differ"):
        tree.map(lambda a, b: a, {"a": 1}, {"a": [1]})


def test_paths_name_keys_indices_and_fields() -> None:
    found, treedef = tree.flatten_with_path({"b": [1, 2], "a": Point(3, Box(4, Layer(5, 6)))})
    assert found == [
        (("a", "x"), 3),
        (("a", "y", 0), 4),
        (("a", "y", 1, "w"), 5),
        (("a", "y", 1, "b"), 6),
        (("b", 0), 1),
        (("b", 1), 2),
    ]
    assert treedef.num_leaves == 6
    assert tree.flatten_with_path(7)[0] == [((), 7)]


class Bag(dict[str, Any]):
    pass


FOREIGN = [
    collections.OrderedDict(a=1),
    collections.defaultdict(list, a=1),
    collections.deque([1]),
    Bag(a=1),
]


@pytest.mark.parametrize("value", FOREIGN, ids=lambda v: type(v).__name__)
def test_other_containers_are_leaves(value: Any) -> None:
    assert tree.leaves([value, 2]) == [value, 2]
    assert repr(tree.structure((value,))) == "TreeDef((*,))"


@pytest.mark.parametrize("value", FOREIGN, ids=lambda v: type(v).__name__)
def test_other_containers_are_rejected_as_arguments(value: Any) -> None:
    with pytest.raises(TypeError, match=rf"got {type(value).__name__} at \[1\]\['p'\]"):
        tree.flatten_args((1.0, {"p": value}))


def test_unregistered_dataclasses_are_rejected_as_arguments() -> None:
    made = dataclasses.make_dataclass("Params", ["w"])
    assert len(tree.leaves([made(1)])) == 1
    with pytest.raises(TypeError, match=r"got Params at \[0\].*register_dataclass"):
        tree.flatten_args((made(1),))
    tree.register_dataclass(made)
    assert tree.flatten_args((made(1),))[0] == [1]


def test_arguments_flatten_like_trees() -> None:
    leaves, treedef = tree.flatten_args((NESTED, 7.0))
    assert leaves == [2.0, 3.0, 4.0, 5.0, 1.0, 7.0]
    assert treedef == tree.structure((NESTED, 7.0))


def test_dict_keys_must_have_an_order() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="order"):
            tree.flatten({1: 0, "a": 0})


def test_dataclass_static_data_is_part_of_the_structure() -> None:
    assert tree.structure(Dense(1.0, "tanh")) == tree.structure(Dense(2.0, "tanh"))
    assert tree.structure(Dense(1.0, "tanh")) != tree.structure(Dense(1.0, "relu"))
    assert tree.map(lambda v: v + 1, Dense(1.0, "tanh")) == Dense(2.0, "tanh")
    with pytest.raises(TypeError, match="hashable"):
        tree.structure(Dense(1.0, []))  # type: ignore[arg-type]


def test_registration_is_for_the_exact_class() -> None:
    class Crate(Box):
        pass

    crate = Crate(1, 2)
    assert tree.leaves(crate) == [crate]


def test_registering_twice_or_a_container_is_an_error() -> None:
    for cls in (Box, dict, list, tuple, type(None), collections.OrderedDict, collections.deque, Point):
        with pytest.raises(ValueError, match="regist"):
            tree.register(cls, lambda v: ((), None), lambda aux, children: None)
    with pytest.raises(ValueError, match="already"):
        tree.register_dataclass(Layer)
    with pytest.raises(TypeError, match="class"):
        tree.register(3, lambda v: ((), None), lambda aux, children: None)  # type: ignore[type-var,arg-type]


def test_dataclass_fields_must_be_named_once() -> None:
    made = dataclasses.make_dataclass("Pair", ["w", "k"])
    for data, meta in ((("w",), ()), (("w", "k"), ("k",)), (("w", "q"), ("k",)), ((), ("w",))):
        with pytest.raises(ValueError, match="once"):
            tree.register_dataclass(made, data_fields=data, meta_fields=meta)
    with pytest.raises(TypeError, match="dataclass"):
        tree.register_dataclass(Box)
    assert tree.register_dataclass(made, data_fields=("w",), meta_fields=("k",)) is made
