"""The whole loop on a small world: what `prm demo` runs."""

from prmkit.app.demo.loop import demo

__all__ = ["demo"]
