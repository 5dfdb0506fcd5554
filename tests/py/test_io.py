"""Files: what goes in comes out, whatever happens in between is noticed, and the old file survives."""

import builtins
import collections
import io
import json
import os
import stat
import struct
import subprocess
import sys
import zipfile
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import quabla as qb


def saved(tree):
    file = io.BytesIO()
    qb.save(file, tree)
    return file.getvalue()


def loaded(raw):
    return qb.load(io.BytesIO(raw))


def parts(raw):
    """The header and the data, by the description of safetensors and not by the code under test."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def container(header, data=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def with_tree(tree, header=None, data=b""):
    metadata = {"format": "quabla", "version": "1", "tree": tree if isinstance(tree, str) else json.dumps(tree)}
    return container({"__metadata__": metadata, **(header or {})}, data)


def same(a, b):
    """Equal in kind, in order and in every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, qb.Tensor):
        return a.dtype is b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(type(i) is type(j) and same(a[i], b[j]) for i, j in zip(a, b, strict=True))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (a != a and b != b)
    return a == b


# ---- round trips --------------------------------------------------------------------------------

arrays = st.sampled_from([np.float64, np.float32, np.bool_]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
).map(qb.array)  # fmt: skip
# Any characters, halves of surrogate pairs among them.
texts = st.text(st.characters(exclude_categories=()), max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.integers(-(2**300), 2**300) | st.floats() | texts
trees = st.recursive(
    arrays | scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts | st.integers(-3, 3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(trees)
def test_a_tree_comes_back_as_it_was(tree):
    assert same(loaded(saved(tree)), tree)


@given(st.dictionaries(st.sampled_from(["a", "b/c", "b", "c", "a#2", "__metadata__", ""]), trees, max_size=5))
def test_names_of_tensors_are_unique_whatever_the_keys(tree):
    raw = saved(tree)
    header, _ = parts(raw)
    arrays = [x for x in qb.tree.leaves(list(tree.values())) if isinstance(x, qb.Tensor)] if _sortable(tree) else None
    assert arrays is None or len(header) - 1 == len(arrays)
    assert same(loaded(raw), tree)


def _sortable(tree):
    try:
        qb.tree.leaves(list(tree.values()))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308, 0.1, 10**5000, -(10**30), 0, ""],
    ids=lambda v: str(v)[:12] if not isinstance(v, int) or abs(v) < 2**64 else "large",
)
def test_scalars_are_exact(value):
    sys.set_int_max_str_digits(0)
    assert same(loaded(saved(value)), value)


def test_every_bit_of_an_array_is_kept():
    bits = np.array([0x7FF8000000000001, 0xFFF0DEADBEEF0000, 1, 0x8000000000000000], dtype=np.uint64)
    x = qb.array(bits.view(np.float64))
    assert same(loaded(saved([x]))[0], x)


def test_arrays_of_any_strides_and_views_are_saved():
    x = qb.arange(12.0).reshape(3, 4)
    view = x.slice(1, 0, 2, 2)
    back = loaded(saved({"t": x.T, "v": view, "r": x[::-1]}))
    assert back["t"].tolist() == x.T.tolist()
    assert back["v"].tolist() == view.tolist()
    assert back["r"].tolist() == x[::-1].tolist()


def test_loaded_arrays_compute():
    w = loaded(saved({"w": qb.array([1.0, 2.0])}))["w"]
    assert qb.grad(lambda v: qb.sum(v * v))(w).tolist() == [2.0, 4.0]
    assert not w.numpy().flags.writeable


def test_the_deepest_tree_that_is_saved_can_be_loaded():
    for wrap in (lambda x: [x], lambda x: (x,), lambda x: {"a": x}):
        tree = None
        for _ in range(200):
            tree = wrap(tree)
        assert loaded(saved(tree)) == tree
        with pytest.raises(ValueError, match="200 deep"):
            saved(wrap(tree))


def test_a_container_that_contains_itself_is_refused():
    tree = []
    tree.append({"again": tree})
    with pytest.raises(ValueError, match="contain themselves"):
        saved(tree)


# ---- the format ---------------------------------------------------------------------------------


def test_files_are_safetensors_files():
    tree = {"mask": qb.array([True, False, True]), "layers": [{"w": qb.array([[1.0, 2.0]])}, qb.array(0.5, qb.float32)]}
    raw = saved(tree)
    header, data = parts(raw)
    assert header.pop("__metadata__")["format"] == "quabla"
    assert {name: (t["dtype"], t["shape"]) for name, t in header.items()} == {
        "mask": ("BOOL", [3]),
        "layers/0/w": ("F64", [1, 2]),
        "layers/1": ("F32", []),
    }
    begin, end = header["layers/0/w"]["data_offsets"]
    assert np.frombuffer(data[begin:end], "<f8").tolist() == [1.0, 2.0]
    assert (len(raw) - len(data)) % 8 == 0
    sizes = {"F64": 8, "F32": 4, "BOOL": 1}
    assert all(t["data_offsets"][0] % sizes[t["dtype"]] == 0 for t in header.values())
    assert max(t["data_offsets"][1] for t in header.values()) == len(data)


def test_the_safetensors_library_reads_and_writes_such_files(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    qb.save(tmp_path / "ours", {"w": qb.array([1.0, 2.0]), "b": [qb.array([True])], "n": 1})
    found = library.load_file(tmp_path / "ours")
    assert {k: v.tolist() for k, v in found.items()} == {"w": [1.0, 2.0], "b/0": [True]}
    library.save_file({"x": np.ones((2, 0), np.float32), "y": np.arange(3.0)}, tmp_path / "theirs")
    assert {k: v.tolist() for k, v in qb.load(tmp_path / "theirs").items()} == {"x": [[], []], "y": [0.0, 1.0, 2.0]}


def test_plain_safetensors_files_load_as_a_dict():
    header = {
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
        "a": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]},
        "__metadata__": {"format": "pt"},
    }
    found = loaded(container(header, struct.pack("<dff", 0.5, 1.0, 2.0)))
    assert list(found) == ["b", "a"]
    assert found["a"].item() == 0.5
    assert found["b"].dtype is qb.float32
    assert found["b"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_files_load_as_a_dict(save, tmp_path):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    save(tmp_path / "x.npz", x=x, big=x.astype(">f4"), flag=np.array(True), none=np.zeros((0, 2)))
    found = qb.load(tmp_path / "x.npz")
    assert found["x"].tolist() == found["big"].tolist() == x.tolist()
    assert found["big"].dtype is qb.float32
    assert found["flag"].item() is True
    assert found["none"].shape == [0, 2]


@pytest.mark.parametrize(
    "array", [np.arange(3, dtype=np.int16), np.array([1j]), np.array([None]), np.array(["a"])], ids=str
)
def test_npz_files_of_other_dtypes_are_refused(array, tmp_path):
    np.savez(tmp_path / "x.npz", x=array, allow_pickle=True)
    with pytest.raises(ValueError, match=r"x\.npz"):
        qb.load(tmp_path / "x.npz")


# ---- what cannot be saved -----------------------------------------------------------------------


class Pair(NamedTuple):
    x: object
    y: object


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        (1 + 2j, "tree is a complex"),
        ({"a": [0, np.zeros(2)]}, r"tree\['a'\]\[1\] is a ndarray"),
        ([Pair(1, 2)], r"tree\[0\] is a Pair"),
        ((collections.OrderedDict(a=1),), r"tree\[0\] is a OrderedDict"),
        ([np.float64(1.0)], r"tree\[0\] is a float64"),
        ({"k": qb.random.key(0)}, r"tree\['k'\] is a Key"),
        ({"k": {(1, 2): 3}}, r"\(1, 2\) of type tuple in tree\['k'\]"),
        ({True: 1}, "True of type bool"),
        (b"bytes", "tree is a bytes"),
        ({1, 2}, "tree is a set"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_other_values_are_refused_by_their_place(tree, place, tmp_path):
    with pytest.raises(TypeError, match=place):
        qb.save(tmp_path / "x", tree)
    assert list(tmp_path.iterdir()) == []


def test_traced_arrays_are_refused():
    with pytest.raises(qb.TracerError, match=r"tree\['v'\] is traced"):
        qb.jit(lambda v: (saved({"v": v}), v)[1])(qb.array([1.0]))


# ---- paths and file objects ---------------------------------------------------------------------


def test_paths_may_be_text_or_path_objects(tmp_path):
    qb.save(str(tmp_path / "a"), [1])
    qb.save(tmp_path / "b", [2])
    assert qb.load(tmp_path / "a") == [1]
    assert qb.load(str(tmp_path / "b")) == [2]


def test_a_missing_file_is_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        qb.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        qb.save(tmp_path / "nowhere" / "file", 1)


@pytest.mark.parametrize("file", [3, None, b"bytes", object()])
def test_other_files_are_refused(file):
    with pytest.raises(TypeError, match="needs a path or a binary file"):
        qb.save(file, 1)
    with pytest.raises(TypeError, match="needs a path or a binary file"):
        qb.load(file)


def test_text_files_are_refused():
    with pytest.raises(TypeError):
        qb.save(io.StringIO(), 1)
    with pytest.raises(TypeError, match="binary"):
        qb.load(io.StringIO("12345678"))


def test_several_trees_follow_each_other_in_one_file():
    file = io.BytesIO()
    qb.save(file, {"first": qb.array([1.0])})
    qb.save(file, "second")
    file.seek(0)
    assert qb.load(file)["first"].tolist() == [1.0]
    assert qb.load(file) == "second"


class Trickle(io.RawIOBase):
    """Neither seekable nor generous: a byte or seven at a time."""

    def __init__(self, raw=b""):
        self.held = bytearray(raw)

    def readable(self):
        return True

    def writable(self):
        return True

    def readinto(self, buffer):
        part = self.held[: min(7, len(buffer))]
        del self.held[: len(part)]
        buffer[: len(part)] = part
        return len(part)

    def write(self, data):
        self.held += data[:3]
        return min(3, len(data))


def test_unbuffered_streams_work():
    tree = {"x": qb.arange(50.0)}
    stream = Trickle()
    qb.save(stream, tree)
    assert bytes(stream.held) == saved(tree)
    assert same(qb.load(stream), tree)


def test_bytes_after_the_end_are_ignored(tmp_path):
    (tmp_path / "x").write_bytes(saved([1, qb.ones(2)]) + b"rest")
    assert qb.load(tmp_path / "x")[0] == 1


# ---- atomic replacement -------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_keeps_the_old_file_and_leaves_no_other(broken, tmp_path, monkeypatch):
    path = tmp_path / "state"
    qb.save(path, "old")

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="full"):
        qb.save(path, "new")
    monkeypatch.undo()
    assert qb.load(path) == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_process_that_dies_while_saving_keeps_the_old_file(moment, tmp_path):
    path = tmp_path / "state"
    qb.save(path, "old")
    code = f"import os, quabla as qb; os.{moment} = lambda *_: os._exit(9); qb.save({str(path)!r}, 'new')"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 9
    assert qb.load(path) == "old"


def test_data_reach_the_disk_before_the_name(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b)))
    qb.save(tmp_path / "x", 1)
    assert order == ["fsync", "replace", "fsync"]


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "state", tmp_path / "link"
    qb.save(path, 1)
    path.chmod(0o640)
    link.symlink_to(path)
    qb.save(link, 2)
    assert link.is_symlink()
    assert qb.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_devices_stay_what_they_are():
    qb.save(os.devnull, [1, 2])
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match="directory"):
        qb.save(tmp_path, 1)


