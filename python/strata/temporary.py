# SPDX-License-Identifier: MIT
"""Temporary files and folders as the compiler has them: who writes one holds a lock on it, so what
nobody holds was left by processes that were killed (runtime/base/temporary.h)."""
import errno
import fcntl
import os
import re
import stat
import tempfile
import warnings
import weakref

_ATTEMPTS = 16


def _held(descriptor, name):
    """Is the file of that name held by this descriptor now? Some file systems have no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(name))
    except FileNotFoundError:
        return False


class WorkFolder(tempfile.TemporaryDirectory):
    """A folder of temporary files; the next command of strata removes one of a killed process."""

    def __init__(self):
        host = re.sub("[^A-Za-z0-9_]", "_", os.uname().nodename[:32]) or "host"
        for _ in range(_ATTEMPTS):
            super().__init__(prefix=f"strata-work-{host}-")
            try:
                lock = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:  # taken for one that is left
                continue
            weakref.finalize(self, os.close, lock)
            if _held(lock, self.name):
                return
        raise OSError(errno.EBUSY, "expected to hold a folder for temporary files", self.name)


def _remove_left(name, path):
    """What another process left, which does not run any more."""
    try:
        found = os.lstat(name)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise FileExistsError(errno.EEXIST, "expected no such file, or a regular one of this "
                                  "user", name)
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        if not _held(descriptor, name):
            raise OSError(errno.EBUSY, "another process is writing this file", path)
        os.unlink(name)
        warnings.warn(f"{name}, which a process that was killed left: removed", stacklevel=4)
    finally:
        os.close(descriptor)


def open_beside(path):
    """The file that is to become 'path', new and held, and its name."""
    name = path + ".strata-tmp"
    for _ in range(_ATTEMPTS):
        try:
            file = open(name, "xb")
        except FileExistsError:
            _remove_left(name, path)
            continue
        except OSError as error:  # which names the file beside it
            raise OSError(error.errno, error.strerror, path) from None
        if _held(file.fileno(), name):
            return file, name
        file.close()
    raise OSError(errno.EBUSY, "another process is writing this file", path)
