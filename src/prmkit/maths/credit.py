"""What each step of a group deserves. Formulas on numbers, then rules on a `Group`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from prmkit.types import Credit, Group, Kind, Scores

# --- formulas ---------------------------------------------------------------------------------------


def returns_to_go(rewards: Sequence[float], gamma: float = 1.0) -> list[float]:
    """G_t = r_t + γ G_{t+1}.

    >>> returns_to_go([1.0, 0.0, 2.0], 0.5)
    [1.5, 1.0, 2.0]
    """
    out: list[float] = []
    ahead = 0.0
    for reward in reversed(rewards):
        ahead = reward + gamma * ahead
        out.append(ahead)
    return out[::-1]


def signed(values: Sequence[float]) -> list[float]:
    """r = 2p - 1, which is p(good) - p(bad): a chance in [0, 1] as a reward in [-1, 1] (card 023).

    >>> signed([1.0, 0.5, 0.0])
    [1.0, 0.0, -1.0]
    """
    return [2 * p - 1 for p in values]


def soft_min_weights(rewards: Sequence[float], temperature: float) -> list[float]:
    """w_t = softmax_t(-r / τ): they sum to 1, all on the worst step as τ goes to 0.

    >>> soft_min_weights([0.3, 0.3], 0.1)
    [0.5, 0.5]
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, not {temperature:g}")
    low = min(rewards, default=0.0)
    raw = [math.exp((low - r) / temperature) for r in rewards]  # low first: exp never overflows
    whole = sum(raw)
    return [w / whole for w in raw]


def soft_min_returns(rewards: Sequence[float], temperature: float) -> list[float]:
    """G_t = Σ_{k≥t} w_k r_k with w = softmax(-r / τ): an ordinary sum that acts as a minimum (card 023)."""
    weights = soft_min_weights(rewards, temperature)
    return returns_to_go([w * r for w, r in zip(weights, rewards, strict=True)])


def min_form_returns(rewards: Sequence[float]) -> list[float]:
    """G_t = min_{k≥t} r_k for t ≤ w and 0 after, w the first worst step (card 023, strict form).

    >>> min_form_returns([0.9, -0.5, 0.4])
    [-0.5, -0.5, 0.0]
    """
    worst = min(range(len(rewards)), key=lambda t: rewards[t], default=0)
    return [rewards[worst] if t <= worst else 0.0 for t in range(len(rewards))]


def progress(values: Sequence[float], start: float) -> list[float]:
    """r_t = V_t - V_{t-1} with V_0 = start: what a step added to the chance of success, in [-1, 1].

    The one way from a value to a reward: summed over the steps it is V_T - start.
    """
    return [after - before for before, after in pairwise([start, *values])]


def leave_one_out(numbers: Sequence[float]) -> list[float]:
    """x_i - mean of the others; sums to 0.

    >>> leave_one_out([1.0, 0.0, 0.0])
    [1.0, -0.5, -0.5]
    """
    n = len(numbers)
    if n < 2:
        raise ValueError(f"leave-one-out needs a group of at least two, not {n}: there are no others")
    whole = sum(numbers)
    return [x - (whole - x) / (n - 1) for x in numbers]


def group_normalised(numbers: Sequence[float]) -> list[float]:
    """(x_i - mean) / std with the population's std, as in GRPO; all 0 in a group that is all alike.

    >>> group_normalised([1.0, 0.0])
    [1.0, -1.0]
    """
    if not numbers:
        raise ValueError("an empty group has no mean to normalise by")
    if max(numbers) == min(numbers):  # asked of the numbers, as rounding makes a tiny std out of equals
        return [0.0] * len(numbers)
    mean = sum(numbers) / len(numbers)
    std = math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))
    return [(x - mean) / std for x in numbers]


def to_tokens(per_step: Sequence[float], tokens_in_step: Sequence[int]) -> list[float]:
    """Every token of a step gets the step's number.

    >>> to_tokens([1.0, -1.0], [2, 1])
    [1.0, 1.0, -1.0]
    """
    return [a for a, n in zip(per_step, tokens_in_step, strict=True) for _ in range(n)]


