import pytest

from prmkit.types import Step

STEPS = "ab"


class Script:
    """A policy over the words of `length` letters: the k-th continuation of a prefix adds the k-th letter.

    Letters come round again, `calls` remembers what was asked, and a word is rated by a table or a function.
    """

    def __init__(self, length, values):
        self.length, self.values, self.calls = length, values, []

    def _grow(self, t, k, until):
        while not t.closed:
            t = t.then(Step(STEPS[k % 2]), "done" if len(t.steps) + 1 >= self.length else "open")
            if until != "end":
                break
        return t

    async def policy(self, prefixes, n=1, /, *, until="step"):
        self.calls.append(([t.text for t in prefixes], n, until))
        return [[self._grow(t, k, until) for k in range(n)] for t in prefixes]

    async def rate(self, trajectories, /):
        return [self.values(t.text) for t in trajectories]


@pytest.fixture
def script():
    return Script
