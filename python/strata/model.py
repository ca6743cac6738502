# SPDX-License-Identifier: MIT
"""A model of a shared library, and sequences that it goes on with."""
import ctypes
import json
import os
import threading
from dataclasses import dataclass

import numpy

from . import safetensors
from .abi import ABI, whole
from .library import Error, Pool, Sampler, Tokenizer, library
from .regions import Tensors, gradients_of, region, text_at, weights_of

_RATES = ("lr", "beta1", "beta2", "eps", "weight_decay", "momentum", "newton_schulz")


@dataclass
class Loss:
    """loss: with what routes add; nll: [B, T], of loss() only; norm: the gradients', of step()."""
    loss: float
    cross_entropy: float
    nll: numpy.ndarray | None = None
    norm: float | None = None

    def __float__(self):
        return self.loss


def _ids(name, tokens, dimensions):
    """Ids as models take them; which ones there are the model knows."""
    x = numpy.asarray(tokens)
    if x.ndim != dimensions or x.size == 0 or x.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected {'a batch [B, T]' if dimensions == 2 else 'a list'} of "
                         f"ids, found {x.dtype} of shape {x.shape}")
    most = numpy.iinfo(numpy.int32).max
    wrong = numpy.argwhere((x < 0) | (x > most))
    if len(wrong):
        at = ",".join(str(i) for i in wrong[0])
        raise ValueError(f"{name}[{at}]: expected an id from 0 to {most}, found {x[tuple(wrong[0])]}")
    return numpy.ascontiguousarray(x, numpy.int32)


def _stops(ids, vocab):
    """The ids that end a text, of one id, of several or of None."""
    if ids is None:
        return frozenset()
    found = [whole("stop_id", one) for one in (ids if hasattr(ids, "__iter__") else [ids])]
    for one in found:
        if not 0 <= one < vocab:
            raise ValueError(f"stop_id: expected ids from 0 to {vocab - 1}, found {one}")
    return frozenset(found)


