# SPDX-License-Identifier: MIT
"""The interface of models, read from the headers that define it (abi.h, strata.h): structures and
functions as ctypes has them. Nothing of it is written down a second time here."""
import ctypes
import operator
import re
from pathlib import Path

_SCALARS = {
    "size_t": ctypes.c_size_t, "int": ctypes.c_int, "char": ctypes.c_char,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "float": ctypes.c_float, "double": ctypes.c_double, "void": None,
}


_WHOLE = {kind for kind in _SCALARS.values() if kind not in (None, ctypes.c_char, ctypes.c_float,
                                                             ctypes.c_double)}


def whole(name, value, kind=ctypes.c_int32):
    """A whole number as 'kind' holds it. ctypes would cut off the upper bits of another one."""
    number = operator.index(value)
    bits = 8 * ctypes.sizeof(kind)
    low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if kind(-1).value < 0 else (0, 2 ** bits - 1)
    if not low <= number <= high:
        raise ValueError(f"{name}: expected a number from {low} to {high}, found {number}")
    return number


def _argument(kind):
    """What a function takes for a whole number of this kind."""
    def from_param(cls, value):
        return kind(whole("argument", value, kind))
    return type(kind.__name__, (), {"from_param": classmethod(from_param)})


_ARGUMENTS = {kind: _argument(kind) for kind in _WHOLE}


class _Structure(ctypes.Structure):
    """Its members refuse whole numbers that they cannot hold."""

    def __init__(self, **members):
        super().__init__()
        for name, value in members.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = dict(self._fields_).get(name)
        super().__setattr__(name, whole(name, value, kind) if kind in _WHOLE else value)


def _header(name):
    """Installed, the headers lie beside this file; in a source tree in runtime/."""
    here = Path(__file__).resolve().parent
    for folder in (here, here.parents[1] / "runtime"):
        if (folder / name).is_file():
            return re.sub(r"/\*.*?\*/", " ", (folder / name).read_text("utf-8"), flags=re.S)
    raise ImportError(f"{name}: expected it in {here}, found none")


class Interface:
    """Members: every constant and structure by its name in C, and 'functions' of strata.h."""

    def __init__(self):
        text = _header("abi.h")
        self._types = dict(_SCALARS)
        for name, value in re.findall(r"#define (STRATA_\w+) (?:UINT64_C\()?(0x\w+|\d+)", text):
            setattr(self, name, int(value, 0))
        self._enumerate(text)
        # pointers to functions, which callers give and get as addresses
        for name in re.findall(r"typedef [^;{]*\(\*(\w+)\)\(", text):
            self._types[name] = ctypes.c_void_p
        self._structures(text)
        text = _header("strata.h")
        self._enumerate(text)
        self._structures(text)
        self.functions = {}
        for result, name, arguments in re.findall(
                r"^([a-z][\w ]*?[ *]+)(strata_\w+)\(([^)]*)\);", text, flags=re.M):
            self.functions[name] = (self._type(result), self._arguments(arguments))

    def _enumerate(self, text):
        for name, value in re.findall(r"\b(STRATA_\w+) = (\d+)", text):
            setattr(self, name, int(value))

    def _structures(self, text):
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
            fields = [f for member in body.split(";") for f in self._fields(" ".join(member.split()))]
            structure = type(name, (_Structure,), {"_fields_": fields})
            self._types[name] = structure
            setattr(self, name, structure)

    def _type(self, text):
        """Pointers are addresses, but for text that a function returns."""
        words = text.replace("const", " ").split()
        if "*" in text:
            return ctypes.c_char_p if words[0].rstrip("*") == "char" else ctypes.c_void_p
        return self._types[words[0]]

    def _arguments(self, text):
        found = []
        for one in text.split(","):
            words = one.split()
            if words and words != ["void"]:
                kind = ctypes.c_void_p if "*" in one else self._type(words[0]
                                                                     if words[0] != "const"
                                                                     else words[1])
                found.append(_ARGUMENTS.get(kind, kind))
        return found

    def _fields(self, text):
        """Of one declaration: 'int64_t a, b[2]', 'double *routed', 'int32_t (*init)(void *ctx)'."""
        if not text:
            return
        function = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", text)
        if function:
            result, name, arguments = function.groups()
            yield name, ctypes.CFUNCTYPE(self._type(result), *self._arguments(arguments))
            return
        kind, names = re.fullmatch(r"(?:const )?(\w+) (.*)", text).groups()
        for one in names.split(","):
            name, size = re.fullmatch(r"[ *]*(\w+)(?:\[(\d+)\])?", one).groups()
            item = ctypes.c_void_p if "*" in one else self._types[kind]
            yield name, item * int(size) if size else item


ABI = Interface()
