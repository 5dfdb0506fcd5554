"""Pytrees: nested containers whose leaves are arrays or other values.

Nodes are dict (keys in sorted order), list, tuple, None (a node without leaves), every NamedTuple, and the classes
that ``register`` and ``register_dataclass`` make known. Everything else is a leaf, subclasses of containers included;
arguments of transforms may not contain such subclasses, because it is too easy to take them for nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, TypeVar, overload

import numpy as np

from quabla import errors

__all__ = [
    "TreeDef",
    "flatten",
    "flatten_with_path",
    "leaves",
    "map",
    "register",
    "register_dataclass",
    "structure",
    "unflatten",
]

_T = TypeVar("_T")
Path = tuple[Any, ...]

_NAMESPACE: Final = "quabla"
_CACHED: Final = 4096


class TreeDef:
    """The structure of a pytree: what remains when its leaves are taken out.

    Equal structures are equal and hash alike. Structures come from ``flatten`` and ``structure``.

    Attributes:
        num_leaves: the number of leaves.

    Example:
        >>> qb.tree.structure({"b": 1.0, "a": [2.0, None]})
        TreeDef({'a': [*, None], 'b': *})
    """

    __slots__ = ("_hash", "_paths", "_spec", "exact", "foreign", "num_leaves")

    def __init__(self, node: Any) -> None:
        self._spec = node
        self._hash = hash(node)
        self._paths: list[Path] | None = None
        self.num_leaves: int = node.num_leaves
        #: Classes that the engine opens and we do not; a structure with some is never handed out.
        self.foreign: set[type] = set()
        #: What tells apart structures that the engine calls equal: keys and static data that are not text.
        self.exact: list[Any] = []
        self._walk(self._inspect)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The pytree of this structure with these leaves.

        Raises:
            ValueError: where the number of leaves differs.
        """
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"tree: the structure {self} has {self.num_leaves} leaves, got {len(values)}{errors.at_user_line()}"
            )
        return self._spec.unflatten(values)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of another pytree in the places of this structure's leaves.

        Raises:
            ValueError: where the pytree does not start with this structure.
        """
        try:
            return self._spec.flatten_up_to(tree)
        except ValueError:
            raise ValueError(f"expected {self.text()}, got {structure(tree).text()}") from None

    def paths(self) -> list[Path]:
        """For each leaf, the keys, indices and field names that lead to it."""
        found = self._paths
        if found is None:
            found = self._paths = self._walk(_join_paths, lambda _: [()])
        return found

    def _walk(self, node: Callable[[Any, Any, Sequence[Any]], Any], leaf: Callable[[Any], Any] | None = None) -> Any:
        return self._spec.walk(range(self.num_leaves), node, leaf)

    def _inspect(self, cls: type | None, data: Any, children: Sequence[Any]) -> None:
        if cls is dict:
            try:
                sorted(data)
            except TypeError:
                raise TypeError(
                    f"tree: the keys of a dict must have an order, got {', '.join(repr(k) for k in data)}"
                    f"{errors.at_user_line()}"
                ) from None
            if any(k.__class__ is not str for k in data):
                self.exact.append(exact_key(tuple(data)))
        elif cls in _registered:
            try:
                hash(data)
            except TypeError as e:
                raise TypeError(
                    f"tree: the static data of {cls.__qualname__} must be hashable: {e}{errors.at_user_line()}"
                ) from None
            if data is not None and data != ():
                self.exact.append(exact_key(data))
        elif cls is not None and cls not in _PLAIN and not _is_namedtuple(cls):
            self.foreign.add(cls)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, TreeDef) and self._spec == other._spec and self.exact == other.exact

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"TreeDef({self.text()})"

    def text(self, leaves: Sequence[str] | None = None) -> str:
        """The structure as Python writes it, with these texts in the places of its leaves."""
        return self._walk(_node_text, lambda i: "*" if leaves is None else leaves[i])


def exact_key(value: Any) -> tuple[type, Any]:
    """A hashable value as a key that keeps apart what Python calls equal: 1, True and 1.0, or 0.0 and -0.0."""
    kind = value.__class__
    if isinstance(value, (float, np.floating)):
        return kind, float(value).hex()
    if isinstance(value, tuple):
        return kind, tuple([exact_key(x) for x in value])
    if isinstance(value, frozenset):
        return kind, frozenset([exact_key(x) for x in value])
    return kind, value


def _is_namedtuple(cls: Any) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")


def _names(cls: Any, data: Any, count: int) -> Iterable[Any]:
    """What stands in a path for each child of a node."""
    if cls is None:
        return range(count)
    if cls is dict:
        return data
    if _is_namedtuple(cls):
        return cls._fields
    return _registered.get(cls) or range(count)


def _join_paths(cls: type | None, data: Any, children: Sequence[list[Path]]) -> list[Path]:
    names = _names(cls, data, len(children))
    return [(name, *path) for name, paths in zip(names, children, strict=True) for path in paths]


def _node_text(cls: type | None, data: Any, children: Sequence[str]) -> str:
    if cls is None or cls is type(None):
        return "None"
    inside = ", ".join(children)
    if cls is list:
        return f"[{inside}]"
    if cls is tuple:
        return f"({inside},)" if len(children) == 1 else f"({inside})"
    if cls is dict:
        return "{" + ", ".join([f"{k!r}: {c}" for k, c in zip(data, children, strict=True)]) + "}"
    if _is_namedtuple(cls):
        inside = ", ".join([f"{k}={c}" for k, c in zip(_names(cls, data, 0), children, strict=True)])
        return f"{cls.__qualname__}({inside})"
    return f"{cls.__qualname__}({', '.join([*children, f'aux={data!r}'])})"


# ---- the engine ---------------------------------------------------------------------------------


def _first_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The flatten of optree, imported at its first use and put in this function's place."""
    global _engine
    from functools import partial

    import optree

    _engine = partial(optree.tree_flatten, none_is_leaf=False, namespace=_NAMESPACE)
    return _engine(tree, is_leaf)