# --- rules ------------------------------------------------------------------------------------------


def from_outcomes(compare: Callable[[Sequence[float]], list[float]]) -> Credit:
    """The group's outcomes set against each other, the same for every step of a trajectory.

    `from_outcomes(group_normalised)` is GRPO's advantage.
    """

    def credit(group: Group) -> list[list[float]]:
        compared = compare(group.outcomes)
        return [[a] * len(t.actions) for a, t in zip(compared, group.trajectories, strict=True)]

    return credit


def outcome(group: Group) -> list[list[float]]:
    """Outcome minus the mean of the others', the same for every step (RLOO)."""
    return from_outcomes(leave_one_out)(group)


def from_scores(returns: Callable[[Scores], list[float]]) -> Credit:
    """Each trajectory's step scores turned into returns, then centred over all steps of the group."""

    def credit(group: Group) -> list[list[float]]:
        rows = [returns(s) for s in step_scores(group)]
        steps = sum(len(row) for row in rows)
        if steps == 0:
            return rows
        baseline = sum(x for row in rows for x in row) / steps
        return [[x - baseline for x in row] for row in rows]

    return credit


def from_rewards(to_go: Callable[[Sequence[float]], list[float]]) -> Credit:
    """`from_scores` for a formula that wants the bare numbers and trusts their kind."""
    return from_scores(lambda scores: to_go(scores.values))


def step_scores(group: Group) -> tuple[Scores, ...]:
    """The group's scores, known to be one row per trajectory and one number per policy step."""
    if len(group.scores) != len(group.trajectories):
        raise ValueError(
            f"this rule needs step scores for all {len(group.trajectories)} trajectories of the group, "
            f"{len(group.scores)} have them: run a scorer over it first"
        )
    for trajectory, scores in zip(group.trajectories, group.scores, strict=True):
        if len(scores.values) != len(trajectory.actions):
            raise ValueError(f"{len(scores.values)} scores for {len(trajectory.actions)} policy steps")
    return group.scores


def _expect(scores: Scores, *kinds: Kind, advice: str) -> None:
    if scores.kind not in kinds:
        raise ValueError(f"scores of kind {scores.kind!r} where {' or '.join(kinds)} is needed: {advice}")


def _as_rewards(scores: Scores) -> Sequence[float]:
    return scores.values if scores.kind == "reward" else signed(scores.values)


def sum_form(group: Group) -> list[list[float]]:
    """G_t = Σ_{k≥t} r_k, centred over the group; a correctness p counts as 2p - 1.

    The form card 023 warns of: steps that only please the scorer are paid one by one.
    """

    def returns(scores: Scores) -> list[float]:
        _expect(scores, "reward", "correctness", advice="the sum of values pays for length, take by_progress")
        return returns_to_go(_as_rewards(scores))

    return from_scores(returns)(group)


def min_form(temperature: float = 0.1) -> Credit:
    """The return is the worst reward still to come, centred over the group (PURE, card 023).

    A chance p, of either kind, counts as 2p - 1. `temperature` softens the minimum; 0 is the strict form.
    """

    def returns(scores: Scores) -> list[float]:
        rewards = _as_rewards(scores)
        return soft_min_returns(rewards, temperature) if temperature else min_form_returns(rewards)

    return from_scores(returns)


def by_progress(start: float = 0.5) -> Credit:
    """What each step added to the chance of success, centred over the group; `start` is V before any step."""

    def returns(scores: Scores) -> list[float]:
        _expect(scores, "value", advice="only a chance of success makes progress")
        return progress(scores.values, start)

    return from_scores(returns)


def add(*rules: Credit) -> Credit:
    """The sum of what the rules give each step."""

    def credit(group: Group) -> list[list[float]]:
        each = [rule(group) for rule in rules]
        return [[sum(xs) for xs in zip(*rows, strict=True)] for rows in zip(*each, strict=True)]

    return credit


CREDITS: dict[str, Credit] = {
    "outcome": outcome,
    "progress": by_progress(),
    "sum": sum_form,
    "min": min_form(),
}
