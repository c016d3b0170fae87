"""A generative scorer: a policy asked about each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prmkit.errors import BadInput
from prmkit.scorers.combine import deal
from prmkit.types import Policy, Problem, Scorer, Scores, Trajectory

Ask = Callable[[Trajectory, int], str]  # the question about policy step i
Read = Callable[[str], float | None]  # the verdict in an answer, in [0, 1]; None where there is none to read


def judge(policy: Policy, ask: Ask, read: Read, *, votes: int = 1, unreadable: float | None = None) -> Scorer:
    """The mean verdict over the readable ones of `votes` answers per step.

    An answer without a verdict is not a verdict of 0: it does not count, and `parts["readable"]` says how
    many did. A step with no readable answer is an error, unless `unreadable` is the number to give it.
    The note of a step is its first readable answer, or else its first.
    """
    if votes < 1:
        raise ValueError(f"a judge without a vote: {votes=}")

    def weigh(answers: Sequence[str]) -> tuple[float, int, str]:
        read_out = [(verdict, a) for a in answers if (verdict := read(a)) is not None]
        if read_out:
            return sum(v for v, _ in read_out) / len(read_out), len(read_out), read_out[0][1]
        if unreadable is None:
            raise BadInput(
                f"no verdict could be read in any of {votes} answers; the first: {answers[0][:200]!r}"
            )
        return unreadable, 0, answers[0]

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        asked = [Trajectory(Problem(ask(t, i))) for t in trajectories for i in range(len(t.actions))]
        said = await policy(asked, votes, until="end") if asked else []
        weighed = [weigh([answer.text for answer in row]) for row in said]
        return [
            Scores(
                tuple(value for value, _, _ in row),
                "correctness",
                parts={"readable": tuple(float(count) for _, count, _ in row)},
                notes=tuple(note for _, _, note in row),
                source=f"judge:{votes}",
            )
            for row in deal(weighed, [len(t.actions) for t in trajectories])
        ]

    return score
