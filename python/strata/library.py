# SPDX-License-Identifier: MIT
"""libstrata: threads, initial weights, sampling, tokenizers. A model runs without it, on one thread."""
import ctypes
import ctypes.util
import os
import shutil
from pathlib import Path

from .abi import ABI, whole

MESSAGE = 512  # bytes of room for a line of text


def numbers(name, ids):
    """Ids for a function that takes int32_t."""
    import numpy
    x = numpy.asarray(ids)
    if x.ndim != 1 or (x.size and x.dtype.kind not in "iu"):
        raise ValueError(f"{name}: expected a list of ids, found {x.dtype} of shape {x.shape}")
    for one in x[(x < 0) | (x > 2**31 - 1)] if x.size else ():
        raise ValueError(f"{name}: expected ids from 0 to {2**31 - 1}, found {one}")
    return numpy.ascontiguousarray(x, numpy.int32)


class Error(Exception):
    """What a model, libstrata or the compiler refused, in its own words; 'status' is its number."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def _places():
    """Where libstrata.so may be: STRATA_LIBRARY, beside the compiler, where the system looks."""
    named = os.environ.get("STRATA_LIBRARY")
    if named:
        yield named
        return
    program = shutil.which(os.environ.get("STRATA", "strata"))
    if program:
        folder = Path(program).resolve().parent
        yield folder / "runtime" / "libstrata.so"
        for lib in [folder.parent / "lib", *sorted((folder.parent / "lib").glob("*-linux-gnu"))]:
            yield lib / "libstrata.so"
    found = ctypes.util.find_library("strata")
    if found:
        yield found


class Library:
    """The functions of strata.h. Raises ImportError where there is no libstrata.so."""

    def __init__(self, path=None):
        tried = [str(p) for p in ([path] if path else _places())]
        there = [p for p in tried if os.path.exists(p) or os.sep not in p]
        if not there:
            raise ImportError(f"libstrata.so: expected it in {', '.join(tried) or 'STRATA_LIBRARY'}"
                              ", or beside the program strata; found none")
        self.path = there[0]
        library = ctypes.CDLL(self.path)
        for name, (result, arguments) in ABI.functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("strata_"):], function)
        for function in (self.decoder_push, self.decoder_end):  # texts may have a NUL within
            function.restype = ctypes.c_void_p
        self.par_for_address = ctypes.cast(self.par_for, ctypes.c_void_p).value

    def call(self, name, *arguments):
        """A function whose last parameters are a message and its size."""
        message = ctypes.create_string_buffer(MESSAGE)
        status = getattr(self, name)(*arguments, message, MESSAGE)
        if status:
            raise Error(message.value.decode("utf-8", "replace"), status)


_library = None


def library(path=None):
    """libstrata, loaded once; of another place where one is named."""
    global _library
    if _library is None or (path and path != _library.path):
        _library = Library(path)
    return _library


class Pool:
    """Threads for models."""

    def __init__(self, threads):
        self._library = library()
        self.address = self._library.pool_new(whole("threads", threads))
        if not self.address:
            raise Error(f"threads: expected as many as can be started, found {threads}")
        self.workers = self._library.pool_workers(self.address)

    def __del__(self):
        if getattr(self, "address", None):
            self._library.pool_free(self.address)


class Sampler:
    """Draws ids from logits, as the standalone programs do: the same seed, the same text.

    With repeat_penalty it is one sequence's: it remembers what it drew, and see() tells it of the
    prompt."""

    def __init__(self, ids, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=0,
                 repeat_penalty=1.0):
        self._library = library()
        how = ABI.strata_sampling(
            struct_size=ctypes.sizeof(ABI.strata_sampling), temperature=temperature, top_p=top_p,
            min_p=min_p, top_k=top_k, seed=seed, ids=ids, repeat_penalty=repeat_penalty)
        self.ids, self._address = ids, ctypes.c_void_p()
        self._library.call("sampler_new", ctypes.byref(how), ctypes.byref(self._address))

    def __call__(self, logits, position):
        """The id for a position of a sequence."""
        import numpy
        logits = numpy.ascontiguousarray(logits, numpy.float32)
        if logits.ndim != 1 or logits.size < self.ids:
            raise ValueError(f"logits: expected {self.ids} of them, found shape {logits.shape}")
        drawn = self._library.sampler_next(self._address, logits.ctypes.data, position)
        if drawn < 0:
            raise Error("logits: expected finite ones; the weights are not usable")
        return drawn

    def see(self, ids):
        """Ids of the sequence that were not drawn: its prompt's."""
        ids = numbers("ids", ids)
        self._library.sampler_see(self._address, ids.ctypes.data, ids.size)

    def forget(self):
        """Another sequence begins."""
        self._library.sampler_forget(self._address)

    def __del__(self):
        if getattr(self, "_address", None):
            self._library.sampler_free(self._address)


