# SPDX-License-Identifier: MIT
# The parts that modelling files are made of: strata export takes what a model needs, in this order,
# and puts its own lines where a comment says '--'.  A block begins with an unindented line.
import math

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from .configuration_strata import StrataConfig


def wave(position, frequencies, scale, function, dtype):
    """scale * cos or sin(position * frequency): [..., frequencies]"""
    angle = position[..., None].double() * torch.tensor(
        frequencies, dtype=torch.float64, device=position.device)
    return (scale * function(angle)).to(dtype)


def shaped(x, *inner):
    """The same elements of each token in another shape."""
    return x.reshape(*x.shape[:2], *inner)


def stacked(modules, name):
    """A parameter of several modules as one tensor."""
    found = []
    for module in modules.children():
        for part in name.split("."):
            module = getattr(module, part)
        found.append(module)
    return torch.stack(found)


def sinkhorn(x, iterations, eps):
    """Divides rows, then columns, by their sums and eps."""
    for _ in range(iterations):
        x = x / (x.sum(-1, keepdim=True) + eps)
        x = x / (x.sum(-2, keepdim=True) + eps)
    return x


def shift(x, tokens):
    """x of the token that is so many before (later if negative); 0 where there is none."""
    n = min(abs(tokens), x.shape[1])
    zeros = torch.zeros_like(x[:, :n])
    if tokens < 0:
        return torch.cat((x[:, n:], zeros), 1)
    return torch.cat((zeros, x[:, : x.shape[1] - n]), 1)


def convolution(x, w):
    """Causal, a filter for each channel or for neighbours: x [tokens, C], w [.., groups, taps]"""
    taps = w.shape[-1]
    w = w.repeat_interleave(x.shape[-1] // w.shape[-2], -2)
    return sum(shift(x, taps - 1 - j) * w[..., j] for j in range(taps))


def above(a, b):
    """1 where a > b, else 0."""
    return (a > b).to((a if torch.is_tensor(a) else b).dtype)


def attend(q, k, v, scale, causal=True, window=0, softcap=0.0, chunk=0, by_distance=None,
           keys=None):
    """softmax(scale q k^T) v, and the log-sum-exp of the scores. q [tokens, heads, d], of k and v
    several heads may share one. keys [tokens]: above 0 where a token may be seen."""
    B, T, H, _ = q.shape
    place = torch.arange(T, device=q.device)
    if chunk:  # averages of so many tokens each, of those that end before the query
        n = T // chunk
        k = k[:, : n * chunk].unflatten(1, (n, chunk)).mean(2)
        v = v[:, : n * chunk].unflatten(1, (n, chunk)).mean(2)
        seen = (torch.arange(n, device=q.device) < place[:, None] // chunk).expand(B, T, n)
    else:
        there = torch.ones(B, T, dtype=torch.bool, device=q.device) if keys is None else keys > 0
        count = there.long().cumsum(1)
        distance = count[:, :, None] - count[:, None, :]
        seen = there[:, None, :].expand(B, T, T)
        if causal:
            seen = seen & (place[:, None] >= place)
        if window:
            seen = seen & (distance < window)
    k = k.repeat_interleave(H // k.shape[2], 2)
    v = v.repeat_interleave(H // v.shape[2], 2)
    scores = scale * torch.einsum("bthd,bshd->bhts", q, k)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if by_distance is not None:
        n = by_distance.shape[-1]
        by_distance = by_distance.expand(B, T, H, n)
        near = (distance >= 0) & (distance < n)
        index = distance.clamp(0, n - 1)[:, None].expand(B, H, T, T)
        bias = by_distance.transpose(1, 2).gather(-1, index)
        scores = scores + torch.where(near[:, None], bias, 0.0)
    scores = scores.masked_fill(~seen[:, None], -math.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.where(seen[:, None], torch.exp(scores - lse[..., None]), 0.0)
    out = torch.einsum("bhts,bshe->bthe", weights.to(v.dtype), v)
    return out, lse.clamp(min=-1e30).transpose(1, 2)


def recurrence(q, k, v, decay=None, beta=None, delta=False):
    """A state of each head, S = e^decay S + beta k u^T with u = v, or v - S^T k by the delta rule;
    gives S^T q. q, k [tokens, heads, dk], v [tokens, heads, dv], decay [.., heads] or as k."""
    heads = v.shape[2]
    q, k = (x.repeat_interleave(heads // x.shape[2], 2) for x in (q, k))
    S = v.new_zeros(v.shape[0], heads, k.shape[-1], v.shape[-1])
    out = []
    for t in range(v.shape[1]):
        kt, u = k[:, t], v[:, t]
        if decay is not None:
            d = torch.exp(decay[:, t])
            S = S * (d[..., None] if d.dim() == 3 else d[..., None, None])
        if delta:
            u = u - torch.einsum("bhkv,bhk->bhv", S, kt)
        if beta is not None:
            u = u * beta[:, t][..., None]
        S = S + kt[..., None] * u[..., None, :]
        out.append(torch.einsum("bhkv,bhk->bhv", S, q[:, t]))
    return torch.stack(out, 1)


def largest(x, count):
    """1 at the 'count' largest along the last axis, the earlier of equal ones, else 0."""
    index = x.argsort(dim=-1, descending=True, stable=True)[..., :count]
    return torch.zeros_like(x).scatter(-1, index, 1.0)


def chosen(mask, count):
    """Places of the first 'count' numbers above 0; -1 where there are fewer."""
    index = (mask > 0).int().argsort(dim=-1, descending=True, stable=True)[..., :count]
    return torch.where(mask.gather(-1, index) > 0, index, -1)


def pick(x, places):
    return x.gather(-1, places.clamp(min=0)) * (places >= 0)


def put(y, places, count):
    out = y.new_zeros(*y.shape[:-1], count + 1)
    return out.scatter(-1, torch.where(places < 0, count, places), y)[..., :count]


def experts(x, w, places):
    """w_e x of the expert at each place: x [tokens, K] or [tokens, places, K], w [E, M, K]"""
    if x.dim() == 3:
        x = x[:, :, None].expand(*places.shape, x.shape[-1])
    out = x.new_zeros(*places.shape, w.shape[1])
    for e in range(w.shape[0]):
        mine = places == e
        if mine.any():
            out[mine] = x[mine] @ w[e].T
    return out


class Parameters(nn.Module):
    """A tree of parameters by their names: layers.3.mlp.up.weight"""

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(index.start, index.stop)]
        return getattr(self, str(index))

    def grow(self, name, shape):
        head, _, rest = name.partition(".")
        if not rest:
            self.register_parameter(head, nn.Parameter(torch.zeros(shape)))
            return
        if head not in self._modules:
            self.add_module(head, Parameters())
        getattr(self, head).grow(rest, shape)


# -- functions


class StrataPreTrainedModel(PreTrainedModel):
    config_class = StrataConfig
    config: StrataConfig
    base_model_prefix = ""

    def _init_weights(self, module):
        pass


class StrataForCausalLM(StrataPreTrainedModel, GenerationMixin):
    _supports_cache_class = False
    __getitem__ = Parameters.__getitem__

    def __init__(self, config):
        super().__init__(config)
        for name, shape in config.parameters.items():
            Parameters.grow(self, name, shape)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
        if attention_mask is not None and (attention_mask[:, 0] == 0).any():
            raise ValueError("expected padding behind the tokens, found some in front of them")
        logits = self.logits(input_ids)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        return {"input_ids": input_ids, "attention_mask": attention_mask}

# -- logits
