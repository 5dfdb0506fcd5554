"""Saving and loading: safetensors files, with the structure around the arrays as JSON in their metadata.

A file holds arrays and text, and loading runs nothing of it. What it says about sizes is checked against what it has
before memory is taken for it. Layout of the container: a length of 8 bytes (little-endian), a JSON header of that length
with dtype, shape and offsets for each name, and the arrays' elements one after the other
(https://github.com/huggingface/safetensors#format).

The metadata hold ``format``, ``version`` and ``tree``, which is JSON text again. In it ``null``, bools, strings and lists
stand for themselves, and ``{"int": "0x2a"}``, ``{"float": "0x1.8p+0"}``, ``{"tuple": [...]}``,
``{"dict": [key, value, key, value, ...]}`` and ``{"array": "name of the tensor"}`` for the rest.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Final, NoReturn, cast

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype
from quabla.ops import dispatch
from quabla.ops.dispatch import Value
from quabla.ops.eager import wrap
from quabla.ops.types import tensor_type

__all__ = ["load", "save"]

NumpyArray = np.ndarray[Any, Any]
_File = str | os.PathLike[str] | BinaryIO

_FORMAT: Final = "quabla"
_VERSION: Final = "1"
_METADATA: Final = "__metadata__"
_ROOT: Final = "value"
#: What the safetensors library accepts too.
_LONGEST_HEADER: Final = 100_000_000
#: Python's JSON parser recurses; this is within its reach from anywhere but a deep recursion.
_DEEPEST: Final = 200
_DTYPES: Final = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "BOOL": dtypes.bool_,
    "I32": dtypes.int32,
    "I64": dtypes.int64,
}
_CODES: Final = {d: code for code, d in _DTYPES.items()}
_CHUNK: Final = 1 << 24
_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"


def save(file: _File, tree: Any) -> None:
    """Write a tree of arrays and Python values to a file, so that ``load`` gives it back exactly.

    Arrays keep every bit, floats are exact, ints have any size and dicts keep their order. The file is a safetensors
    file, whose tensors other programs read under the names of their places in the tree, such as ``params/w/0``.

    Writing to a path makes a new file beside it, waits until that is on the disk, and then puts it in the place of the
    old one: whenever the program or the machine stops, the path holds the old file or the new one.

    Args:
        file: a path, or a binary file that is open for writing.
        tree: dicts with string or int keys, lists, tuples, None, arrays of quabla, bools, ints, floats and strings.
            Subclasses of these are not taken, since they would not come back.

    Raises:
        TypeError: for anything else in the tree, naming its place.
        ValueError: for containers nested more than 200 deep.
        OSError: where the file cannot be written.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> qb.save(file, {"w": qb.array([1.0, 2.0]), "step": 3})
        >>> _ = file.seek(0)
        >>> qb.load(file)
        {'w': Tensor([1., 2.], dtype=float64), 'step': 3}
    """
    is_path = _is_path("save", file, "write")
    chunks = _serialized(tree)
    if not is_path:
        from io import TextIOBase

        if isinstance(file, TextIOBase):
            raise TypeError(f"save: needs a file that is open in binary mode, got {file!r}")
        _write(cast("BinaryIO", file), chunks)
    else:
        _replace(os.path.realpath(os.fspath(cast("str", file))), chunks)


def load(file: _File) -> Any:
    """Read what ``save`` wrote; also the arrays of any safetensors file or NumPy ``.npz`` file, as a dict.

    Args:
        file: a path, or a binary file that is open for reading. Of a binary file nothing is read beyond the end of the
            tree, so that several can follow each other; bytes that follow in a path are ignored.

    Raises:
        FileNotFoundError: where there is no such file.
        ValueError: where the file is malformed or truncated, saying what is wrong, or has arrays of other dtypes than
            float64, float32, bool, int32 and int64.

    Example:
        >>> qb.load("checkpoint.safetensors")
        Traceback (most recent call last):
        ...
        FileNotFoundError: [Errno 2] No such file or directory: 'checkpoint.safetensors'
    """
    if not _is_path("load", file, "read"):
        stream = cast("BinaryIO", file)
        return _Reader(stream, str(getattr(stream, "name", type(stream).__name__))).tree()
    path = os.fspath(cast("str", file))
    with open(path, "rb") as stream:
        return _Reader(stream, path).tree()


def _is_path(name: str, file: Any, method: str) -> bool:
    if isinstance(file, (str, os.PathLike)):
        return True
    if callable(getattr(file, method, None)):
        return False
    raise TypeError(
        f"{name}: needs a path or a binary file, got {file!r} of type {type(file).__name__}{errors.at_user_line()}"
    )


# ---- writing ------------------------------------------------------------------------------------


class _Encoder:
    """Turns a tree into JSON values and collects its arrays under names of their own."""

    def __init__(self) -> None:
        self.arrays: dict[str, Value] = {}

    def node(self, x: Any, path: tuple[Any, ...]) -> Any:
        kind = x.__class__
        if kind is list or kind is tuple or kind is dict:
            if len(path) >= _DEEPEST:
                raise ValueError(
                    f"save: containers are nested more than {_DEEPEST} deep, or contain themselves: {_place(path[:8])}..."
                    f"{errors.at_user_line()}"
                )
            if kind is dict:
                return {"dict": [part for k, v in x.items() for part in (self.key(k, path), self.node(v, (*path, k)))]}
            items = [self.node(v, (*path, i)) for i, v in enumerate(x)]
            return items if kind is list else {"tuple": items}
        if x is None or kind is bool or kind is str:
            return x
        if kind is int:
            return {"int": hex(x)}
        if kind is float:
            return {"float": x.hex()}
        return {"array": self.array(x, path)}

    def key(self, k: Any, path: tuple[Any, ...]) -> Any:
        if k.__class__ is str:
            return k
        if k.__class__ is int:
            return {"int": hex(k)}
        raise TypeError(
            f"save: the keys of a dict must be strings or ints, got {k!r} of type {type(k).__name__} in {_place(path)}"
            f"{errors.at_user_line()}"
        )

    def array(self, x: Any, path: tuple[Any, ...]) -> str:
        view = getattr(x, "to_tensor", None)
        if view is not None and getattr(x, "traced", None) is False:
            x = view()
        if not dispatch.is_value(x):
            raise TypeError(
                f"save: {_place(path)} is a {type(x).__name__}; files hold arrays of quabla, None, bool, int, float and "
                f"str in dicts, lists and tuples (not their subclasses){errors.at_user_line()}"
            )
        if x.traced:
            raise errors.TracerError(
                f"save: {_place(path)} is traced, its values are not known while tracing; return it and save the result"
                f"{errors.at_user_line()}"
            )
        text = "/".join(map(str, path)) or _ROOT
        # Half of a surrogate pair is a Python string, but not text that a file can hold.
        stem = name = text.encode("utf-8", "backslashreplace").decode()
        count = 1
        while name in self.arrays or name == _METADATA:
            count += 1
            name = f"{stem}#{count}"
        self.arrays[name] = x
        return name


def _place(path: tuple[Any, ...]) -> str:
    return "tree" + "".join([f"[{k!r}]" for k in path])


def _serialized(tree: Any) -> Iterator[Any]:
    """The bytes of a file in pieces. Whether the tree can be saved has been found out before the first one."""
    import json

    encoder = _Encoder()
    text = json.dumps(encoder.node(tree, ()), separators=(",", ":"))
    # Wide elements first: since the header is padded too, each array then begins at a multiple of its element's size.
    ordered = sorted(encoder.arrays.items(), key=lambda item: -item[1].type.dtype.numpy.itemsize)
    header: dict[str, Any] = {_METADATA: {"format": _FORMAT, "version": _VERSION, "tree": text}}
    end = 0
    for name, x in ordered:
        begin, end = end, end + x.type.size * x.type.dtype.numpy.itemsize
        header[name] = {"dtype": _CODES[x.type.dtype], "shape": list(x.type.shape), "data_offsets": [begin, end]}
    raw = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    raw += b" " * (-len(raw) % 8)
    if len(raw) > _LONGEST_HEADER:
        raise ValueError(
            f"save: the structure of the tree takes {len(raw)} bytes, and files hold {_LONGEST_HEADER}; put long lists of "
            f"numbers into arrays{errors.at_user_line()}"
        )
    storage = [np.ascontiguousarray(x.data, x.type.dtype.numpy.newbyteorder("<")) for _, x in ordered]
    return iter([len(raw).to_bytes(8, "little"), raw, *[a.reshape(-1).view(np.uint8) for a in storage]])


def _write(file: BinaryIO, chunks: Iterable[Any]) -> None:
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            written: Any = file.write(rest[:_CHUNK])
            # Unbuffered files may write less than they are given; other objects may not say how much they wrote.
            rest = rest[min(len(rest), _CHUNK) if written is None else written :]


def _replace(path: str, chunks: Iterable[Any]) -> None:
    """Write a file under another name in the same folder, and then put it in place."""
    import secrets
    import stat

    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):  # a pipe or a device, which must stay what it is
        with open(path, "wb", buffering=0) as file:
            _write(cast("BinaryIO", file), chunks)
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)  # not the name that nobody knows
    try:
        with open(temporary, "xb") as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            _write(file, chunks)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Wait until the new name is on the disk too, where the system lets folders be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- reading ------------------------------------------------------------------------------------


class _Reader:
    """Reads one file; every complaint names it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file = file
        self.name = name

    def bad(self, what: str) -> NoReturn:
        raise ValueError(f"load: {self.name}: {what}{errors.at_user_line()}")

    def take(self, count: int, what: str) -> bytearray:
        """The next bytes; memory grows with what arrives, not with what a header promises."""
        taken = bytearray()
        while len(taken) < count:
            part = self.file.read(min(count - len(taken), _CHUNK))
            if isinstance(part, str):
                raise TypeError(f"load: needs a file that is open in binary mode, got {self.file!r}")
            if not part:
                self.bad(f"truncated: {what} has {count} bytes, of which {len(taken)} are there")
            taken += part
        return taken

    def tree(self) -> Any:
        start = self.take(8, "the length at the start")
        if start.startswith((_ZIP, _EMPTY_ZIP)):
            return self.zipped(start)
        length = int.from_bytes(start, "little")
        if length > _LONGEST_HEADER:
            self.bad(f"not a safetensors file: the header would have {length} bytes")
        header = self.json(self.take(length, "the header"), "the header")
        if not isinstance(header, dict):
            self.bad("the header is not a JSON object")
        metadata = header.pop(_METADATA, {})
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            self.bad("the metadata is not an object of strings")
        described = [self.described(name, entry) for name, entry in header.items()]
        arrays = self.arrays(described)
        if metadata.get("format") != _FORMAT:
            return arrays
        if metadata.get("version") != _VERSION:
            self.bad(f"version {metadata.get('version')!r} of the format is not known here, only {_VERSION!r}")
        text = metadata.get("tree")
        if text is None:
            self.bad("the metadata has no tree")
        return _Decoder(self.bad, arrays).root(self.json(text, "the tree"))

    def json(self, text: bytearray | str, what: str) -> Any:
        import json

        def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
            made = dict(items)
            if len(made) != len(items):
                self.bad(f"{what} has a name twice in one object")
            return made

        def constant(name: str) -> NoReturn:
            self.bad(f"{what} has {name}, which is not JSON")

        try:
            decoded = text if isinstance(text, str) else text.decode("utf-8")
            return json.loads(decoded, object_pairs_hook=pairs, parse_constant=constant)
        except RecursionError:
            self.bad(f"{what} is nested too deeply")
        except (UnicodeDecodeError, json.JSONDecodeError) as e:
            self.bad(f"{what} is not JSON: {e}")

    def described(self, name: str, entry: Any) -> tuple[int, int, str, dtype, tuple[int, ...]]:
        """Where a tensor is, its name, its dtype and its shape, checked against each other."""
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            self.bad(f"tensor {name!r} needs dtype, shape and data_offsets, and nothing else")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
            self.bad(f"tensor {name!r} needs lists of non-negative ints as shape and as two data_offsets")
        kind = _DTYPES.get(code) if isinstance(code, str) else None
        if kind is None:
            self.bad(f"tensor {name!r} has dtype {code!r}; arrays hold {', '.join(_DTYPES)}")
        begin, end = offsets
        wanted = math.prod(shape) * kind.numpy.itemsize
        if end - begin != wanted or _too_large(shape):
            self.bad(f"tensor {name!r} of shape {_short(shape)} and dtype {code} does not fit bytes {begin} to {end}")
        return begin, end, name, kind, tuple(shape)

    def arrays(self, described: list[tuple[int, int, str, dtype, tuple[int, ...]]]) -> dict[str, Value]:
        """The tensors by name, in the order of the header."""
        found: dict[str, Value] = {name: None for _, _, name, _, _ in described}
        ordered = sorted(described, key=lambda d: d[:2])
        place = 0
        for begin, end, name, _, _ in ordered:
            if begin != place:
                self.bad(f"tensor {name!r} begins at {begin}, where the one before ends at {place}")
            place = end
        for begin, end, name, kind, shape in ordered:
            found[name] = self.array(
                self.take(end - begin, f"tensor {name!r}"), kind.numpy.newbyteorder("<"), name, False, shape
            )
        return found

    def array(self, raw: bytearray, stored: np.dtype[Any], name: str, fortran: bool, shape: tuple[int, ...]) -> Value:
        """An array over these bytes, without a copy where the machine has their order."""
        kind = dtypes.from_numpy(stored.newbyteorder("="))
        if kind is None:
            self.bad(f"array {name!r} has dtype {stored}; arrays hold float64, float32, bool, int32 and int64")
        if kind is dtypes.bool_ and raw.translate(None, b"\0\1"):
            self.bad(f"array {name!r} has bools other than 0 and 1")
        flat = np.frombuffer(raw, stored).astype(kind.numpy, copy=False)
        return wrap(flat.reshape(shape, order="F" if fortran else "C"), tensor_type(shape, kind))

    # ---- NumPy's files --------------------------------------------------------------------------

    def zipped(self, start: bytearray) -> dict[str, Value]:
        """The arrays of a .npz file."""
        import io
        import struct
        import zipfile
        import zlib

        def sound(call: Callable[..., Any], *args: Any) -> Any:
            try:
                return call(*args)
            except ValueError as e:  # an offset before the start, a name that is no text
                raise zipfile.BadZipFile(str(e)) from None

        held = io.BytesIO(bytes(start) + self.file.read())
        found: dict[str, Value] = {}
        try:
            with sound(zipfile.ZipFile, held) as members:
                for info in members.infolist():
                    name = info.filename.removesuffix(".npy")
                    if name == info.filename or name in found:
                        self.bad(f"member {info.filename!r} is there twice, or is not an array of NumPy")
                    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        self.bad(f"member {info.filename!r} is compressed in a way that NumPy does not use")
                    with sound(members.open, info) as member:
                        found[name] = _Reader(member, self.name).numpy_array(name)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError) as e:
            self.bad(f"not a sound .npz file: {e}")
        return found

    def numpy_array(self, name: str) -> Value:
        shape, fortran, stored = self.numpy_header(name)
        if not _are_sizes(list(shape)) or _too_large(shape):
            self.bad(f"array {name!r} cannot have shape {_short(shape)}")
        raw = self.take(math.prod(shape) * stored.itemsize, f"array {name!r}")
        return self.array(raw, stored, name, fortran, shape)

    def numpy_header(self, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        from numpy.lib import format as npy

        try:
            version = npy.read_magic(self.file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            return read(self.file)
        except (ValueError, TypeError, SyntaxError, RecursionError) as e:
            self.bad(f"array {name!r}: {e}")


class _Decoder:
    """Builds a tree out of its JSON form, every tensor once."""

    def __init__(self, bad: Callable[[str], NoReturn], arrays: dict[str, Value]) -> None:
        self.bad = bad
        self.arrays = arrays

    def root(self, node: Any) -> Any:
        tree = self.value(node, 0)
        if self.arrays:
            self.bad(f"tensor {next(iter(self.arrays))!r} is not in the tree")
        return tree

    def value(self, node: Any, depth: int) -> Any:
        if node is None or isinstance(node, (bool, str)):
            return node
        if depth > _DEEPEST:
            self.bad(f"the tree is nested more than {_DEEPEST} deep")
        if isinstance(node, list):
            return [self.value(x, depth + 1) for x in node]
        if isinstance(node, dict) and len(node) == 1:
            ((kind, content),) = node.items()
            if kind == "array" and isinstance(content, str):
                if content not in self.arrays:
                    self.bad(f"the tree has tensor {content!r}, which is not in the file or was met before")
                return self.arrays.pop(content)
            if kind == "int" and isinstance(content, str):
                return self.number(lambda text: int(text, 16), content)
            if kind == "float" and isinstance(content, str):
                return self.number(float.fromhex, content)
            if kind == "tuple" and isinstance(content, list):
                return tuple([self.value(x, depth + 1) for x in content])
            if kind == "dict" and isinstance(content, list) and len(content) % 2 == 0:
                return self.mapping(content, depth)
        return self.bad(f"the tree has an unknown node: {_short(node)}")

    def number(self, read: Callable[[str], Any], text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError):
            self.bad(f"the tree has an unknown number: {_short(text)}")

    def mapping(self, content: list[Any], depth: int) -> dict[Any, Any]:
        keys = [self.value(k, depth + 1) for k in content[::2]]
        if any(k.__class__ is not str and k.__class__ is not int for k in keys):
            self.bad("the tree has a dict with a key that is neither a string nor an int")
        made = dict(zip(keys, [self.value(v, depth + 1) for v in content[1::2]], strict=True))
        if len(made) != len(keys):
            self.bad("the tree has a dict with a key twice")
        return made


def _are_sizes(x: Any) -> bool:
    """Whether this is a list of non-negative ints, and of a length that NumPy knows."""
    return isinstance(x, list) and len(x) <= 64 and all(n.__class__ is int and n >= 0 for n in x)


def _too_large(shape: Iterable[int]) -> bool:
    """Whether NumPy's counters cannot address an array of this shape, even where it is empty."""
    return math.prod([max(n, 1) for n in shape]) >= 2**60


def _short(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:80] + "..."
