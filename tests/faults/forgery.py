"""Forges files of an index: arrays with other content and correct checksums, up to the manifest."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from lakejoin.locations import Location
from lakejoin.store.arrayfile import BLOCK, MAGIC, VERSION, ArrayFile
from lakejoin.store.manifest import MANIFEST_FILE

_TAIL = struct.Struct("<QQII8s")
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Target:
    """A file of an index, and the path to its record in the manifest or in the graph's file."""

    path: Path
    record: tuple[str | int, ...]


def targets(index: Path) -> list[Target]:
    """Every file that a manifest names."""
    manifest = json.loads((index / MANIFEST_FILE).read_bytes())
    found = []
    for number, segment in enumerate(manifest["segments"]):
        folder = index / "segments" / segment["id"]
        for name, component in segment["components"].items():
            record = ("segments", number, "components", name)
            found.append(Target(folder / component["file"], record))
    for name in ("files", "graph"):
        if manifest[name]:
            found.append(Target(index / manifest[name]["name"], (name,)))
    return found


def copy_index(index: Path, copy: Path) -> None:
    """A copy that shares the files; what is forged is replaced, never written to."""
    for file in index.rglob("*"):
        if file.is_file():
            (copy / file.relative_to(index)).parent.mkdir(parents=True, exist_ok=True)
            os.link(file, copy / file.relative_to(index))


def forge(index: Path, rng: np.random.Generator) -> str:
    """Forge one file of an index; returns what was done."""
    if rng.random() < 0.08:
        return _forge_manifest(index, rng)
    choices = targets(index)
    target = choices[int(rng.integers(len(choices)))]
    file = ArrayFile(Location.of(target.path))
    arrays = {name: file.array(name).raw.copy() for name in file.names()}
    meta = json.loads(json.dumps(file.meta))
    lies: dict[str, list[Any]] = {}
    done = []
    for _ in range(int(rng.integers(1, 3))):
        way = rng.random()
        if arrays and way < 0.85:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            done.append(f"{name}: {_forge_array(arrays, name, rng)}")
        elif arrays and way < 0.93:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            lies[name] = _forge_entry(arrays[name], rng)
            done.append(f"{name} claims {lies[name]}")
        else:
            done.append("meta: " + _forge_json(meta, rng))
    size, checksum = _write(target.path, arrays, meta, lies)
    manifest = json.loads((index / MANIFEST_FILE).read_bytes())
    record = manifest
    for key in target.record:
        record = record[key]
    record["bytes"], record["checksum"] = size, checksum
    _write_manifest(index, manifest)
    return f"{target.path.name}: {'; '.join(done)}"


