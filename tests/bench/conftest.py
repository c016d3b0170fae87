import pytest

from prmkit.bench.compare import Arm, Comparison
from prmkit.bench.run import Claim, Condition


@pytest.fixture
def claim_of():
    """A claim whose arms are given: `arms(seed)` says what each of them did with that seed."""

    def make(arms, *, at_least=0.1, asks=None, should_fail=(), also=()):
        def condition(name, arms, why=""):
            async def play(seed):
                return arms(seed)

            return Condition(name, play, why)

        return Claim(
            name="toy",
            card=1,
            statement="new beats old",
            world="none",
            treatment="new",
            control="old",
            budget="rollouts",
            asks=asks or ((Comparison("solved", "new", "old", at_least=at_least),),),
            holds_at=(condition("usual", arms),),
            should_fail=tuple(condition(*each) for each in should_fail),
            also=also,
        )

    return make


@pytest.fixture
def two_arms():
    """Arms that solve so many of 100 problems, having spent so much."""

    def make(new, old, *, spent=(64, 64)):
        def solved(count):
            return [1.0] * count + [0.0] * (100 - count)

        return {"new": Arm({"solved": solved(new)}, spent[0]), "old": Arm({"solved": solved(old)}, spent[1])}

    return make
