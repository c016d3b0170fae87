"""What a PRM is trained to do: pure functions of its two logits, the labels and a mask.

Axes: B solutions, S steps (padded), 2 logits. q = z₁ − z₀ is the log-odds that a step is good.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everyone calls it

Objective = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(logits_BS2, labels_BS in [0, 1], mask_BS of the labelled steps) -> one number to make small."""


def log_odds(logits_BS2: Tensor) -> Tensor:
    return logits_BS2[..., 1] - logits_BS2[..., 0]


def bce(logits_BS2: Tensor, labels_BS: Tensor, mask_BS: Tensor) -> Tensor:
    """−[y log σ(q) + (1−y) log(1−σ(q))], mean over labelled steps; soft labels y are used as they are."""
    each = F.binary_cross_entropy_with_logits(log_odds(logits_BS2), labels_BS, reduction="none")
    return _mean(each, mask_BS)


def mse(logits_BS2: Tensor, labels_BS: Tensor, mask_BS: Tensor) -> Tensor:
    """(σ(q) − y)², mean over labelled steps."""
    return _mean((log_odds(logits_BS2).sigmoid() - labels_BS) ** 2, mask_BS)


def outcome(logits_BS2: Tensor, labels_BS: Tensor, mask_BS: Tensor) -> Tensor:
    """`bce` at the last labelled step alone: an outcome model, which learns only how solutions end."""
    position = torch.arange(mask_BS.shape[1], device=mask_BS.device).expand_as(mask_BS)
    last = position.masked_fill(~mask_BS, -1).max(-1, keepdim=True).values
    return bce(logits_BS2, labels_BS, mask_BS & (position == last))


def rank(
    logits_BS2: Tensor,
    labels_BS: Tensor,
    mask_BS: Tensor,
    *,
    margin: float = 4.0,
) -> Tensor:
    """PQM's comparative loss (card 16, practical form): right steps ascend above 0, wrong ones lie a margin below.

    With C the right and W the wrong steps of a solution, Q₀ = 0 and ζ the margin, the mean over its terms of
      −log 1 / (1 + Σ_W e^{Q_w+ζ})                                          once, where W is not empty
      −log e^{Q_t} / (e^{Q_t} + 1 + Σ_{c∈C, c<t} e^{Q_c} + Σ_W e^{Q_w+ζ})   for each t in C
    """
    q = log_odds(logits_BS2)
    right, wrong = mask_BS & (labels_BS >= 0.5), mask_BS & (labels_BS < 0.5)
    start = torch.zeros_like(q[:, :1])
    below = torch.cat([start, (q + margin).masked_fill(~wrong, -torch.inf)], 1).logsumexp(1, keepdim=True)
    # For each t: log-sum-exp over the right steps up to and with t, which is the numerator's own term, too.
    so_far = torch.logcumsumexp(q.masked_fill(~right, -torch.inf), 1)
    ascend = torch.logaddexp(so_far, below) - q
    terms = torch.cat([below, ascend], 1)
    kept = torch.cat([wrong.any(1, keepdim=True), right], 1)
    per_row = torch.where(kept, terms, 0.0).sum(1) / kept.sum(1).clamp(min=1)
    return _mean(per_row, kept.any(1))


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, values, 0.0).sum() / mask.sum().clamp(min=1)


OBJECTIVES: dict[str, Objective] = {"bce": bce, "mse": mse, "outcome": outcome, "rank": rank}
