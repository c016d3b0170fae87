"""Methods whose main contribution is what a policy learns from: credit, curate, pair."""

from __future__ import annotations

from dataclasses import replace

from prmkit.maths import aggregate as agg
from prmkit.maths import credit, curate
from prmkit.recipes.recipe import Recipe
from prmkit.types import Curate, Group


def min_form(*, temperature: float = 0.1) -> Recipe:
    """A step is worth the worst reward still to come, beside the outcome (PURE)."""
    return Recipe(23, credit=credit.add(credit.min_form(temperature), credit.outcome))


def progress_advantage(*, weight: float = 5.0, best_of: int = 4, start: float = 0.5) -> Recipe:
    """What a step adds to the success of a prover that takes the best of `best_of` tries (PAV).

    It succeeds with chance 1 − (1 − v)ᵏ where the policy does with v; before any step v is `start`.
    """

    def gain(group: Group) -> list[list[float]]:
        prover = tuple(replace(s, values=tuple(map(succeeds, s.values))) for s in group.scores)
        rows = credit.by_progress(succeeds(start))(replace(group, scores=prover))
        return [[weight * step for step in row] for row in rows]

    def succeeds(value: float) -> float:
        return 1.0 - (1.0 - value) ** best_of

    return Recipe(43, credit=credit.add(gain, credit.outcome))


def consistent_rollouts(*, keep: int = 4) -> Recipe:
    """Learn from the `keep` trajectories whose process and outcome agree best, half of them right (PROF)."""
    return Recipe(34, curate=balanced_agreement(keep), credit=credit.from_outcomes(credit.group_normalised))


def outcome_pairs() -> Recipe:
    """The best and the worst trajectory of a problem as a preference (IPR)."""
    return Recipe(88, pair=curate.best_and_worst)


def balanced_agreement(keep: int) -> Curate:
    """Drop, down to `keep`, right answers of low and wrong answers of high mean step score.

    With n₊ right, n₋ wrong and d to drop, k₊ = ⌈(n₊ − n₋ + d) / 2⌉ of the right go, within what there is.
    """

    def keep_best(group: Group) -> Group:
        means = [agg.mean(s.values) for s in credit.step_scores(group)]
        doubtful = sorted(range(len(means)), key=lambda i: means[i])
        right = [i for i in doubtful if group.outcomes[i] > 0.5]
        wrong = [i for i in reversed(doubtful) if group.outcomes[i] <= 0.5]
        surplus = max(0, len(means) - keep)
        from_right = -((len(wrong) - len(right) - surplus) // 2)  # ⌈x / 2⌉ is −⌊−x / 2⌋
        from_right = min(max(from_right, 0, surplus - len(wrong)), surplus, len(right))
        kept = sorted([*right[from_right:], *wrong[surplus - from_right :]])
        return Group(
            tuple(group.trajectories[i] for i in kept),
            tuple(group.outcomes[i] for i in kept),
            tuple(group.scores[i] for i in kept),
        )

    return keep_best
