import asyncio

import pytest

from prmkit.data.runs import Run
from prmkit.effects import batched, metered
from prmkit.errors import BadInput, UnknownName
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.search.frontier import best_of_n
from prmkit.types import Candidate, Example, Problem, Scores, Step, Trajectory
from prmkit.verbs import examples_from, make_data, side_by_side, solve
from prmkit.worlds.exact import Exact

PROBLEMS = [Problem(f"toy {i}", id=f"p{i}") for i in range(5)]


class Counted:
    """The parts of an exact world, which remember for how many trajectories each was paid."""

    def __init__(self, breaks_at=None):
        self.world, self.breaks_at = Exact(length=3, p=0.6), breaks_at
        self.sampled, self.checked, self.labelled = [], [], []

    async def policy(self, prefixes, n=1, /, *, until="step"):
        self.sampled += [t.problem.id for t in prefixes for _ in range(n)]
        return await self.world.policy(prefixes, n, until=until)

    async def check(self, trajectories, /):
        self.checked += [t.problem.id for t in trajectories]
        return await self.world.verify(trajectories)

    async def label(self, trajectories, /):
        if any(t.problem.id == self.breaks_at for t in trajectories):
            raise KeyboardInterrupt
        self.labelled += [t.problem.id for t in trajectories]
        return await self.world.oracle(trajectories)

    def into(self, run, problems=PROBLEMS, **options):
        return make_data(
            problems, policy=self.policy, label=self.label, check=self.check, run=run, samples=2, **options
        )


@pytest.fixture
def folder(tmp_path):
    return Run.create(tmp_path / "run", asked={})


def test_a_run_holds_every_solution_with_its_outcome_and_its_labels(run, folder):
    parts = Counted()
    assert run(parts.into(folder)) == folder.path
    ids = {f"p{i}/{k}" for i in range(5) for k in range(2)}
    assert folder.done_ids() == folder.done_ids("label") == folder.done_ids(ratings="outcome") == ids
    for key, t in folder.trajectories():
        assert dict(folder.scores("label"))[key] == parts.world.truth(t)
        assert dict(folder.ratings("outcome"))[key] == parts.world.value(t)


def test_a_finished_run_costs_nothing_when_asked_for_again(run, folder):
    run(Counted().into(folder))
    again = Counted()
    run(again.into(Run.open(folder.path)))
    assert again.sampled == again.checked == again.labelled == []


def test_a_run_that_was_stopped_pays_only_for_what_is_missing(run, folder):
    stopped = Counted(breaks_at="p2")
    with pytest.raises(KeyboardInterrupt):
        run(stopped.into(folder, at_once=1))
    assert stopped.labelled == ["p0", "p0", "p1", "p1"]

    again = Counted()
    run(again.into(Run.open(folder.path)))
    assert sorted(again.sampled) == ["p3", "p3", "p4", "p4"]  # p2 was sampled and checked, only not labelled
    assert sorted(again.checked) == ["p3", "p3", "p4", "p4"]
    assert sorted(again.labelled) == ["p2", "p2", "p3", "p3", "p4", "p4"]


def test_a_killed_run_keeps_the_solutions_it_has_and_samples_the_others(run, folder):
    run(Counted().into(folder))
    for file, kept in (("trajectories", 7), ("ratings.outcome", 5), ("scores.label", 4)):
        path = folder.path / f"{file}.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])  # torn in the middle of a line
    before = dict(Run.open(folder.path).trajectories())

    again = Counted()
    run(again.into(Run.open(folder.path)))
    assert (len(again.sampled), len(again.checked), len(again.labelled)) == (3, 5, 6)
    whole = dict(Run.open(folder.path).trajectories())
    assert len(whole) == 10
    assert before.items() <= whole.items()