_engine: Callable[..., tuple[list[Any], Any]] = _first_flatten
_treedefs: Final[dict[Any, TreeDef]] = {}
_variants: Final[dict[TreeDef, TreeDef]] = {}
_foreign: Final[set[type]] = set()
_PLAIN: Final = (dict, list, tuple, type(None))
#: Registered classes, each with its children's names, empty where they are numbered.
_registered: Final[dict[type, tuple[str, ...]]] = {}


def _treedef(spec: Any) -> TreeDef:
    """The one TreeDef of a structure."""
    found = _treedefs.get(spec)
    if found is None:
        if len(_treedefs) > _CACHED:
            _treedefs.clear()
        found = _treedefs[spec] = TreeDef(spec)
    elif found.exact:  # the same as another of the structures that the engine calls equal to it
        here = TreeDef(spec)
        if here.exact != found.exact:
            if len(_variants) > _CACHED:
                _variants.clear()
            return _variants.setdefault(here, here)
    return found


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a pytree in order, and its structure.

    Raises:
        TypeError: for a dict whose keys have no order.

    Example:
        >>> qb.tree.flatten({"b": 1.0, "a": [2.0, None]})
        ([2.0, 1.0], TreeDef({'a': [*, None], 'b': *}))
    """
    values, spec = _engine(tree)
    treedef = _treedef(spec)
    while treedef.foreign:
        _foreign.update(treedef.foreign)
        values, spec = _engine(tree, _is_foreign)
        treedef = _treedef(spec)
    return values, treedef


def _is_foreign(x: Any) -> bool:
    return x.__class__ in _foreign


def unflatten(treedef: Any, leaves: Iterable[Any]) -> Any:
    """The pytree of this structure with these leaves.

    Raises:
        TypeError: where ``treedef`` is not a TreeDef.
        ValueError: where the number of leaves differs.

    Example:
        >>> qb.tree.unflatten(qb.tree.structure({"a": 0, "b": (0, 0)}), [1.0, 2.0, 3.0])
        {'a': 1.0, 'b': (2.0, 3.0)}
    """
    if not isinstance(treedef, TreeDef):
        raise TypeError(f"tree.unflatten: needs a TreeDef, got {type(treedef).__name__}{errors.at_user_line()}")
    return treedef.unflatten(leaves)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree in order.

    Example:
        >>> qb.tree.leaves({"b": 1.0, "a": [2.0, None]})
        [2.0, 1.0]
    """
    return flatten(tree)[0]


