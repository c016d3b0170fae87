"""The formulas of policy training. Tensors of shape (B, T), one place per token, in; a number out.

Nothing here knows what a step, a group or a method is: whatever the credit rule was, it
arrives as one advantage per token, and `mask` is True where a token was the policy's own choice.
"""

from __future__ import annotations

import torch
from torch import Tensor


def token_logprobs(logits: Tensor, ids: Tensor, temperature: float) -> Tensor:
    """log softmax(logits / τ) at the ids: `logits[:, t]` is the (B, T, V) row that foretells `ids[:, t]`.

    τ is the temperature the ids were sampled at, so that the ratio is one of real probabilities.

    >>> logits = torch.tensor([[[0.0, 0.0, -1e9]]])
    >>> token_logprobs(logits, torch.tensor([[1]]), 1.0).exp()
    tensor([[0.5000]])
    """
    bent = logits.float() / temperature
    return bent.gather(-1, ids[..., None])[..., 0] - bent.logsumexp(-1)


def normalise(advantages: Tensor, mask: Tensor) -> Tensor:
    """A / √(mean A² over the trained tokens): the batch's advantages at one scale, whatever the rule's units.

    Of centred advantages that is a division by their standard deviation. The mean stays where it is, so
    no token changes sides, and advantages that are nearly alike are not blown up.

    >>> normalise(torch.tensor([[3.0, -3.0, 7.0]]), torch.tensor([[True, True, False]]))
    tensor([[ 1.0000, -1.0000,  2.3333]])
    """
    scale = advantages[mask].square().mean().sqrt()
    return advantages / scale if scale > 0 else advantages


def clipped_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, *, clip: float
) -> Tensor:
    """-mean over tokens of min(ρ A, clamp(ρ, 1-ε, 1+ε) A), with ρ = π(token) / π_old(token) (PPO)."""
    free, held = _objectives(logprobs, old_logprobs, advantages, clip)
    return -torch.minimum(free, held)[mask].mean()


def clip_share(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, *, clip: float
) -> Tensor:
    """The share of tokens, in [0, 1], that the clip keeps from moving further."""
    free, held = _objectives(logprobs, old_logprobs, advantages, clip)
    return (held < free)[mask].float().mean()


def kl_penalty(logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor) -> Tensor:
    """mean over tokens of exp(d) - d - 1, d = log π_ref - log π: estimates KL(π ‖ π_ref), never below 0."""
    d = reference_logprobs - logprobs
    return (d.exp() - d - 1)[mask].mean()


def _objectives(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, clip: float
) -> tuple[Tensor, Tensor]:
    ratio = (logprobs - old_logprobs).exp()
    return ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
