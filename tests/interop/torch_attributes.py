# SPDX-License-Identifier: MIT
"""Writes compiler/interop/torch/torch_attributes.inc: the names that modules of PyTorch and models
of transformers own, so that no parameter may have them.

    python torch_attributes.py >compiler/interop/torch/torch_attributes.inc

And torch_globals.inc: the names that modeling.py, and Python by itself, give to functions and
classes, so that no function of a model takes their place.

    python torch_attributes.py globals >compiler/interop/torch/torch_globals.inc
"""
import ast
import builtins
import pathlib
import re
import sys
from importlib.metadata import version

from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel


class Parameters(nn.Module):
    """With the methods of the class in modeling.py."""

    def grow(self):
        pass


class Model(PreTrainedModel, GenerationMixin):
    """With the methods of the class in modeling.py."""

    config_class = PretrainedConfig
    base_model_prefix = ""
    _supports_cache_class = False

    def logits(self):
        pass


def array(name, words):
    lines, line = [], '    " '
    for word in words:
        if len(line) + len(word) + 2 > 99:
            lines.append(line + '"')
            line = '    "'
        line += word + " "
    return f"static const char {name}[] =\n" + "\n".join(lines + [line + '"']) + ";"


def names(owned):
    return sorted(x for x in owned if re.fullmatch("[A-Za-z_]\\w*", x) and not x.startswith("__"))


def globals_of(file):
    """Functions, classes and what is imported."""
    for x in ast.parse(file.read_text()).body:
        if isinstance(x, (ast.Import, ast.ImportFrom)):
            yield from (a.asname or a.name for a in x.names)
        elif isinstance(x, (ast.FunctionDef, ast.ClassDef)):
            yield x.name


if sys.argv[1:] == ["globals"]:
    text = pathlib.Path(__file__).parents[2] / "compiler/interop/torch/modeling.py"
    print(f"""/* SPDX-License-Identifier: MIT
** Names of modeling.py, and of Python {sys.version.split()[0]} by itself.
** tests/interop/torch_attributes.py writes this file. */""")
    print(array("file_globals", names(globals_of(text))))
    print(array("python_globals", names(dir(builtins))))
    sys.exit()
module, model = set(dir(Parameters())), set(dir(Model(PretrainedConfig())))
print(f"""/* SPDX-License-Identifier: MIT
** Names that an object of PyTorch {version("torch").partition("+")[0]}'s nn.Module has, and those
** that an object of transformers {version("transformers")}'s PreTrainedModel with generation has besides.
** tests/interop/torch_attributes.py writes this file. */""")
print(array("module_attributes", names(module)))
print(array("model_attributes", names(model - module)))
