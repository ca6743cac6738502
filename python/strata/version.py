# SPDX-License-Identifier: MIT
"""The version, which CMakeLists.txt says: of a source tree from there, else as it was installed."""
import importlib.metadata
import re
from pathlib import Path


def version():
    """None: copied from somewhere, without what says it."""
    tree = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    if tree.is_file():
        found = re.search(r"project\(strata VERSION ([0-9.]+)", tree.read_text("utf-8"))
        if found:
            return found[1]
    try:
        return importlib.metadata.version("strata")
    except importlib.metadata.PackageNotFoundError:
        return None