class Tokenizer:
    """A tokenizer.json, SentencePiece's .model, .tiktoken; or a model's own (Model.tokenizer)."""

    def __init__(self, file):
        self._open("tokenizer_read", os.fsencode(file))

    def _open(self, name, *arguments):
        self._library, self._address = library(), ctypes.c_void_p()
        at = list(arguments) + [ctypes.byref(self._address)]
        self._library.call(name, *at)

    @classmethod
    def of_model(cls, model, weights=None):
        """model: the address of a descriptor."""
        self = cls.__new__(cls)
        self._open("tokenizer_of_model", model, os.fsencode(weights) if weights else None)
        return self

    @property
    def ids(self):
        return self._library.tokenizer_ids(self._address)

    @property
    def end(self):
        """The id that stands between texts, one of ends; None: none is known."""
        end = self._library.tokenizer_end(self._address)
        return None if end < 0 else end

    @property
    def ends(self):
        """All ids that end a text, a list; Model.generate takes it as stop_id."""
        room = (ctypes.c_int32 * self._library.tokenizer_ends(self._address, None, 0))()
        self._library.tokenizer_ends(self._address, room, len(room))
        return list(room)

    @property
    def begin(self):
        """The id that begins a text, whether or not a template puts it in front; None: none is
        known."""
        begin = self._library.tokenizer_begin(self._address)
        return None if begin < 0 else begin

    def find(self, piece):
        """The id of a piece as the file spells it; None: there is none."""
        found = self._library.tokenizer_find(self._address, piece.encode())
        return None if found < 0 else found

    def encode(self, text, template=False, plain=False):
        """Ids of a text, or of bytes; 'template' adds what the file puts around it."""
        import numpy
        text = text.encode() if isinstance(text, str) else bytes(text)
        flags = ABI.STRATA_TEMPLATE * template + ABI.STRATA_PLAIN * plain
        room = numpy.empty(len(text) + 16, numpy.int32)
        while True:
            ids = ABI.strata_ids(at=room.ctypes.data, room=room.size)
            self._library.call("tokenizer_encode", self._address, text, len(text), flags,
                               ctypes.byref(ids))
            if ids.count <= room.size:
                return room[:ids.count].copy()
            room = numpy.empty(ids.count, numpy.int32)

    def decode(self, ids, specials=False):
        """The text of ids."""
        ids = numbers("ids", ids)
        room = ctypes.create_string_buffer(8 * ids.size + 16)
        while True:
            text = ABI.strata_text(at=ctypes.addressof(room), room=len(room))
            self._library.call("tokenizer_decode", self._address, ids.ctypes.data, ids.size,
                               ABI.STRATA_SPECIALS * specials, ctypes.byref(text))
            if text.length <= len(room):
                return room.raw[:text.length].decode("utf-8", "replace")
            room = ctypes.create_string_buffer(text.length)

    def stream(self, ids, stop=(), specials=False, continues=True):
        """Texts of ids that come one by one, in whole characters; ends before a text of 'stop'."""
        flags = ABI.STRATA_SPECIALS * specials + ABI.STRATA_CONTINUES * continues
        decoder = self._library.decoder_new(self._address, flags)
        length = ctypes.c_size_t()
        try:
            for one in [stop] if isinstance(stop, str) else stop:
                if self._library.decoder_stop(decoder, one.encode()):
                    raise ValueError("stop: expected a text, found an empty one")
            for one in ids:
                if not 0 <= whole("id", one) < self.ids:
                    raise ValueError(f"id: expected 0 to {self.ids - 1}, found {one}")
                yield self._piece(
                    self._library.decoder_push(decoder, one, ctypes.byref(length)), length)
                if self._library.decoder_stopped(decoder):
                    return
            yield self._piece(self._library.decoder_end(decoder, ctypes.byref(length)), length)
        finally:
            self._library.decoder_free(decoder)

    @staticmethod
    def _piece(address, length):
        if address is None:
            raise MemoryError("no memory for a text")
        return ctypes.string_at(address, length.value).decode("utf-8", "replace")

    def __del__(self):
        if getattr(self, "_address", None):
            self._library.tokenizer_free(self._address)
