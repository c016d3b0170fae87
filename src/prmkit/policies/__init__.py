"""Opening a policy by name. A heavy engine is imported only when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prmkit.names import load, pick
from prmkit.policies.in_world import in_world
from prmkit.types import Policy

__all__ = ["BUILTIN", "ENGINES", "in_world", "open_policy", "policy_folder"]

ENGINES = {  # name -> (module:factory, the extra that installs it)
    "hf": ("prmkit.policies.hf:open", "hf"),
    "builtin": ("prmkit.policies.hf:open", "hf"),
}
BUILTIN = {
    "arith": Path(__file__).parent / "builtin" / "arith"
}  # how it was made: tools/train_builtin_arith.py


def open_policy(spec: str, **options: Any) -> Policy:
    """`open_policy("hf:Qwen/Qwen3-8B")`, `open_policy("builtin:arith")`, or the folder of a checkpoint."""
    target, extra = pick("policy engine", _engine(spec), ENGINES)
    opened: Policy = load(target, extra=extra, what=f"the policy {spec!r}")(policy_folder(spec), **options)
    return opened


def policy_folder(spec: str) -> str:
    """The folder or hub name behind a spec: what `from_pretrained` takes."""
    if Path(spec).is_dir():
        return spec
    engine, _, model = spec.partition(":")
    pick("policy engine", engine, ENGINES)
    return str(pick("builtin policy", model, BUILTIN)) if engine == "builtin" else model


def _engine(spec: str) -> str:
    return "hf" if Path(spec).is_dir() else spec.partition(":")[0]
