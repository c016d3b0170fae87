"""Measuring: published benchmarks, miniature claims, and the runner both share."""
