"""Models in pickles: by path, options and digest; by their bytes if they were loaded from bytes.

The digest is of the file's size and last 64 KiB, where an archive's directory has the checksum of each of its records:
it changes when any record does, and is read in microseconds whatever the size.
"""

from __future__ import annotations

import hashlib
import os
import pickle

from ._errors import make

_TAIL = 1 << 16


def digest(path: str) -> str:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(max(0, size - _TAIL))
        return hashlib.blake2b(str(size).encode() + file.read(), digest_size=16).hexdigest()


def reduce(model):
    if model.closed:
        raise pickle.PicklingError("the model is closed")
    if model._origin is None:
        raise pickle.PicklingError(
            f"{model!r} was loaded from a reader or made in this process: only models from paths and bytes can be pickled"
        )
    is_path = isinstance(model._origin, str)
    origin = os.path.abspath(model._origin) if is_path else model._origin
    return restore, (origin, digest(origin) if is_path else None, model._options, model._outputs)


def restore(origin, expected: str | None, options: dict, outputs: str):
    from ._model import load

    if expected is not None:
        if not os.path.exists(origin):
            raise make("not_found", f"No such file: {origin}, from which the pickled model was loaded", "", [])
        if digest(origin) != expected:
            raise make("invalid_argument", f"{origin} is another file than the pickled model was loaded from", "", [])
    return load(origin, outputs=outputs, **options)