# ---- corrupt and hostile files ------------------------------------------------------------------

ONE = {"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}
NUMBER = struct.pack("<d", 1.0)


def tensor(dtype="F64", shape=(1,), offsets=(0, 8), **more):
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}}


HOSTILE = {
    "nothing": (b"", "truncated"),
    "a length cut short": (b"\1\0\0", "truncated"),
    "a header longer than memory": (b"\xff" * 8 + b"{}", "would have"),
    "a header longer than the file": (struct.pack("<Q", 90_000_000) + b"{}", "truncated: the header"),
    "no JSON": (container(b"{x}"), "not JSON"),
    "no UTF-8": (container(b'{"\xff": 1}'), "not JSON"),
    "NaN": (container(b'{"a": NaN}'), "not JSON"),
    "no object": (container([]), "not a JSON object"),
    "deep nesting": (container(b"[" * 100_000), "nested too deeply"),
    "a name twice": (container(b'{"a": 1, "a": 2}'), "twice"),
    "metadata of numbers": (container({"__metadata__": {"a": 1}}), "object of strings"),
    "a tensor without dtype": (container({"x": {"shape": [], "data_offsets": [0, 8]}}), "needs dtype"),
    "a tensor with more": (container(tensor(extra=1), NUMBER), "nothing else"),
    "an unknown dtype": (container(tensor("I16"), NUMBER), "dtype 'I16'"),
    "a dtype that is a list": (container(tensor([]), NUMBER), "dtype"),
    "a negative extent": (container(tensor(shape=[-1]), NUMBER), "non-negative"),
    "a bool as extent": (container(tensor(shape=[True]), NUMBER), "non-negative"),
    "a rank beyond NumPy's": (container(tensor(shape=[1] * 65), NUMBER), "non-negative"),
    "an empty array that overflows": (container(tensor(shape=[0, 2**62, 2**62], offsets=[0, 0])), "does not fit"),
    "a shape that overflows": (container(tensor(shape=[2**61, 8])), "does not fit"),
    "a shape of the wrong size": (container(tensor(shape=[2]), NUMBER), "does not fit"),
    "offsets in the wrong order": (container(tensor(offsets=[8, 0]), NUMBER), "does not fit"),
    "offsets beyond the file": (container(tensor(shape=[2**40], offsets=[0, 2**43]), NUMBER), "truncated"),
    "a gap": (container(tensor(offsets=[8, 16]), NUMBER * 2), "begins at 8"),
    "an overlap": (container({**ONE, "y": {**ONE["x"]}}, NUMBER), "begins at 0"),
    "data cut short": (container(ONE, NUMBER[:7]), "truncated: tensor 'x'"),
    "a bool of 2": (container(tensor("BOOL", [2], [0, 2]), b"\1\2"), "other than 0 and 1"),
    "another version": (container({"__metadata__": {"format": "quabla", "version": "2", "tree": "1"}}), "version '2'"),
    "no tree": (container({"__metadata__": {"format": "quabla", "version": "1"}}), "no tree"),
    "a tree that is no JSON": (with_tree("["), "not JSON"),
    "a bare number in the tree": (with_tree(1), "unknown node"),
    "an unknown node": (with_tree({"eval": "1"}), "unknown node"),
    "a node of two kinds": (with_tree({"int": "1", "float": "1"}), "unknown node"),
    "a number that is none": (with_tree({"int": "x"}), "unknown number"),
    "a float beyond all": (with_tree({"float": "0x1p99999"}), "unknown number"),
    "a dict without a value": (with_tree({"dict": ["a"]}), "unknown node"),
    "a dict key of a dict": (with_tree({"dict": [{"dict": []}, None]}), "neither a string nor an int"),
    "a dict key twice": (with_tree({"dict": ["a", None, "a", None]}), "key twice"),
    "a tensor that is not there": (with_tree({"array": "y"}, ONE, NUMBER), "not in the file"),
    "a tensor used twice": (with_tree([{"array": "x"}, {"array": "x"}], ONE, NUMBER), "met before"),
    "a tensor not used": (with_tree(None, ONE, NUMBER), "not in the tree"),
    "a deep tree": (with_tree("[" * 250 + "]" * 250), "more than 200 deep"),
    "a zip that is none": (b"PK\3\4" + bytes(100), "not a sound"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_value_error_that_says_what_is_wrong(name, tmp_path):
    raw, message = HOSTILE[name]
    (tmp_path / "file.st").write_bytes(raw)
    with pytest.raises(ValueError, match=message) as found:
        qb.load(tmp_path / "file.st")
    assert "file.st" in str(found.value)


def test_memory_is_not_taken_on_trust():
    raw = container(tensor(shape=[2**40], offsets=[0, 2**43]), NUMBER)
    code = (
        "import resource, io, quabla as qb; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        f"try: qb.load(io.BytesIO({raw!r}))\n"
        "except ValueError as e: print('refused', 'truncated' in str(e))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "refused True\n"


def npz(name, header, data=b"", version=b"\1\0"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr(name, b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data)
    return file.getvalue()


@pytest.mark.parametrize(
    "raw",
    [
        npz("x.txt", b""),
        npz("x.npy", b"__import__('os').abort()\n"),
        npz("x.npy", b"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}\n"),
        npz("x.npy", b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"),
        npz("x.npy", b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n", bytes(8)),
        npz("x.npy", b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}\n", bytes(8)),
        npz("x.npy", b"{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}\n", b"\7"),
        npz("x.npy", b"{", version=b"\7\0"),
    ],
)  # fmt: skip
def test_a_hostile_npz_file_is_a_value_error(raw):
    with pytest.raises(ValueError, match="load: "):
        loaded(raw)


# ---- random damage ------------------------------------------------------------------------------

SAMPLE = {
    "w": [qb.arange(6.0).reshape(2, 3), qb.array([True, False])],
    "n": (1, 2.5, "text", None),
    7: qb.ones(2, qb.float32),
}
RAW = saved(SAMPLE)
_held = io.BytesIO()
np.savez_compressed(_held, x=np.arange(6.0), y=np.ones((2, 2), np.float32))
NPZ = _held.getvalue()


def survives(raw):
    """Loading gives a tree that can be saved again, or says ValueError and what is wrong."""
    try:
        tree = loaded(raw)
    except ValueError as e:
        complaint = str(e)
    else:
        assert same(loaded(saved(tree)), tree)
        return
    assert complaint.startswith("load: BytesIO: ")


@pytest.mark.parametrize("raw", [RAW, NPZ], ids=["safetensors", "npz"])
def test_every_truncation_is_noticed(raw):
    for length in range(len(raw)):
        with pytest.raises(ValueError, match="load: "):
            loaded(raw[:length])


@settings(max_examples=300)
@given(
    st.sampled_from([RAW, NPZ]), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_changed_bytes_never_do_harm(raw, changes):
    damaged = bytearray(raw)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    survives(bytes(damaged))


@settings(max_examples=200)
@given(st.sampled_from([RAW, NPZ]), st.integers(0, 10**6), st.integers(0, 40), st.binary(max_size=20))
def test_replaced_stretches_never_do_harm(raw, place, length, other):
    place %= len(raw)
    survives(raw[:place] + other + raw[place + length :])


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_noise_never_does_harm(raw):
    survives(raw)
    survives(struct.pack("<Q", len(raw)) + raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.sampled_from(["F64", "x", "0x1", "nan"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["dict", "tuple", "int", "float", "array", "dtype", "shape", "data_offsets"]) | st.text(max_size=3),
        inner,
        max_size=4,
    ),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=200)
@given(json_values)
def test_headers_of_any_json_never_do_harm(value):
    survives(container(value if isinstance(value, dict) else {"x": value}, bytes(64)))
    survives(with_tree(value, ONE, NUMBER))


def test_loading_runs_nothing_of_the_file(monkeypatch):
    def refuse(*_):
        raise AssertionError("loading must not evaluate anything")

    for name in ("eval", "exec"):
        monkeypatch.setattr(builtins, name, refuse)
    assert same(loaded(RAW), SAMPLE)
