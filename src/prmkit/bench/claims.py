"""The claims of published methods, in miniature. The margins and the places of failure are the cards'."""

from __future__ import annotations

from functools import partial

from prmkit.bench.arms import omega, pqm, pure
from prmkit.bench.compare import Comparison, first_error_f1
from prmkit.bench.run import Claim, Condition

OMEGA_PRM = Claim(
    name="omega-prm",
    card=64,
    statement="Bisection locates at least 3 times as many first errors as Monte-Carlo at every step.",
    world="arith problems with M operations, a simulated pupil who solves half of them",
    treatment="bisection",
    control="every step",
    budget="rollouts",
    asks=((Comparison(omega.FOUND, "bisection", "every step", at_least=3.0, form="ratio"),),),
    holds_at=(
        Condition("M=8", partial(omega.locate, operations=8)),
        Condition("M=16", partial(omega.locate, operations=16)),
    ),
    should_fail=(
        Condition("M=4", partial(omega.locate, operations=4), "a short search has little to save"),
        Condition(
            "M=16, mending 5 %",
            partial(omega.locate, operations=16, mend=0.05),
            "errors may heal: wrong turns",
        ),
        Condition(
            "M=16, mending 30 %",
            partial(omega.locate, operations=16, mend=0.3),
            "errors heal: no sign of them",
        ),
    ),
)

OMEGA_PRM_F1 = Claim(
    name="omega-prm-f1",
    card=64,
    statement="A PRM trained on bisection's labels finds first errors better, by at least 1 point of F1.",
    world="arith problems with 8 operations, a simulated pupil who solves half of them",
    treatment="bisection",
    control="every step",
    budget="rollouts",
    asks=((Comparison(omega.F1, "bisection", "every step", at_least=0.01, figure=first_error_f1),),),
    holds_at=(Condition("M=8", partial(omega.train, operations=8, budget=6400, held_out=300)),),
)

_PQM = pqm.Study()
PQM = Claim(
    name="pqm",
    card=16,
    statement="The ranking loss beats cross-entropy by 1.5 points in best-of-16 and by 0.05 in rank "
    "correlation with Monte-Carlo values inside solutions.",
    world="arith problems, the built-in policy's solutions",
    treatment="ranking",
    control="cross-entropy",
    budget="labelled steps",
    asks=(
        (Comparison(pqm.BEST, "ranking", "cross-entropy", at_least=0.015),),
        (Comparison(pqm.ORDER, "ranking", "cross-entropy", at_least=0.05),),
    ),
    also=(Comparison(pqm.BEST_LAST, "ranking", "cross-entropy"),),
    holds_at=(Condition("all steps labelled", _PQM.play),),
    should_fail=(Condition("masked", partial(_PQM.play, masked=True), "labels end with the first error"),),
)

_PURE = pure.Study()
PURE = Claim(
    name="pure",
    card=23,
    statement="With a PRM that likes filler, RL on the sum of rewards falls below the base policy (or writes "
    "20 % more steps, or 5 points more filler), while min-form gains 5 points and keeps steps within 20 %.",
    world="arith problems, the built-in policy, a PRM learnt from Monte-Carlo labels",
    treatment="min-form",
    control="sum-form",
    budget="rollouts",
    asks=(
        (Comparison(pure.SOLVED, "min-form", pure.BASE, at_least=0.05),),
        (Comparison(pure.STEPS, "min-form", pure.BASE, at_least=0.8, at_most=1.2, form="ratio"),),
        (
            Comparison(pure.SOLVED, "sum-form", pure.BASE, at_most=-0.01),
            Comparison(pure.STEPS, "sum-form", pure.BASE, at_least=1.2, form="ratio"),
            Comparison(pure.FILLER, "sum-form", pure.BASE, at_least=0.05),
        ),
    ),
    also=(Comparison(pure.SOLVED, "min-form", "sum-form"),),
    holds_at=(Condition("a learnt PRM", _PURE.play),),
    should_fail=(
        Condition("a perfect PRM", partial(_PURE.play, perfect=True), "it pays nothing for filler"),
    ),
)

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (OMEGA_PRM, OMEGA_PRM_F1, PQM, PURE)}
