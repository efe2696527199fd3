"""Progress: tqdm if it is there, else a line on stderr if that is a terminal, else nothing."""

from __future__ import annotations

import contextlib
import sys


@contextlib.contextmanager
def counter(progress, label: str, total: int | None):
    """Gives a function to be called after each step. `progress`: None or False for nothing, True, or a callable of
    (label, done, total)."""
    if not progress:
        yield lambda: None
        return
    done = 0
    if callable(progress):

        def tick() -> None:
            nonlocal done
            done += 1
            progress(label, done, total)

        yield tick
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = None
    if tqdm is not None:
        with tqdm(total=total, desc=label) as bar:
            yield bar.update
        return
    shown = sys.stderr.isatty()

    def step() -> None:
        nonlocal done
        done += 1
        if shown:
            print(f"\r{label}: {done}{f' of {total}' if total else ''}", end="", file=sys.stderr, flush=True)

    try:
        yield step
    finally:
        if shown and done:
            print(file=sys.stderr)
