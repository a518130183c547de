"""Requests to JSON, and records to arrays.

A record reaches the agent inline (nested lists, complex numbers as `[re, im]`) or as an `.npz` file with a SHA-256 digest. Both are
checked against the names, dtypes and shapes that the job view declares.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lab.errors import CorruptRecord
from lab.transport import RECORD_BYTES

_KINDS = "bifcu"


class Record(Mapping[str, np.ndarray]):
    """The raw outcome of one job: `rec["iq"]` is a numpy array, `rec.unit("iq")` its unit.

    `summary` says what was done, `job_id` and `tool` which job it was, `view` is the whole job view. Arrays are read-only.
    """

    def __init__(self, view: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.view = dict(view)
        self.job_id = str(self.view.get("job_id", ""))
        self.tool = str(self.view.get("tool", ""))
        self.summary: dict[str, Any] = dict(self.view.get("summary") or {})
        self._about = {str(a["name"]): a for a in _declared(self.view)}
        self._arrays = dict(arrays)
        for values in self._arrays.values():
            values.flags.writeable = False

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"no array {name!r} in this record; it has {', '.join(self._arrays) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        arrays = ", ".join(f"{k}: {v.dtype} {v.shape}" for k, v in self._arrays.items())
        return f"<Record {self.job_id} {self.tool}: {arrays}>"

    def unit(self, name: str) -> str:
        """SI unit of an array, "1" for a pure number."""
        return str(self._describe(name).get("unit", "1"))

    def axes(self, name: str) -> tuple[str, ...]:
        """Names of the axes of an array, in order."""
        return tuple(str(a) for a in self._describe(name).get("axes") or ())

    def layout(self, name: str) -> str:
        """What a reader of the array must know: bit order, packing; "" where there is nothing."""
        return str(self._describe(name).get("layout") or "")

    def save(self, path: str | Path) -> None:
        """Write the arrays as an `.npz` file at exactly `path`."""
        with Path(path).open("wb") as file:
            np.savez(file, allow_pickle=False, **self._arrays)

    def _describe(self, name: str) -> Mapping[str, Any]:
        self[name]
        return self._about.get(name, {})


def encode(request: Any) -> bytes:
    """JSON text of a request. Numpy scalars and arrays become numbers and nested lists.

    ValueError for NaN and Infinity, TypeError for complex numbers and whatever else JSON has no form for; both name the field.
    """
    return json.dumps(_plain(request, ""), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path or 'request'}: {value} cannot be sent, numbers must be finite")
        return value
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"{path or 'request'}: names must be strings, got {name!r}")
        return {k: _plain(v, f"{path}.{k}" if path else k) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(v, f"{path}.{i}") for i, v in enumerate(value)]
    raise TypeError(f"{path or 'request'}: {type(value).__name__} cannot be sent; use numbers, strings, lists and dicts")


def inline_arrays(view: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """The arrays of a record that came inline; None where it has to be fetched."""
    inline = (view.get("record") or {}).get("inline")
    declared = _declared(view)
    if not isinstance(inline, Mapping) or not declared or any(a["name"] not in inline for a in declared):
        return None
    return {str(a["name"]): _from_lists(a, inline[a["name"]]) for a in declared}


def _from_lists(about: Mapping[str, Any], values: Any) -> np.ndarray:
    name = about["name"]
    try:
        dtype, shape = np.dtype(str(about["dtype"])), tuple(int(n) for n in about["shape"])
        if dtype.kind not in _KINDS:
            raise ValueError(f"dtype {dtype} is not numeric")
        if dtype.kind == "c":
            pairs = np.array(values, dtype=np.float64).reshape((*shape, 2))
            return np.asarray(pairs.view(np.complex128)[..., 0].astype(dtype))
        array = np.array(values, dtype=dtype)
        # An axis of length zero leaves no trace of the later axes in nested lists.
        array = array.reshape(shape) if array.size == 0 else array
    except (TypeError, ValueError, OverflowError, KeyError) as exc:
        raise CorruptRecord(f"array {name}: {exc}") from exc
    if array.shape != shape:
        raise CorruptRecord(f"array {name}: shape {array.shape}, declared {shape}")
    return array


def fault_of(data: bytes, view: Mapping[str, Any], header_digest: str | None) -> str | None:
    """What is wrong with the bytes of a record as fetched: size or digest; None where they are as declared."""
    record = view.get("record") or {}
    size, digest = record.get("bytes"), hashlib.sha256(data).hexdigest()
    if isinstance(size, int) and len(data) != size:
        return f"record of job {view.get('job_id')}: {len(data)} bytes, declared {size}"
    for declared in (record.get("sha256"), header_digest):
        if declared and str(declared).lower().removeprefix("sha256:") != digest:
            return f"record of job {view.get('job_id')}: SHA-256 {digest}, declared {declared}"
    return None


def read_npz(data: bytes, view: Mapping[str, Any], longest_bytes: int = RECORD_BYTES) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file, never unpickled; CorruptRecord where it is not as the job view declares.

    `longest_bytes` bounds the size of the unpacked arrays.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > longest_bytes:
            raise CorruptRecord(f"record of {unpacked} bytes unpacked, more than the {longest_bytes} that are accepted")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, TypeError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as exc:
        raise CorruptRecord(f"record of job {view.get('job_id')} is no plain .npz file: {exc}") from exc
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray) or values.dtype.kind not in _KINDS:
            raise CorruptRecord(f"array {name} is not numeric")
    for about in _declared(view):
        name = about["name"]
        if name not in arrays:
            raise CorruptRecord(f"array {name} is declared and missing")
        found = arrays[name]
        if "shape" in about and list(found.shape) != list(about["shape"]):
            raise CorruptRecord(f"array {name}: shape {found.shape}, declared {tuple(about['shape'])}")
        if "dtype" in about and found.dtype != np.dtype(str(about["dtype"])):
            raise CorruptRecord(f"array {name}: dtype {found.dtype}, declared {about['dtype']}")
    return arrays


def _declared(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    arrays = (view.get("record") or {}).get("arrays") or []
    return [a for a in arrays if isinstance(a, dict) and "name" in a]
