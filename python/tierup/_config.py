"""tierup.config: what this process has and how models run by default. Read-only; read anew at each look."""

from __future__ import annotations

import os

from . import _core


class Config:
    """`version`; `instruction_set` that kernels are chosen by; `threads` of one operator and `threads_reason`, why so
    many; `memory`, bytes of tensors now and at most; `tiering`, how plans are made by default."""

    @property
    def version(self) -> str:
        return _core.version

    @property
    def instruction_set(self) -> str:
        return _core.machine_info()["instruction_set"]

    @property
    def threads(self) -> int:
        return _core.machine_info()["threads"]

    @property
    def threads_reason(self) -> str:
        machine = _core.machine_info()
        cores = f"the process may run on {machine['allowed_cores']} core(s)"
        quota = machine["cpu_quota"]
        return f"{cores}, with a quota of {quota:g}" if quota else cores

    @property
    def memory(self) -> dict[str, int]:
        return _core.memory_stats()

    @property
    def tiering(self) -> str:
        """What the environment's TIERUP_TIERING says."""
        return os.environ.get("TIERUP_TIERING", "")

    def __repr__(self) -> str:
        lines = [f"tierup {self.version}", f"instructions: {self.instruction_set}"]
        lines += [f"threads: {self.threads} ({self.threads_reason})", f"memory: {self.memory['live_bytes']} bytes"]
        if self.tiering:
            lines.append(f"tiering: {self.tiering}")
        return "\n".join(lines)


config = Config()
