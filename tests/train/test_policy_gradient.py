import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prmkit.train.policy_gradient import (
    clip_share,
    clipped_loss,
    kl_penalty,
    normalise,
    token_logprobs,
)

ALL = torch.tensor([[True, True, True]])


def logs(*chances):
    return torch.tensor([[math.log(c) for c in chances]], dtype=torch.float64)


def numbers(*values):
    return torch.tensor([list(values)], dtype=torch.float64)


def test_a_token_is_as_likely_as_its_share_of_the_softmax():
    logits = torch.tensor([[[math.log(1.0), math.log(3.0)], [math.log(9.0), math.log(1.0)]]])
    at_one = token_logprobs(logits, torch.tensor([[1, 0]]), 1.0).exp()
    assert at_one[0].tolist() == pytest.approx([0.75, 0.9])


def test_temperature_bends_the_distribution_that_is_trained():
    logits = torch.tensor([[[math.log(1.0), math.log(9.0)]]])
    flat = token_logprobs(logits, torch.tensor([[1]]), 2.0).exp()  # √9 : √1 = 3 : 1
    assert float(flat) == pytest.approx(0.75)


def test_the_loss_is_minus_the_mean_of_ratio_times_advantage():
    # ratios 1.1, 0.9, 1.0, none of them clipped
    new, old = logs(0.55, 0.45, 0.5), logs(0.5, 0.5, 0.5)
    loss = clipped_loss(new, old, numbers(1.0, 2.0, -3.0), ALL, clip=0.2)
    assert float(loss) == pytest.approx(-(1.1 + 1.8 - 3.0) / 3)


def test_a_good_token_gains_nothing_beyond_the_clip_and_a_bad_one_nothing_below_it():
    # ratios 2, 0.5, 2; the third moves the wrong way and is not held back
    new, old = logs(0.8, 0.2, 0.8), logs(0.4, 0.4, 0.4)
    advantages = numbers(1.0, -1.0, -1.0)
    new.requires_grad_(True)
    loss = clipped_loss(new, old, advantages, ALL, clip=0.2)
    loss.backward()
    assert loss.item() == pytest.approx(-(1.2 - 0.8 - 2.0) / 3)
    assert new.grad.tolist()[0] == pytest.approx([0.0, 0.0, 2.0 / 3])
    assert float(clip_share(new.detach(), old, advantages, ALL, clip=0.2)) == pytest.approx(2 / 3)


def test_on_fresh_samples_the_gradient_is_that_of_advantage_times_log_probability():
    new = logs(0.5, 0.2, 0.9).requires_grad_(True)
    clipped_loss(new, new.detach(), numbers(1.0, -2.0, 4.0), ALL, clip=0.2).backward()
    assert new.grad.tolist()[0] == pytest.approx([-1 / 3, 2 / 3, -4 / 3])


def test_tokens_outside_the_mask_have_no_part_in_any_number():
    some = torch.tensor([[True, False, True]])
    new, old = logs(0.5, 1e-30, 0.5), logs(0.5, 1.0, 0.5)
    advantages = numbers(1.0, 1e6, 3.0)
    assert float(clipped_loss(new, old, advantages, some, clip=0.2)) == pytest.approx(-2.0)
    assert float(kl_penalty(new, old, some)) == pytest.approx(0.0)
    assert normalise(advantages, some)[some].tolist() == pytest.approx([1 / math.sqrt(5), 3 / math.sqrt(5)])


def test_the_formulas_have_the_gradients_that_finite_differences_find():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    ids, mask = torch.randint(5, (2, 3)), torch.tensor([[True, True, False], [True, False, True]])
    old = token_logprobs(logits.detach(), ids, 0.8).double() + 0.3 * torch.randn(2, 3, dtype=torch.float64)
    advantages = torch.randn(2, 3, dtype=torch.float64)

    def loss(new):
        return clipped_loss(new, old, advantages, mask, clip=0.2) + 0.5 * kl_penalty(new, old, mask)

    new = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0].detach().requires_grad_(True)
    assert torch.autograd.gradcheck(loss, (new,))


def test_the_distance_from_the_reference_by_hand():
    # d = log 2, then exp(d) - d - 1 = 1 - log 2; where both agree it is 0
    penalty = kl_penalty(logs(0.25, 0.5, 0.5), logs(0.5, 0.5, 0.5), ALL)
    assert float(penalty) == pytest.approx((1 - math.log(2)) / 3)


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=1, max_size=8))
def test_the_distance_is_never_negative(pairs):
    new, reference = logs(*(a for a, _ in pairs)), logs(*(b for _, b in pairs))
    assert float(kl_penalty(new, reference, torch.ones_like(new, dtype=torch.bool))) >= -1e-12


def test_the_estimated_distance_is_the_true_one_on_average():
    policy, reference = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
    each = [
        float(kl_penalty(p.log()[None, None], r.log()[None, None], torch.tensor([[True]])))
        for p, r in zip(policy, reference, strict=True)
    ]
    expected = sum(float(p) * x for p, x in zip(policy, each, strict=True))
    assert expected == pytest.approx(float((policy * (policy / reference).log()).sum()), abs=1e-6)


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=8), st.floats(0.1, 10))
def test_normalising_forgets_the_unit_and_keeps_every_sign(values, unit):
    row = numbers(*values)
    every = torch.ones_like(row, dtype=torch.bool)
    scaled = normalise(row, every)
    assert torch.allclose(scaled, normalise(unit * row, every), atol=1e-6)
    assert ((scaled * row) >= 0).all()


def test_advantages_that_are_all_nothing_stay_nothing():
    assert normalise(numbers(0.0, 0.0, 0.0), ALL).tolist() == [[0.0, 0.0, 0.0]]
