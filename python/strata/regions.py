# SPDX-License-Identifier: MIT
"""Memory of models: aligned, and tensors of it by name."""
import ctypes
from collections.abc import Mapping

import numpy

from .abi import ABI


def region(size):
    """Zeros, aligned as models want them, as floats."""
    raw = numpy.zeros(size + ABI.STRATA_ALIGN, numpy.uint8)
    skip = -raw.ctypes.data % ABI.STRATA_ALIGN
    return raw[skip:skip + size]


def text_at(model, offset):
    return ctypes.string_at(ctypes.addressof(model) + offset).decode("utf-8", "replace")


def table(model, kind, offset, count):
    """Rows of a descriptor's table."""
    return (kind * count).from_address(ctypes.addressof(model) + offset) if offset else []


class Tensors(Mapping):
    """Views of a region by the tensors' names."""

    def __init__(self, views, bf16=frozenset()):
        self._views, self.bf16 = views, bf16

    def __getitem__(self, name):
        if name not in self._views:
            raise KeyError(f"{name}: the model has no tensor of this name")
        return self._views[name]

    def __setitem__(self, name, value):
        self[name][...] = value

    def __iter__(self):
        return iter(self._views)

    def __len__(self):
        return len(self._views)

    def __repr__(self):
        return "\n".join(f"{name} {list(x.shape)}" for name, x in self.items())


def weights_of(model, memory):
    views, bf16 = {}, set()
    for t in table(model, ABI.strata_tensor, model.tensor_table, model.tensors):
        name, shape = text_at(model, t.name), tuple(t.shape[:t.rank])
        if t.type not in (ABI.STRATA_F32, ABI.STRATA_BF16):
            continue  # small weights, packed: no array has their values
        kind = numpy.dtype(numpy.uint16 if t.type == ABI.STRATA_BF16 else numpy.float32)
        at = 4 * t.weight
        views[name] = memory[at:at + t.count * kind.itemsize].view(kind).reshape(shape)
        if t.type == ABI.STRATA_BF16:
            bf16.add(name)
    return Tensors(views, frozenset(bf16))


def gradients_of(model, memory):
    """Frozen tensors have none."""
    views = {}
    trained = model.tensors - model.frozen
    for t in table(model, ABI.strata_tensor, model.tensor_table, model.tensors)[:trained]:
        at = 4 * t.gradient
        shape = tuple(t.shape[:t.rank])
        views[text_at(model, t.name)] = memory[at:at + 4 * t.count].view(numpy.float32).reshape(shape)
    return Tensors(views)