class Model:
    """Calls of one model take turns; for two at a time make another of the same file.

    threads: None, as many as the process may use, if libstrata.so is found, else 1."""

    def __init__(self, file, threads=None, as_generated=False):
        path = os.path.abspath(os.fspath(file))
        self._library = ctypes.CDLL(path)  # stays loaded
        if not hasattr(self._library, "strata_model_api"):
            raise Error(f"{path}: expected a library of strata build --emit shared, found another")
        self._api = ABI.strata_api(struct_size=ctypes.sizeof(ABI.strata_api))
        if self._library.strata_model_api(ctypes.byref(self._api)):
            raise Error(f"{path}: expected a library of this version's interface, found another")
        self._m = m = ABI.strata_model.from_address(self._api.model())
        if (m.magic, m.abi_version, m.struct_size) != (
                ABI.STRATA_MAGIC, ABI.STRATA_ABI, ctypes.sizeof(ABI.strata_model)):
            raise Error(f"{path}: expected the interface {ABI.STRATA_ABI} of Strata, "
                        f"found {m.abi_version}")
        self.name, self.vocab, self.context, self.dim = text_at(m, m.name), m.vocab, m.context, m.dim
        self.layers, self.parameters, self.training = m.layers, m.parameters, bool(m.training)
        self.settings = {name: getattr(m, name) for name in (*_RATES, "clip", "batch", "seed")}
        self.options = json.loads(text_at(m, m.options))  # what the spec's options were
        self.steps = 0
        self._lock = threading.RLock()
        self._prepare(threads, as_generated)

    def _prepare(self, threads, as_generated):
        self._pool = None
        try:
            self._pool = Pool(threads or 0) if threads != 1 else None
        except ImportError:
            if threads:
                raise
        self.workers = self._pool.workers if self._pool else 1
        self._setup = ABI.strata_setup(struct_size=ctypes.sizeof(ABI.strata_setup),
                                       workers=self.workers,
                                       flags=ABI.STRATA_AS_GENERATED * bool(as_generated))
        if self._pool:
            self._setup.pool = self._pool.address
            self._setup.par_for = library().par_for_address
        self._ctx, self._arena, self._train = region(self._m.ctx_bytes), region(0), None
        self._check(self._api.init(self._ctx.ctypes.data, self._ctx.nbytes,
                                   ctypes.addressof(self._setup)))
        self._memory = region(self._m.weights_bytes)
        self.weights = weights_of(self._m, self._memory)

    def __repr__(self):
        return f"<strata model {self.name}: {self.parameters} parameters, context {self.context}>"

    # == Calls ==

    def _check(self, status):
        if status:
            text = self._api.message(self._ctx.ctypes.data) or self._api.strerror_(status)
            raise Error(text.decode("utf-8", "replace"), status)

    def _room(self, tokens):
        size = self._api.arena_bytes(tokens, self.workers)
        if not size:
            raise ValueError(f"tokens: expected a number that there can be memory for, found {tokens}")
        if size > self._arena.nbytes:
            self._arena = region(size)
        return self._arena.ctypes.data

    def _call(self, name, tokens, *arguments):
        """A function of (ctx, weights, ..., arena, ...): 'arena' stands in its place."""
        with self._lock:
            room = self._room(tokens)
            self._check(getattr(self._api, name)(
                self._ctx.ctypes.data, self._memory.ctypes.data,
                *(room if a is _ARENA else a for a in arguments)))

    def logits(self, tokens):
        """[B, T, vocab] of tokens [B, T]."""
        tokens = _ids("tokens", tokens, 2)
        out = numpy.empty((*tokens.shape, self.vocab), numpy.float32)
        self._call("logits", tokens.size, _ARENA, tokens.ctypes.data, *tokens.shape, out.ctypes.data)
        return out

    def _pair(self, tokens, targets):
        tokens, targets = _ids("tokens", tokens, 2), _ids("targets", targets, 2)
        if tokens.shape != targets.shape:
            raise ValueError(f"targets: expected the shape {tokens.shape} of tokens, "
                             f"found {targets.shape}")
        return tokens, targets

    def loss(self, tokens, targets):
        """Of tokens [B, T] and what comes after each."""
        tokens, targets = self._pair(tokens, targets)
        nll = numpy.empty(tokens.shape, numpy.float32)
        out = ABI.strata_loss(struct_size=ctypes.sizeof(ABI.strata_loss))
        self._call("loss", tokens.size, _ARENA, tokens.ctypes.data, targets.ctypes.data,
                   *tokens.shape, nll.ctypes.data, ctypes.addressof(out))
        return Loss(out.loss, out.cross_entropy, nll)

    # == Training ==

    def _training(self):
        if self._train is None:
            self._train = region(self._m.train_bytes)
            self._gradients = gradients_of(self._m, self._train) if self.training else Tensors({})
        return self._train.ctypes.data

    @property
    def gradients(self):
        """Views by name, of the last forward_backward."""
        self._training()
        return self._gradients

    def forward_backward(self, tokens, targets, scale=1.0, accumulate=False, draw=0, row=0):
        """Loss, and gradients times 'scale', added to those that are there if 'accumulate'. Random
        numbers are those of the seed 'draw', 0 for none; of the parts of a larger batch each says
        which of its rows the first one is."""
        tokens, targets = self._pair(tokens, targets)
        out = ABI.strata_loss(struct_size=ctypes.sizeof(ABI.strata_loss), draw=draw, row=row)
        self._call("forward_backward", tokens.size, self._training(), _ARENA, tokens.ctypes.data,
                   targets.ctypes.data, *tokens.shape, scale, ABI.STRATA_ACCUMULATE * accumulate,
                   None, None, ctypes.addressof(out))
        return Loss(out.loss, out.cross_entropy)

    def norm(self):
        """The gradients' norm."""
        out = ctypes.c_double()
        with self._lock:
            self._check(self._api.sum_squares(self._ctx.ctypes.data, self._training(), 0,
                                              self._m.gradients, ctypes.addressof(out)))
        return out.value ** 0.5

    def update(self, step, grad_scale=1.0, **rates):
        """A step of the optimizer, 1 the first; rates are those of the spec unless given."""
        unknown = set(rates) - set(_RATES)
        if unknown:
            raise TypeError(f"update: expected some of {', '.join(_RATES)}, found {unknown.pop()}")
        how = ABI.strata_adamw(struct_size=ctypes.sizeof(ABI.strata_adamw), step=step,
                               grad_scale=grad_scale, muon=self._m.muon)
        for name in _RATES:
            setattr(how, name, rates.get(name, self.settings[name]))
        with self._lock:
            self._check(self._api.update(self._ctx.ctypes.data, self._memory.ctypes.data,
                                         self._training(), 0, self._m.gradients,
                                         ctypes.addressof(how)))

    def step(self, tokens, targets, clip=None, **rates):
        """forward_backward, clipped to the spec's norm or to 'clip', and update. Schedules of the
        learning rate are the caller's: lr=."""
        with self._lock:
            found = self.forward_backward(tokens, targets, draw=self.steps + 1)
            clip = self.settings["clip"] if clip is None else clip
            if not clip >= 0:
                raise ValueError(f"clip: expected a number of at least 0, found {clip}")
            found.norm = self.norm()
            if not numpy.isfinite(found.norm):
                raise Error(f"step {self.steps + 1}: expected finite gradients; training diverged")
            scale = clip / found.norm if 0 < clip < found.norm else 1.0
            self.update(self.steps + 1, scale, **rates)
            self.steps += 1
            return found

    # == Weights ==

    def init(self, seed=None):
        """Initial weights of a seed (the spec's), as train begins with."""
        seed = whole("seed", self.settings["seed"] if seed is None else seed, ctypes.c_uint64)
        library().weights_init(ctypes.addressof(self._m), seed, self._memory.ctypes.data)

    def load(self, file):
        """Weights from safetensors, every one of them and no other; what train keeps besides (the
        optimizer's, a tokenizer's) is left alone."""
        if len(self.weights) < self._m.tensors:
            raise Error(f"{self.name}: expected weights of float32 or bfloat16, found small ones "
                        "(strata build --weights)")
        found, _ = safetensors.read(file)
        missing = [n for n in self.weights if n not in found]
        if missing:
            raise Error(f"{file}: expected the {len(self.weights)} parameters of {self.name}, "
                        f"found none of the name {missing[0]}")
        for name, view in self.weights.items():
            if found[name].shape != view.shape:
                raise Error(f"{file}: {name}: expected shape {list(view.shape)}, "
                            f"found {list(found[name].shape)}")
        for name, view in self.weights.items():
            view[...] = safetensors.to_bf16(found[name]) if name in self.weights.bf16 else found[name]

    def save(self, file, overwrite=False):
        """Weights to safetensors, which programs of the model read: over other weights, and over a
        file of another kind with overwrite=True."""
        safetensors.write(os.fspath(file), self.weights, bf16=self.weights.bf16,
                          overwrite=overwrite)

    def tokenizer(self, weights=None):
        """The model's own, "bytes", or "chars" from its weights' file; else Tokenizer(file)."""
        return Tokenizer.of_model(ctypes.addressof(self._m), weights)

    # == Sequences ==

    def sequence(self, context=None):
        return Sequence(self, self.context if context is None else context)

    def decode(self, sequences, tokens):
        """A token more of each of several sequences: logits [batch, vocab]."""
        tokens = _ids("tokens", tokens, 1)
        if len(sequences) != tokens.size:
            raise ValueError(f"tokens: expected one for each of {len(sequences)} sequences, "
                             f"found {tokens.size}")
        states = (ctypes.c_void_p * tokens.size)(*(s._state.ctypes.data for s in sequences))
        out = numpy.empty((tokens.size, self.vocab), numpy.float32)
        self._call("decode", tokens.size, ctypes.addressof(states), tokens.size, _ARENA,
                   tokens.ctypes.data, out.ctypes.data)
        return out

    def generate(self, prompt, max_tokens=None, stop_id=None, **sampling):
        """Ids after those of a prompt, one by one, drawn by a Sampler of these settings; without
        max_tokens as many as the context holds. stop_id, an id or several (Tokenizer.ends), ends
        them and is not among them."""
        most = self.context - len(_ids("prompt", prompt, 1))
        if max_tokens is not None and not 0 <= max_tokens <= most:
            raise ValueError(f"max_tokens: expected 0 to {most}, which is what the prompt leaves of "
                             f"the context of {self.context}, found {max_tokens}")
        sampler = Sampler(sampling.pop("ids", self.vocab), **sampling)
        return self._drawn(prompt, most if max_tokens is None else max_tokens,
                           _stops(stop_id, self.vocab), sampler)

    def _drawn(self, prompt, most, stops, sampler):
        sequence = self.sequence()
        logits = sequence.prefill(prompt)
        sampler.see(prompt)
        for _ in range(most):
            drawn = sampler(logits, len(sequence))
            if drawn in stops:
                return
            yield drawn
            logits = sequence.decode(drawn)


