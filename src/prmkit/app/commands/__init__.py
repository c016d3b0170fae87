"""One file per command of `prm`: it turns names into parts, calls one verb, and shows what came of it."""
