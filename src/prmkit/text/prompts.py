"""A problem to the text a model is shown. Chat templates belong to the tokenizer and are applied with it."""

from __future__ import annotations

from collections.abc import Callable

from prmkit.types import Problem

Render = Callable[[Problem], str]


def plain(template: str = "{prompt}") -> Render:
    r"""The template with the problem's prompt put in; any other brace, as in \boxed{}, stays as it is.

    >>> plain("Q: {prompt}\nA:")(Problem("1 + 1?"))
    'Q: 1 + 1?\nA:'
    """
    if "{prompt}" not in template:
        raise ValueError(f"the template has no place for the problem, {{prompt}}: {template!r}")
    return lambda problem: template.replace("{prompt}", problem.prompt)