def damage(index: Path, rng: np.random.Generator) -> str:
    """Damage one file of an index as a disk or a careless copy would, without its checksums."""
    files = [t.path for t in targets(index)] + [index / MANIFEST_FILE]
    files += [path for folder in index.glob("graph-*[0-9a-f]") for path in folder.glob("*.lj")]
    path = files[int(rng.integers(len(files)))]
    data = bytearray(path.read_bytes())
    begin = int(rng.integers(len(data)))
    end = min(len(data), begin + int(rng.integers(1, 1 + max(1, len(data) // 4))))
    ways = ["bit", "byte", "zeros", "noise", "cut", "longer", "swap", "gone"]
    way = ways[int(rng.integers(len(ways)))]
    path.unlink()
    if way == "gone":
        return f"{path.name}: gone"
    if way == "bit":
        data[begin] ^= 1 << int(rng.integers(8))
    elif way == "byte":
        data[begin] ^= int(rng.integers(1, 256))
    elif way == "zeros":
        data[begin:end] = bytes(end - begin)
    elif way == "noise":
        data[begin:end] = rng.integers(0, 256, end - begin).astype(np.uint8).tobytes()
    elif way == "cut":
        del data[begin:]
    elif way == "longer":
        data += bytes(int(rng.integers(1, 5000)))
    else:
        half = (end - begin) // 2
        data[begin : begin + 2 * half] = (
            data[begin + half : begin + 2 * half] + data[begin : begin + half]
        )
    path.write_bytes(data)
    return f"{path.name}: {way}, bytes {begin} to {end}"


def _forge_array(arrays: Arrays, name: str, rng: np.random.Generator) -> str:
    array = arrays[name]
    ways = ["extreme", "extreme", "few", "all", "shift", "cut", "longer", "shuffle", "type"]
    way = ways[int(rng.integers(len(ways)))]
    if len(array) == 0:
        way = "longer"
    if way in ("extreme", "few", "all"):
        count = len(array) if way == "all" else int(rng.integers(1, 4))
        at = np.arange(len(array)) if way == "all" else rng.integers(0, len(array), count)
        array[at] = _numbers(array, rng, 1 if way == "all" else count)
    elif way == "shift":
        with np.errstate(over="ignore", invalid="ignore"):
            array[int(rng.integers(len(array))) :] += np.array(
                [1, 7, 1000, 1 << 20][int(rng.integers(4))] % 127
            ).astype(array.dtype)
    elif way == "cut":
        arrays[name] = array[: int(rng.integers(0, len(array)))]
    elif way == "longer":
        arrays[name] = np.append(array, np.zeros(int(rng.integers(1, 100)), array.dtype))
    elif way == "shuffle":
        rng.shuffle(array)
    else:
        kinds = ["<u1", "<u2", "<u4", "<u8", "<i8", "<f8", "<f4", "<i1"]
        arrays[name] = array.astype(kinds[int(rng.integers(len(kinds)))])
    return way


def _numbers(array: np.ndarray[Any, Any], rng: np.random.Generator, count: int) -> Any:
    if array.dtype.kind == "f":
        return rng.choice(np.array([np.nan, np.inf, -1e300, 0.0, 1e9]), count).astype(array.dtype)
    if array.dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    limits = np.iinfo(array.dtype)
    near = [limits.max, limits.min, limits.max - 1, 0, 1, len(array), len(array) + 1, 255, 1 << 16]
    near += [int(array.max()) + 1, int(array.max()) * 2, 1 << 31, 1 << 40]
    chosen = rng.choice(np.array([float(n) for n in near]), count)
    return np.clip(chosen, float(limits.min), float(limits.max) * (1 - 2**-52)).astype(array.dtype)


def _forge_entry(array: np.ndarray[Any, Any], rng: np.random.Generator) -> list[Any]:
    """A wrong entry of an array in the footer: type, length, offset; None keeps the true one."""
    lies: list[list[Any]] = [
        [None, len(array) + 1 + int(rng.integers(1 << 20)), None],
        [None, -1, None],
        [None, None, -64],
        [None, None, 1 << 40],
        [None, None, 3],
        ["O", None, None],
        ["<U9", None, None],
        ["nonsense", None, None],
        ["<u1", None, None],
        ["<u8", None, None],
        [None, "many", None],
        [None, None, None, 1],
    ]
    return lies[int(rng.integers(len(lies)))]


def _forge_json(body: Any, rng: np.random.Generator) -> str:
    """Change one number, text or list somewhere in a JSON body."""
    paths: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        entries = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in entries:
            paths.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(body)
    if not paths:
        return "nothing"
    node, key = paths[int(rng.integers(len(paths)))]
    values = [0, 1, -1, 1 << 40, 2.5, None, "", "x", "../../etc", [], {}, True]
    node[key] = values[int(rng.integers(len(values)))]
    return f"{key} = {node[key]!r}"


def _forge_manifest(index: Path, rng: np.random.Generator) -> str:
    manifest = json.loads((index / MANIFEST_FILE).read_bytes())
    done = _forge_json(manifest, rng)
    _write_manifest(index, manifest)
    return f"manifest: {done}"


def _write_manifest(index: Path, manifest: dict[str, Any]) -> None:
    manifest.pop("checksum", None)
    text = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    digest = xxhash.xxh3_64_hexdigest(text.encode())
    (index / MANIFEST_FILE).unlink()
    (index / MANIFEST_FILE).write_text(text[:-1] + f',"checksum":"{digest}"}}\n')


def _write(path: Path, arrays: Arrays, meta: Any, lies: dict[str, list[Any]]) -> tuple[int, str]:
    """Write an array file; the footer tells `lies` about some arrays."""
    data = bytearray(MAGIC + struct.pack("<II", VERSION, 0))
    entries: dict[str, Any] = {}
    for name, array in arrays.items():
        data += b"\0" * (-len(data) % 64)
        true = [array.dtype.str, len(array), len(data)]
        lie = lies.get(name, [None, None, None])
        entries[name] = [*(t if x is None else x for t, x in zip(true, lie, strict=False))]
        entries[name] += lie[3:]
        data += array.tobytes()
    blocks = [bytes(data[at : at + BLOCK]) for at in range(0, len(data), BLOCK)]
    sums = np.array([xxhash.xxh3_64_intdigest(block) for block in blocks], dtype="<u8")
    content = {"arrays": entries, "data": len(data), "meta": meta}
    footer = sums.tobytes() + json.dumps(content).encode()
    digest = xxhash.xxh3_64_intdigest(footer)
    whole = bytes(data) + footer + _TAIL.pack(len(data), digest, len(footer), VERSION, MAGIC)
    path.unlink()
    path.write_bytes(whole)
    return len(whole), f"{digest:016x}"
