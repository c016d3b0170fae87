"""The demo's report: what was measured, in the order in which a reader asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prmkit.app import report
from prmkit.app.demo.compare import Pool, Spent
from prmkit.app.demo.improve import Learnt
from prmkit.app.demo.settings import ORM, PRM, Settings
from prmkit.app.demo.truth import Accuracy
from prmkit.app.plots import Bar, Point, Series, bar_chart, line_chart, reliability_chart
from prmkit.app.report import (
    Chart,
    Figure,
    Figures,
    ReportData,
    Section,
    Table,
    Verdicts,
    compare,
    interval_text,
)
from prmkit.maths import labels
from prmkit.worlds import arith

Compared = Mapping[str, Mapping[int, Spent]]
ONE, MAJORITY, CEILING = "one sample", "majority vote", "perfect scorer"
OUTCOME = "outcome model, best of N"
IN_CHART = (MAJORITY, OUTCOME, "PRM best of N, min", "PRM-weighted vote", "step beam search", "MCTS", CEILING)


def page(
    settings: Settings,
    pools: Sequence[Pool],
    truths: Mapping[str, Accuracy],
    compared: Compared,
    learnt: Mapping[str, Learnt],
    *,
    seconds: float,
) -> ReportData:
    return ReportData(
        title="The process-reward loop, from samples to a better policy",
        lead=(
            "A small language model solves arithmetic word problems. Its steps were labelled by rollouts, a PRM "
            "learnt from the labels, and the PRM then guided search and reinforcement learning. The world knows "
            "the truth of every step; it was used to measure, never to label or to train."
        ),
        settings=_settings(settings, pools, seconds),
        sections=(
            _verdicts(compared, learnt),
            _budgets(compared, settings),
            _steps(pools),
            _truth(truths),
            _rl(compared, learnt),
        ),
    )


def _settings(settings: Settings, pools: Sequence[Pool], seconds: float) -> dict[str, str]:
    return {
        "seed": str(settings.seed),
        "policy": settings.policy,
        "labelled": f"{settings.train_problems} solutions, {settings.rollouts} rollouts a step",
        "test problems": f"{len(pools)}, held out, {settings.samples} samples each",
        "intervals": "95 %, bootstrap over problems; comparisons are paired",
        "time": f"{seconds:.0f} s in this sitting",
        "again": f"prm demo --seed {settings.seed}",
    }


def _verdicts(compared: Compared, learnt: Mapping[str, Learnt]) -> Section:
    best = {name: spent[max(spent)] for name, spent in compared.items()}
    one = best[ONE]
    prm = [name for name in best if name.startswith("PRM best")]
    lines = [compare(name, other, best[name].beyond(best[other])) for name in prm for other in (ONE, OUTCOME)]
    guided = ("PRM-weighted vote", "step beam search", "MCTS")
    lines += [compare(name, MAJORITY, best[name].beyond(best[MAJORITY])) for name in (*prm, *guided)]
    lines += [
        compare(f"the policy after RL ({name})", "the policy before", result.after.beyond(one))
        for name, result in learnt.items()
    ]
    first, second = learnt.values()
    names = [f"RL with {name}" for name in learnt]
    lines.append(compare(names[0], names[1], first.after.beyond(second.after)))
    top = max(prm, key=lambda name: best[name].interval.mean)
    figures = Figures(
        (
            Figure("one sample", *_told(one)),
            Figure(top, *_told(best[top])),
            Figure("one sample after RL", *_told(first.after)),
        )
    )
    return Section(
        "What won and what did not",
        "Shares of held-out problems solved. A sentence names a winner only where the 95 % interval of the paired "
        "difference leaves out zero. The tile in the middle shows the best of the PRM's aggregates on the test "
        "problems, so it flatters it a little; the sentences cover them all.",
        (figures, Verdicts(tuple(lines))),
    )


def _told(spent: Spent) -> tuple[str, str]:
    interval = spent.interval
    return f"{interval.mean:.2f}", f"[{interval.low:.2f}, {interval.high:.2f}], n = {interval.n}"


def _budgets(compared: Compared, settings: Settings) -> Section:
    lines = tuple(
        Series(
            name,
            tuple(Point.of(s.tokens, s.interval) for _, s in sorted(compared[name].items())),
            dashed=name == CEILING,
            tone=place,
        )
        for place, name in enumerate(IN_CHART)
    )
    chart = line_chart(
        lines,
        title="Solved against budget",
        x_label="policy tokens per problem",
        y_label="share of problems solved",
        log_x=True,
    )
    last = {name: spent[max(spent)] for name, spent in compared.items()}
    rows = tuple(
        (name, interval_text(s.interval), f"{s.tokens:.0f}", str(s.interval.n)) for name, s in last.items()
    )
    bars = bar_chart(
        [Bar(name, s.interval, dashed=name == CEILING) for name, s in last.items()],
        title=f"At the largest budget, {settings.samples} samples or as many tokens",
        x_label="share of problems solved",
    )
    return Section(
        "Accuracy against budget",
        f"Every method picks among the same {settings.samples} samples a problem; at fewer samples, the mean over "
        "the disjoint groups there are. Beam search and MCTS write their own steps and are sized to the tokens "
        "of all samples together; what they really took is in the table.",
        (
            Chart(chart),
            Chart(bars),
            Table(
                ("method", "solved", "policy tokens per problem", "n"),
                rows,
                "Every method at its largest budget.",
            ),
        ),
    )


def _steps(pools: Sequence[Pool]) -> Section:
    """One right and two wrong solutions: the first of each kind, not the prettiest."""
    every = [(pool, i) for pool in pools for i in range(len(pool.samples))]
    right = next(((p, i) for p, i in every if p.right[i]), None)
    caught = next(((p, i) for p, i in every if not p.right[i] and _found(p, i)), None)
    missed = next(((p, i) for p, i in every if not p.right[i] and not _found(p, i)), None)
    titles = ("A right solution", "An error the PRM finds", "An error the PRM does not find where it is")
    shown = [
        _solution(*chosen, title)
        for chosen, title in zip((right, caught, missed), titles, strict=True)
        if chosen is not None
    ]
    return Section(
        "Step by step",
        "The PRM's score of each step is its estimate of the chance to end well; beside it the world's verdict. "
        "The first solutions of their kind among the test samples.",
        tuple(shown),
    )


def _found(pool: Pool, i: int) -> bool:
    return labels.first_error(pool.scores[PRM][i].values) == arith.first_error(pool.samples[i])


def _solution(pool: Pool, i: int, title: str) -> report.Solution:
    steps = tuple(
        report.ScoredStep(
            step.text.strip(),
            score,
            verdict="right" if verdict.right else "wrong",
            right=verdict.right,
            error=verdict.error or ("" if verdict.on_track else "follows from an error"),
        )
        for step, score, verdict in zip(
            pool.samples[i].actions, pool.scores[PRM][i].values, arith.judge(pool.samples[i]), strict=True
        )
    )
    outcome = "right answer" if pool.right[i] else f"wrong answer; it is {pool.problem.answer}"
    return report.Solution(pool.problem.prompt, steps, title, outcome)


def _truth(truths: Mapping[str, Accuracy]) -> Section:
    names = {PRM: "PRM", ORM: "outcome model"}
    rows = tuple(
        (names[key], interval_text(t.f1), interval_text(t.auc), str(t.f1.n), str(t.steps))
        for key, t in truths.items()
    )
    chart = reliability_chart({names[key]: t.calibration for key, t in truths.items()}, title="Calibration")
    return Section(
        "Against the truth",
        "First-error F1 is ProcessBench's: the harmonic mean of finding the exact first error in wrong solutions "
        "and of flagging nothing in right ones, at threshold 0.5. AUC is over steps, on track or not. "
        "A well calibrated scorer lies on the diagonal; a PRM trained on rollouts estimates the chance to end "
        "well, which is lower than the chance to be on track. The outcome model learnt only how solutions end: "
        "what it says before the end was never trained, and shows it.",
        (
            Table(("scorer", "first-error F1", "step AUC", "problems", "steps"), rows),
            Chart(chart),
        ),
    )


def _rl(compared: Compared, learnt: Mapping[str, Learnt]) -> Section:
    series = tuple(
        Series(name, tuple(Point.of(update, seen) for update, seen in result.curve))
        for name, result in learnt.items()
    )
    chart = line_chart(
        series, title="Solved while learning", x_label="updates", y_label="share of watched problems solved"
    )
    before = compared[ONE][1]
    rows = (
        ("before", interval_text(before.interval), "–", str(before.interval.n)),
        *(
            (
                name,
                interval_text(r.after.interval),
                interval_text(r.after.beyond(before)),
                str(r.after.interval.n),
            )
            for name, r in learnt.items()
        ),
    )
    return Section(
        "A better policy",
        "The same policy, problems and number of updates; one arm is paid for what the PRM says each step adds, "
        "the other for right answers alone. The curve is on watched held-out problems, one sample each; the table on "
        "the test problems.",
        (Chart(chart), Table(("policy", "solved at one sample", "gain, paired", "n"), rows)),
    )
