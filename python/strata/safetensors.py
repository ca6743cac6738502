# SPDX-License-Identifier: MIT
"""safetensors with numpy alone: what models keep their weights in."""
import errno
import json
import os

import numpy

from .temporary import open_beside

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
          "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "U64": "<u8",
          "BOOL": "?"}
_HEADER_MOST = 100_000_000


def from_bf16(bits):
    """float32 of bfloat16's 16 bits."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def to_bf16(x):
    """bfloat16's 16 bits of float32, rounded to nearest, ties to even."""
    bits = numpy.ascontiguousarray(x, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def _check(path, name, entry, size):
    """Type, shape and bytes of an entry of the header, or an error that names it."""
    try:
        kind, shape = numpy.dtype(_TYPES[entry["dtype"]]), tuple(map(int, entry["shape"]))
        first, end = map(int, entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: {name}: expected dtype, shape and data_offsets of a type that "
                         f"is known, found {entry!r:.80}") from None
    count = 1
    for n in shape:
        count *= n
    if min(shape, default=1) < 0 or not 0 <= first <= end <= size or \
            count * kind.itemsize != end - first:
        raise ValueError(f"{path}: {name}: expected bytes of its shape within the file, "
                         f"found {first} to {end} for {shape}")
    return kind, shape, first, end


def read(path):
    """Tensors by name, and the file's metadata. bfloat16 becomes float32."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(8)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > min(_HEADER_MOST, size - 8):
            raise ValueError(f"{path}: expected a safetensors file, found another")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            header = None
        if not isinstance(header, dict):
            raise ValueError(f"{path}: expected a JSON header, found another")
        metadata, found = header.pop("__metadata__", {}), {}
        for name, entry in header.items():
            kind, shape, first, end = _check(path, name, entry, size - 8 - length)
            file.seek(8 + length + first)
            data = numpy.frombuffer(bytearray(file.read(end - first)), kind).reshape(shape)
            found[name] = from_bf16(data) if entry["dtype"] == "BF16" else data
        return found, metadata


def _is_other(path):
    """Is there a file of another kind, with something in it?"""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(9)
    except OSError:
        return True
    length = int.from_bytes(head[:8], "little")
    return head[8:] != b"{" or length > min(_HEADER_MOST, os.path.getsize(path) - 8)


def write(path, tensors, metadata=None, bf16=(), overwrite=False):
    """Whole or not at all: into a file beside it, then by its name. Names in 'bf16' are of
    bfloat16's bits. A file that is no safetensors is replaced with overwrite=True only."""
    if not overwrite and _is_other(path):
        raise FileExistsError(errno.EEXIST, "expected no file, or one of safetensors, found another "
                              "(overwrite=True replaces it)", path)
    header, blocks, at = {}, [], 0
    if metadata:
        header["__metadata__"] = {str(k): str(v) for k, v in metadata.items()}
    names = {numpy.dtype(v): k for k, v in _TYPES.items() if k != "BF16"}
    for name in sorted(tensors):
        x = numpy.asarray(tensors[name], order="C")
        kind = "BF16" if name in bf16 else names[x.dtype.newbyteorder("<")]
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        blocks.append(x)
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = os.fsdecode(path)
    file, draft = open_beside(path)
    try:
        with file:
            file.write(len(text).to_bytes(8, "little") + text)
            for x in blocks:
                file.write(x.tobytes())
            file.flush()
            os.fsync(file.fileno())
            os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