_ARENA = object()


class Sequence:
    """What decoding keeps of a sequence of tokens."""

    def __init__(self, model, context):
        self.model, self.context = model, whole("context", context, ctypes.c_int64)
        self._state = region(model._api.state_bytes(context))
        with model._lock:
            model._check(model._api.state_init(model._ctx.ctypes.data, self._state.ctypes.data,
                                               context))

    def __len__(self):
        return self.model._api.state_length(self._state.ctypes.data)

    def prefill(self, tokens):
        """Appends tokens; the last one's logits [vocab]."""
        tokens = _ids("tokens", tokens, 1)
        out = numpy.empty(self.model.vocab, numpy.float32)
        self.model._call("prefill", tokens.size, self._state.ctypes.data, _ARENA,
                         tokens.ctypes.data, tokens.size, out.ctypes.data)
        return out

    def decode(self, token):
        """Appends one; its logits [vocab]."""
        return self.model.decode([self], [token])[0]

    def extend(self, tokens):
        """Appends up to STRATA_BACK tokens, bit for bit as decode does one by one; the logits
        behind each [tokens, vocab]."""
        tokens = _ids("tokens", tokens, 1)
        out = numpy.empty((tokens.size, self.model.vocab), numpy.float32)
        self.model._call("extend", tokens.size, self._state.ctypes.data, _ARENA,
                         tokens.ctypes.data, tokens.size, out.ctypes.data)
        return out

    def truncate(self, length):
        """Takes the last tokens away; an Error where the state does not keep what that needs."""
        model, length = self.model, whole("length", length, ctypes.c_int64)
        with model._lock:
            model._check(model._api.state_truncate(model._ctx.ctypes.data, self._state.ctypes.data,
                                                   length))

    def copy(self):
        """Another one of the same tokens, which goes its own way."""
        other = Sequence(self.model, self.context)
        other._state[...] = self._state
        return other
