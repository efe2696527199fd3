"""Why the extension could not be loaded, in one sentence."""

from __future__ import annotations

import os
import platform
import re


def reason(text: str) -> str:
    """Of the dynamic loader's or the importer's own words."""
    if wanted := re.search(r"version `(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)' not found", text):
        own = " ".join(platform.libc_ver()).strip() or "another C library"
        name = {"GLIBC": "glibc", "GLIBCXX": "libstdc++ with GLIBCXX_", "CXXABI": "libstdc++ with CXXABI_"}[wanted[1]]
        return f"this wheel of tierup needs {name} {wanted[2]} or newer, and this system has {own}".replace("_ ", "_")
    # Of a file that is there, this means a machine that is not this one.
    missing = re.match(r"(/.*): cannot open shared object file", text)
    if missing and os.path.exists(missing[1]) or "wrong ELF class" in text or "invalid ELF header" in text or "cannot execute" in text:
        return f"this wheel of tierup was made for another architecture than {platform.machine()}"
    if "nanobind_backend" in text:
        return "tierup needs the package nanobind-backend: pip install nanobind-backend"
    if "tierup._core" in text or "'_core'" in text:
        return f"tierup's extension is not there for {platform.machine()}: install the package, by pip install ."
    return f"tierup's extension could not be loaded: {text}"
