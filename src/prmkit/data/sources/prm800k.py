"""PRM800K: people walked through a tree of steps, rated the branches, and went on with one of them.

    {"labeler": "…", "generation": null, "question": {"problem": "1 + 1?", "ground_truth_answer": "2", …},
     "label": {"steps": [{"completions": [{"text": "It is 3.", "rating": -1}, {"text": "It is 2.", …}],
                          "human_completion": null, "chosen_completion": 1}],
               "finish_reason": "solution", …}, …}

A row is one example, the path that was taken; `alternatives` gives the branches beside it.
Ratings: 1 right, -1 wrong, 0 neutral (neither wrong nor a step forward), null not rated. OpenAI counts
neutral as correct; `neutral` makes it a choice. A step that the labeller wrote counts as right: its
makers allowed one only where the labeller could write a step worth a 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prmkit.data.fields import have, integer, listed, mapping, maybe, need, rest, text, within
from prmkit.data.sources.common import Format, Neutral, Row, beside, joined, named, texts_of
from prmkit.errors import BadRecord
from prmkit.types import Example, Problem, Step, Trajectory

_TREE = "prm800k_tree"  # where question and label stand as they were written


@dataclass(frozen=True, slots=True)
class Branch:
    text: str
    rating: int | None


@dataclass(frozen=True, slots=True)
class Fork:
    """The branches at one step, the one that was taken, and its place among them (None: written by hand)."""

    branches: tuple[Branch, ...]
    taken: Branch | None
    index: int | None


def read(row: Row, *, neutral: Neutral = "correct") -> Example:
    question = need(row, "question", mapping)
    label = need(row, "label", mapping)
    path = [fork.taken for fork in _forks(question, label) if fork.taken is not None]
    answer = question.get("ground_truth_answer")
    known = isinstance(answer, str)
    solved = label.get("finish_reason") == "solution"
    tree = {
        "question": rest(question, "problem", *(["ground_truth_answer"] if known else [])),
        "label": label,
    }
    return Example(
        Trajectory(
            Problem(need(question, "problem", text, "question"), answer if known else None),
            tuple(Step(branch.text) for branch in path),
            "done" if solved else "open",
        ),
        tuple(label_of(branch.rating, neutral) for branch in path),
        kind="correctness",
        outcome=1.0 if solved else None,  # PRM800K ends with "solution" only at the correct answer
        id=named(row),
        source="prm800k",
        data=joined({_TREE: tree}, beside(row, "question", "label")),
    )


def alternatives(example: Example, *, neutral: Neutral = "correct") -> list[Example]:
    """The rated branches beside the path: the steps before, then the branch, the only step with a label.

    Together with the path itself every rating is counted once.
    """
    if _TREE not in example.data:
        return []
    tree = example.data[_TREE]
    out = []
    for depth, fork in enumerate(_forks(tree["question"], tree["label"])):
        before = example.trajectory.steps[:depth]
        for k, branch in enumerate(fork.branches):
            if k == fork.index or branch.rating is None:
                continue
            out.append(
                replace(
                    example,
                    trajectory=Trajectory(example.trajectory.problem, (*before, Step(branch.text))),
                    labels=(*[None] * depth, label_of(branch.rating, neutral)),
                    outcome=None,
                    id=example.id and f"{example.id}/{depth}.{k}",
                    data={**rest(example.data, _TREE), "prm800k_rating": branch.rating},
                )
            )
    return out


def write(example: Example) -> dict[str, Any]:
    problem, texts = example.trajectory.problem, texts_of(example)
    tree = example.data.get(_TREE)
    if tree is None:
        tree = {"question": {}, "label": _path_alone(example, texts)}
    elif not _still_says(tree, example, texts):
        raise BadRecord(
            "steps or labels are no longer those of its tree of ratings: "
            f"write it as 'prmkit', or without data[{_TREE!r}] to write the path alone",
            field=f"data.{_TREE}",
        )
    question = {"problem": problem.prompt}
    if problem.answer is not None:
        question["ground_truth_answer"] = problem.answer
    own = {"question": joined(question, tree["question"]), "label": tree["label"]}
    if example.id:
        own["id"] = example.id
    return joined(own, rest(example.data, _TREE))


def rating(value: Any, field: str) -> int:
    found = integer(value, field)
    if found not in (-1, 0, 1):
        raise BadRecord(f"{found} is not a rating: they are -1, 0 and 1", field=field)
    return found


def label_of(rating: int | None, neutral: Neutral) -> float | None:
    """What a rating teaches.

    >>> label_of(1, "correct"), label_of(0, "correct"), label_of(0, "unknown"), label_of(-1, "correct")
    (1.0, 1.0, None, 0.0)
    """
    unsure = {"correct": 1.0, "wrong": 0.0, "unknown": None}[neutral]
    return {1: 1.0, -1: 0.0, 0: unsure, None: None}[rating]


def rating_of(label: float | None, field: str) -> int | None:
    if label not in (None, 0, 1):
        raise BadRecord(f"{label:g} has no place among the ratings -1 and 1", field=field)
    return None if label is None else 1 if label else -1


def _forks(question: Row, label: Row) -> list[Fork]:
    """The tree as far as the path goes, and the branches at its end."""
    planned = have(question, "pre_generated_steps", maybe(listed(text)), None, "question") or ()
    forks: list[Fork] = []
    for i, step in enumerate(need(label, "steps", listed(mapping), "label")):
        plan = planned[i] if i < len(planned) else None
        forks.append(_fork(step, plan, f"label.steps[{i}]"))
        if forks[-1].taken is None:
            break
    return forks


def _fork(step: Row, plan: str | None, at: str) -> Fork:
    """One step of the tree.

    At the end of a path nothing is chosen. In phase 2 the solution that was being
    rated still went on with its own next step: that is where its first error is.
    """
    branches = need(step, "completions", maybe(listed(_branch)), at) or ()
    chosen = have(step, "chosen_completion", maybe(integer), None, at)
    human = have(step, "human_completion", maybe(_branch), None, at)
    if chosen is not None:
        if not 0 <= chosen < len(branches):
            problem = f"{chosen} is not one of the {len(branches)} completions"
            raise BadRecord(problem, field=within(at, "chosen_completion"))
        return Fork(branches, branches[chosen], chosen)
    if human is not None:
        return Fork(branches, replace(human, rating=1) if human.rating is None else human, None)
    own = next((k for k, b in enumerate(branches) if b.text == plan), None)
    return Fork(branches, None if own is None else branches[own], own)


def _branch(value: Any, field: str) -> Branch:
    row = mapping(value, field)
    return Branch(need(row, "text", text, field), have(row, "rating", maybe(rating), None, field))


def _still_says(tree: Row, example: Example, texts: list[str]) -> bool:
    path = [fork.taken for fork in _forks(tree["question"], tree["label"]) if fork.taken is not None]
    if [branch.text for branch in path] != texts:
        return False
    choices: tuple[Neutral, ...] = ("correct", "wrong", "unknown")
    return any(tuple(label_of(b.rating, n) for b in path) == example.labels for n in choices)


def _path_alone(example: Example, texts: list[str]) -> dict[str, Any]:
    ratings = [rating_of(x, f"labels[{i}]") for i, x in enumerate(example.labels)]
    steps = [
        {"completions": [{"text": t, "rating": r}], "human_completion": None, "chosen_completion": 0}
        for t, r in zip(texts, ratings, strict=True)
    ]
    ended = "solution" if example.outcome == 1 else "found_error" if -1 in ratings else None
    return {"steps": steps} | ({"finish_reason": ended} if ended else {})


def _recognises(row: Row) -> bool:
    return isinstance(row.get("label"), dict) and "question" in row


FORMAT = Format(read, write, _recognises, rated=True)