def structure(tree: Any) -> TreeDef:
    """The structure of a pytree.

    Example:
        >>> qb.tree.structure([1.0, (2.0, None)])
        TreeDef([*, (*, None)])
    """
    return flatten(tree)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The pytree of the results of ``f`` on the leaves of ``tree`` and of the others, leaf by leaf.

    Raises:
        ValueError: where the structures differ.

    Example:
        >>> qb.tree.map(lambda p, g: p - 0.1 * g, {"w": 1.0}, {"w": 5.0})
        {'w': 0.5}
    """
    first, treedef = flatten(tree)
    columns = [first]
    for other in rest:
        values, found = flatten(other)
        if found != treedef:
            raise ValueError(f"tree.map: the structures {treedef} and {found} differ{errors.at_user_line()}")
        columns.append(values)
    return treedef.unflatten([f(*row) for row in zip(*columns, strict=True)])


def flatten_with_path(tree: Any) -> tuple[list[tuple[Path, Any]], TreeDef]:
    """Each leaf with the keys, indices and field names that lead to it, and the structure.

    Example:
        >>> qb.tree.flatten_with_path({"w": [1.0, 2.0]})[0]
        [(('w', 0), 1.0), (('w', 1), 2.0)]
    """
    values, treedef = flatten(tree)
    return list(zip(treedef.paths(), values, strict=True)), treedef


# ---- arguments of transforms --------------------------------------------------------------------

_leaf_classes: Final[set[type]] = set()


def named(owner: object) -> str:
    """How a message about the arguments of ``owner`` begins."""
    return "" if owner is None else f"{owner}: "


def flatten_args(tree: Any, owner: object = None) -> tuple[list[Any], TreeDef]:
    """What ``flatten`` gives, for an argument of a transform or a tuple of them.

    Raises:
        TypeError: for a container that is not a node, naming its class and where it stands.
    """
    values, spec = _engine(tree)
    treedef = _treedef(spec)
    if treedef.foreign:
        values, treedef = flatten(tree)
    for x in values:
        if x.__class__ not in _leaf_classes:
            _check_leaf(values, treedef, owner)
            break
    return values, treedef


def _check_leaf(values: Sequence[Any], treedef: TreeDef, owner: object) -> None:
    from collections import deque

    for i, x in enumerate(values):
        cls = x.__class__
        if isinstance(x, (dict, list, tuple, deque)) or cls in _foreign:
            instead = "use a plain dict, list or tuple, or register it with quabla.tree.register"
        elif hasattr(cls, "__dataclass_fields__"):
            instead = "register it with quabla.tree.register_dataclass"
        else:
            if len(_leaf_classes) < _CACHED:
                _leaf_classes.add(cls)
            continue
        where = "".join([f"[{k!r}]" for k in treedef.paths()[i]])
        raise TypeError(
            f"{named(owner)}arguments must be pytrees of arrays, got {cls.__qualname__}{where and ' at '}{where}; {instead}"
            f"{errors.at_user_line()}"
        )


# ---- registration -------------------------------------------------------------------------------


def register(
    cls: type[_T],
    flatten_fn: Callable[[_T], tuple[Iterable[Any], Hashable]],
    unflatten_fn: Callable[[Any, tuple[Any, ...]], _T],
) -> type[_T]:
    """Make instances of a class nodes of pytrees; instances of its subclasses stay leaves.

    Args:
        cls: the class.
        flatten_fn: gives the children and the hashable static data of an instance.
        unflatten_fn: makes an instance from static data and children.

    Returns:
        The class.

    Raises:
        TypeError: where ``cls`` is not a class.
        ValueError: for containers that are nodes anyway or never, and for a class that is registered already.

    Example:
        >>> class Layer:
        ...     def __init__(self, w, b):
        ...         self.w, self.b = w, b
        >>> layer = qb.tree.register(Layer, lambda x: ((x.w, x.b), None), lambda _, children: Layer(*children))
        >>> qb.tree.leaves(Layer(1.0, [2.0]))
        [1.0, 2.0]
    """
    return _register(cls, flatten_fn, unflatten_fn, ())


def _register(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_fn: Callable[[Any, tuple[Any, ...]], Any],
    names: tuple[str, ...],
) -> Any:
    if not isinstance(cls, type):
        raise TypeError(f"tree.register: needs a class, got {cls!r}{errors.at_user_line()}")
    if cls in _registered:
        raise ValueError(f"tree.register: {cls.__qualname__} is registered already{errors.at_user_line()}")
    if cls in _builtin_containers() or _is_namedtuple(cls):
        raise ValueError(f"tree.register: {cls.__qualname__} cannot be registered{errors.at_user_line()}")

    import optree

    def children(node: Any) -> tuple[tuple[Any, ...], Hashable]:
        parts = flatten_fn(node)
        if not isinstance(parts, tuple) or len(parts) != 2:
            raise TypeError(
                f"tree.register: the flatten function of {cls.__qualname__} must return a pair (children, static data), "
                f"got {parts!r}{errors.at_user_line()}"
            )
        return tuple(parts[0]), parts[1]

    optree.register_pytree_node(
        cls, children, lambda static, values: unflatten_fn(static, tuple(values)), namespace=_NAMESPACE
    )
    _registered[cls] = names
    _leaf_classes.discard(cls)
    return cls


def _builtin_containers() -> tuple[type, ...]:
    from collections import OrderedDict, defaultdict, deque

    return (*_PLAIN, OrderedDict, defaultdict, deque, set, frozenset)


@overload
def register_dataclass(
    cls: type[_T], data_fields: Iterable[str] | None = None, meta_fields: Iterable[str] = ()
) -> type[_T]: ...
@overload
def register_dataclass(
    cls: None = None, data_fields: Iterable[str] | None = None, meta_fields: Iterable[str] = ()
) -> Callable[[type[_T]], type[_T]]: ...
def register_dataclass(
    cls: type[_T] | None = None, data_fields: Iterable[str] | None = None, meta_fields: Iterable[str] = ()
) -> type[_T] | Callable[[type[_T]], type[_T]]:
    """Make instances of a dataclass nodes of pytrees.

    Args:
        cls: the dataclass; without it, the result is a decorator.
        data_fields: the fields that hold pytrees; by default all others than ``meta_fields``.
        meta_fields: fields with hashable static data, which become part of the structure.

    Returns:
        The class.

    Raises:
        TypeError: where ``cls`` is not a dataclass.
        ValueError: where the two lists do not name every field of ``__init__`` once, and for a class that is
            registered already.

    Example:
        >>> import dataclasses
        >>> import quabla as qb
        >>> @qb.tree.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     w: qb.Tensor
        ...     b: qb.Tensor
        >>> qb.tree.leaves(Layer(w=1.0, b=2.0))
        [1.0, 2.0]
    """
    meta = tuple(meta_fields)
    chosen = None if data_fields is None else tuple(data_fields)
    if cls is None:
        return lambda cls: _register_fields(cls, chosen, meta)
    return _register_fields(cls, chosen, meta)


def _register_fields(cls: Any, chosen: tuple[str, ...] | None, meta: tuple[str, ...]) -> Any:
    import dataclasses

    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeError(f"tree.register_dataclass: needs a dataclass, got {cls!r}{errors.at_user_line()}")
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    data = tuple([f for f in fields if f not in meta]) if chosen is None else chosen
    if sorted((*data, *meta)) != sorted(fields):
        raise ValueError(
            f"tree.register_dataclass: data_fields {list(data)} and meta_fields {list(meta)} must name every field "
            f"of {cls.__qualname__} once: {fields}{errors.at_user_line()}"
        )

    def flatten_fn(node: Any) -> tuple[tuple[Any, ...], Hashable]:
        return tuple([getattr(node, f) for f in data]), tuple([getattr(node, f) for f in meta])

    def unflatten_fn(static: Any, children: tuple[Any, ...]) -> Any:
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, static, strict=True)))

    return _register(cls, flatten_fn, unflatten_fn, data)


globals().update(errors.hide_library_frames_in({name: globals()[name] for name in __all__}))
