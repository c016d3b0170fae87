import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prmkit.train.objectives import OBJECTIVES, bce, log_odds, mse, outcome, rank

LN2, LN3 = math.log(2), math.log(3)


def rows(q, labels):
    """Logits with the given log-odds, labels, and a mask that is False where a label is None."""
    q, known = torch.tensor(q, dtype=torch.float64), [[v is not None for v in row] for row in labels]
    logits = torch.stack([torch.full_like(q, 0.7), q + 0.7], -1)  # only the difference may matter
    numbers = torch.tensor([[0.0 if v is None else float(v) for v in row] for row in labels], dtype=q.dtype)
    return logits.requires_grad_(), numbers, torch.tensor(known)


def loss(objective, q, labels, **options):
    return objective(*rows(q, labels), **options).item()


# --- by hand ------------------------------------------------------------------------------------------


def test_log_odds_are_the_difference_of_the_logits():
    assert log_odds(torch.tensor([[[1.0, 4.0], [2.0, 2.0]]])).tolist() == [[3.0, 0.0]]


def test_bce_by_hand():
    # σ(0) = ½, σ(ln 3) = ¾: −ln ½, −ln ¾, −ln ¼
    assert loss(bce, [[0.0, LN3, LN3]], [[1, 1, 0]]) == pytest.approx(
        (LN2 - math.log(0.75) + math.log(4)) / 3
    )


def test_mse_by_hand():
    assert loss(mse, [[0.0, LN3, LN3]], [[1, 1, 0]]) == pytest.approx((1 / 4 + 1 / 16 + 9 / 16) / 3)


def test_outcome_reads_only_the_last_labelled_step_of_each_solution():
    q, labels = [[5.0, -5.0, LN3], [7.0, 0.0, 9.0]], [[0, 1, 0], [0, 1, None]]
    assert loss(outcome, q, labels) == pytest.approx((math.log(4) + LN2) / 2)


def test_rank_by_hand():
    # Right at ln 2, wrong at 0, margin ln 3: below = 1 + 3. Terms: ln 4, and ln((2 + 4) / 2).
    found = loss(rank, [[LN2, 0.0]], [[1, 0]], margin=LN3)
    assert found == pytest.approx((math.log(4) + math.log(3)) / 2)
    # Two right steps at ln 2: ln((2 + 1) / 2) and ln((2 + 2 + 1) / 2); the second must rise above the first.
    assert loss(rank, [[LN2, LN2]], [[1, 1]]) == pytest.approx((math.log(1.5) + math.log(2.5)) / 2)


def test_the_mean_is_over_all_labelled_steps_not_over_solutions():
    q, labels = [[0.0, 0.0, 0.0], [LN3, 9.0, 9.0]], [[1, 1, 1], [1, None, None]]
    assert loss(bce, q, labels) == pytest.approx((3 * LN2 - math.log(0.75)) / 4)


# --- against a slow loop ------------------------------------------------------------------------------


def plain_rank(q, labels, margin):
    """Card 16's practical loss, term by term."""
    losses = []
    for row, known in zip(q, labels, strict=True):
        wrong = [math.exp(v + margin) for v, y in zip(row, known, strict=True) if y is not None and y < 0.5]
        terms = [-math.log(1 / (1 + sum(wrong)))] if wrong else []
        earlier = []
        for v, y in zip(row, known, strict=True):
            if y is not None and y >= 0.5:
                terms.append(-math.log(math.exp(v) / (math.exp(v) + 1 + sum(earlier) + sum(wrong))))
                earlier.append(math.exp(v))
        if terms:
            losses.append(sum(terms) / len(terms))
    return sum(losses) / len(losses) if losses else 0.0


@st.composite
def cases(draw):
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 6))

    def grid(entries):
        row = st.lists(entries, min_size=shape[1], max_size=shape[1])
        return draw(st.lists(row, min_size=shape[0], max_size=shape[0]))

    return grid(st.floats(-6, 6)), grid(st.sampled_from([None, 0.0, 0.2, 0.5, 0.9, 1.0]))


@given(cases(), st.floats(0, 6))
def test_rank_is_the_papers_formula(case, margin):
    assert loss(rank, *case, margin=margin) == pytest.approx(plain_rank(*case, margin), abs=1e-9)


@given(cases())
def test_bce_is_the_formula(case):
    each = [
        -(y * math.log(1 / (1 + math.exp(-v))) + (1 - y) * math.log(1 - 1 / (1 + math.exp(-v))))
        for row, known in zip(*case, strict=True)
        for v, y in zip(row, known, strict=True)
        if y is not None
    ]
    assert loss(bce, *case) == pytest.approx(sum(each) / len(each) if each else 0.0, abs=1e-9)


# --- gradients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBJECTIVES)
@given(case=cases(), scale=st.sampled_from([1.0, 100.0]))
def test_gradients_are_finite_and_steps_without_a_label_have_none(name, case, scale):
    logits, labels, mask = rows([[v * scale for v in row] for row in case[0]], case[1])
    found = OBJECTIVES[name](logits, labels, mask)
    assert torch.isfinite(found)
    found.backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~mask] == 0).all()


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], [None, None, None], [0, 1, 0], [None, 1, None]])
def test_one_sided_solutions_are_no_trouble(name, labels):
    logits, numbers, mask = rows([[0.3, -0.2, 0.9]], [labels])
    OBJECTIVES[name](logits.float(), numbers.float(), mask).backward()
    assert torch.isfinite(logits.grad).all()
    assert bool((logits.grad != 0).any()) == bool(mask.any())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_large_logits_do_not_overflow(name):
    logits, labels, mask = rows([[9e4, -9e4, 9e4, -9e4]], [[1, 0, 0, 1]])
    found = OBJECTIVES[name](logits.float(), labels.float(), mask)
    found.backward()
    assert torch.isfinite(found)
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_going_downhill_raises_right_steps_and_lowers_wrong_ones(name):
    q = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    labels, mask = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[True, True]])
    OBJECTIVES[name](torch.stack([torch.zeros_like(q), q], -1), labels, mask).backward()
    assert q.grad[0, 1] > 0
    assert q.grad[0, 0] == 0 if name == "outcome" else q.grad[0, 0] < 0


@pytest.mark.parametrize("name", ["bce", "mse", "outcome"])
def test_a_soft_label_is_not_a_hard_one(name):
    objective = OBJECTIVES[name]
    assert loss(objective, [[2.0]], [[0.7]]) != pytest.approx(loss(objective, [[2.0]], [[1]]), abs=1e-3)
    # and it is the chance at which the loss is least: q = ln(0.7 / 0.3)
    q = math.log(0.7 / 0.3)
    best = loss(objective, [[q]], [[0.7]])
    assert best < min(loss(objective, [[q - 0.1]], [[0.7]]), loss(objective, [[q + 0.1]], [[0.7]]))


def test_a_wider_margin_asks_for_more():
    losses = [loss(rank, [[1.0, -1.0]], [[1, 0]], margin=margin) for margin in (0.0, 2.0, 4.0)]
    assert losses == sorted(losses)
    assert loss(rank, [[1.0, -1.0]], [[1, 0]]) == losses[2]  # the paper's 4 is the default
