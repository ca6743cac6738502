# SPDX-License-Identifier: MIT
"""The compiler, called as a program."""
import inspect
import os
import re
import shutil
import subprocess
from pathlib import Path

from .library import Error
from .model import Model
from .temporary import WorkFolder

# Libraries that were built without a name of their own, kept while the process runs: a folder each,
# as the system knows a library by its path.
_folders = []


def program(name=None):
    """The compiler's path: as named, the variable STRATA, or strata in PATH."""
    wanted = name or os.environ.get("STRATA", "strata")
    found = shutil.which(wanted)
    if not found:
        raise FileNotFoundError(f"{wanted}: expected the compiler strata, found no such program; "
                                "the variable STRATA names it")
    return found


def _choice(name, value):
    """As -D takes it."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


def _in_python(message, choices):
    """What the compiler says of -D, in the words of the caller."""
    message = re.sub(r"-D (\w+):", lambda m: f"choices['{m[1]}']:" if m[1] in choices else m[0],
                     message)
    return re.sub(r"-D (\w+)=VALUE", r"choices={'\1': VALUE}", message)


def _path(name):
    """A file's name as the command line takes it for one, even if it begins like an option."""
    name = os.fspath(name)
    return os.path.join(".", name) if name.startswith("-") else name


def _known(function, how):
    """Refuses other parameters than those of the function, which go on to compile."""
    known = [name for f in dict.fromkeys([function, compile])
             for name in inspect.getfullargspec(f).kwonlyargs]
    for name in how:
        if name not in known:
            raise TypeError(f"{function.__name__}: expected some of {', '.join(known)}, found {name}; "
                            f"choices={{'{name}': VALUE}} chooses what a spec declares")


def compile(spec, output=None, *, inference=False, cpu=None, choices=None, options=(), strata=None,
            **unknown):
    """Builds a shared library of a spec, a file or Lua text; its path. choices: of what the spec
    declares with option { }, by name."""
    _known(compile, unknown)
    choices = choices or {}
    folder = WorkFolder()
    if not isinstance(spec, os.PathLike) and ("\n" in spec or spec.lstrip().startswith("return")):
        text, spec = spec, Path(folder.name, "spec.lua")
        spec.write_text(text, "utf-8")
    if output is None:
        output = Path(folder.name, "model.so")
        _folders.append(folder)
    command = [program(strata), "build", _path(spec), "--emit", "shared", "-o", _path(output),
               *options]
    for name, value in choices.items():
        command += ["-D", _choice(name, value)]
    command += ["--inference"] if inference else []
    command += ["--cpu", cpu] if cpu else []
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if ran.returncode:
        message = _in_python(ran.stderr.strip().removeprefix("error: "), choices)
        raise Error(message or f"strata build: ended with status {ran.returncode}", ran.returncode)
    return os.fspath(output)


def build(spec, output=None, *, threads=None, as_generated=False, **how):
    """compile, then Model."""
    _known(build, how)
    return Model(compile(spec, output, **how), threads=threads, as_generated=as_generated)