def test_more_samples_are_added_to_those_that_are_there(run, folder):
    run(Counted().into(folder))
    more = Counted()
    run(make_data(PROBLEMS, policy=more.policy, label=more.label, check=more.check, run=folder, samples=3))
    assert sorted(more.sampled) == ["p0", "p1", "p2", "p3", "p4"]


def test_a_problem_is_on_disk_as_soon_as_it_is_done(run, folder):
    seen = []

    def watch(done, total):
        seen.append((done, total, len(Run.open(folder.path).done_ids("label"))))

    run(Counted().into(folder, at_once=1, watch=watch))
    assert seen == [(1, 5, 2), (2, 5, 4), (3, 5, 6), (4, 5, 8), (5, 5, 10)]


def test_problems_under_way_together_share_the_batches_of_a_batched_policy(run, folder):
    world = Exact(length=3)
    policy, meter = metered(world.policy)
    policy = batched(policy)
    label = monte_carlo(policy, world.verify, rollouts=2)
    run(make_data(PROBLEMS, policy=policy, label=label, check=world.verify, run=folder, samples=2))
    assert meter.calls == 2  # one for all samples, one for all rollouts


def test_problems_that_cannot_be_told_apart_are_refused(run, folder):
    with pytest.raises(BadInput, match="needs an id"):
        run(Counted().into(folder, [Problem("a")]))
    with pytest.raises(BadInput, match="same id: 'a'"):
        run(Counted().into(folder, [Problem("x", id="a"), Problem("y", id="a")]))


def test_examples_carry_labels_outcome_and_source(folder):
    right = Trajectory(PROBLEMS[0], (Step("a"), Step("b")), "done")
    folder.append_trajectories([("p0/0", right), ("p0/1", Trajectory(PROBLEMS[0], (), "done")), ("x", right)])
    folder.append_scores("mine", {"p0/0": Scores((0.5, 1.0), source="me"), "p0/1": Scores(())})
    folder.append_ratings("outcome", {"p0/0": 1.0})
    assert examples_from(folder, "mine") == [Example(right, (0.5, 1.0), "value", 1.0, "p0/0", "me")]


def test_labels_of_an_unknown_name_are_refused_with_the_known_ones(folder):
    folder.append_scores("mine", {"a": Scores((1.0,))})
    with pytest.raises(UnknownName, match="known: mine"):
        examples_from(folder, "label")


def found(*candidates):
    async def search(problem, policy, rate):
        return [
            Candidate(Trajectory(problem, (Step(text),), stop), value) for text, stop, value in candidates
        ]

    return search


def test_the_best_finished_candidate_wins_over_a_better_open_one(run):
    search = found(("a", "done", 0.2), ("b", "done", 0.7), ("c", "open", 0.9), ("d", "length", 0.8))
    assert run(solve(PROBLEMS[0], None, None, search=search)).trajectory.text == "b"


def test_an_open_candidate_is_taken_where_none_is_finished(run):
    search = found(("a", "open", 0.2), ("b", "length", 0.7))
    assert run(solve(PROBLEMS[0], None, None, search=search)).trajectory.text == "b"


def test_solving_with_a_perfect_rater_finds_the_sound_solution_among_many(run):
    world = Exact(length=3, p=0.7)
    chosen = run(solve(PROBLEMS[0], world.policy, world.verify, search=best_of_n(16)))
    assert chosen.value == world.value(chosen.trajectory) == 1.0


def test_the_first_error_stops_the_work_beside_it(run):
    finished = []

    async def work(item):
        if item == 0:
            raise BadInput("no")
        await asyncio.Event().wait()  # for ever, unless it is stopped
        finished.append(item)

    with pytest.raises(BadInput, match="no"):
        run(side_by_side(work, range(4), 4))
    assert finished == []


def test_results_come_in_the_order_of_the_items(run):
    async def work(item):
        for _ in range(5 - item):
            await asyncio.sleep(0)
        return item * item

    assert run(side_by_side(work, range(5), 2)) == [0, 1, 4, 9, 16]
