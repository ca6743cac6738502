# SPDX-License-Identifier: MIT
# 50 steps of muon beside torch.optim.Muon: a small model that transformers makes is imported and
# trained by both from the same weights on the same windows, its matrices by Muon and the rest by
# AdamW.  Torch's Newton-Schulz steps round to bfloat16, ours do not: with torch's in float32 losses
# and weights are the same to rounding, as it is they stay near.
#   PYTHON tests/interop/muon.py STRATA
import json, os, random, subprocess, sys, tempfile
import torch
from safetensors.torch import load_file
from torch.optim import _muon
from transformers import LlamaConfig, LlamaForCausalLM, logging

logging.set_verbosity_error()
logging.disable_progress_bar()
STEPS, BATCH, LENGTH = 50, 4, 32
RATES = dict(muon=0.02, adamw=1e-3)
# By variant: options of torch's, of ours, and how far losses and weights may be apart, of the
# largest loss and of how far weights moved.
EXACT, NEAR = (2e-6, 2e-4), (1e-3, 0.2)
VARIANTS = [
    ("float32", dict(), "", EXACT),
    ("float32, match_rms_adamw, no nesterov, 3 steps",
     dict(adjust_lr_fn="match_rms_adamw", nesterov=False, ns_steps=3, momentum=0.9),
     ', adjust = "match_rms_adamw", nesterov = false, steps = 3, momentum = 0.9', EXACT),
    ("as it is", dict(), "", NEAR),
]
in_bf16 = _muon._zeropower_via_newtonschulz


def in_float32(grad, coefficients, steps, eps):
    a, b, c = coefficients
    x = grad.T if grad.shape[0] > grad.shape[1] else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if grad.shape[0] > grad.shape[1] else x


def theirs(folder, tokens, more):
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and ".layers." in n]
    others = [p for n, p in model.named_parameters() if not (p.dim() == 2 and ".layers." in n)]
    pair = (torch.optim.Muon(matrices, lr=RATES["muon"], weight_decay=0.1, **more),
            torch.optim.AdamW(others, lr=RATES["adamw"], betas=(0.9, 0.95), eps=1e-8,
                              weight_decay=0.0))
    losses = []
    for step in range(STEPS):
        first = step * BATCH * LENGTH
        x = tokens[first:first + BATCH * LENGTH].view(BATCH, LENGTH)
        y = tokens[first + 1:first + 1 + BATCH * LENGTH].view(BATCH, LENGTH)
        loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
        for o in pair:
            o.zero_grad()
        loss.backward()
        for o in pair:
            o.step()
        losses.append(loss.item())
    return losses, {n: p.detach() for n, p in model.named_parameters()}


def ours(strata, more, work):
    def run(*words):
        done = subprocess.run(words, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
    run(strata, "import", "hf", "-o", "m")
    spec = open(f"{work}/m.lua").read().rstrip()[:-1]
    spec += ('  tokenizer = "bytes",\n  train = { optimizer = muon { lr = %g, clip = 1e6, adamw = '
             'adamw { lr = %g, betas = { 0.9, 0.95 }, weight_decay = 0 }%s },\n'
             '    batch = %d, seed = 1 },\n}\n' % (RATES["muon"], RATES["adamw"], more, BATCH))
    open(f"{work}/m.lua", "w").write(spec)
    run(strata, "build", "m.lua", "-o", "m")
    run(f"{work}/m", "train", "--data", "text", "--init", "m.safetensors", "--steps", str(STEPS),
        "--order", "sequential", "--out", "out.safetensors", "--log", "log", "--overwrite")
    lines = [json.loads(line) for line in open(f"{work}/log")]
    return [x["loss"] for x in lines if "loss" in x], load_file(f"{work}/out.safetensors")


# How far matrices are apart, of how far they moved.
def apart(before, a, b):
    worst = 0
    for theirs_, names in (("self_attn", "qkvo"), ("mlp", ("gate", "up", "down"))):
        for i in range(2):
            for n in names:
                name = f"model.layers.{i}.{theirs_}.{n}_proj.weight"
                x = b[f"layers.{i}.{'attention' if theirs_ == 'self_attn' else 'mlp'}.{n}.weight"]
                worst = max(worst, ((a[name] - x).norm() / (a[name] - before[name]).norm()).item())
    return worst


def main():
    strata, wrong = os.path.realpath(sys.argv[1]), 0
    for name, options, more, (loss_bound, weight_bound) in VARIANTS:
        with tempfile.TemporaryDirectory() as work:
            torch.manual_seed(3)
            model = LlamaForCausalLM(LlamaConfig(
                vocab_size=256, hidden_size=32, intermediate_size=80, num_hidden_layers=2,
                num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=LENGTH,
                pad_token_id=None, bos_token_id=None, eos_token_id=None))
            model.save_pretrained(f"{work}/hf")
            r = random.Random(5)
            words = ["".join(r.choice("abcdefghij ") for _ in range(6)) for _ in range(40)]
            text = " ".join(r.choice(words) for _ in range(2000)).encode()
            open(f"{work}/text", "wb").write(text)
            before = {n: p.detach().clone() for n, p in model.named_parameters()}
            _muon._zeropower_via_newtonschulz = in_bf16 if name == "as it is" else in_float32
            a, a_weights = theirs(f"{work}/hf", torch.tensor(list(text)), options)
            b, b_weights = ours(strata, more, work)
        off = max(abs(x - y) for x, y in zip(a, b)) / max(a)
        moved = apart(before, a_weights, b_weights)
        ok = len(a) == len(b) == STEPS and off <= loss_bound and moved <= weight_bound
        wrong += not ok
        print(f"{'ok  ' if ok else 'BAD '} {name}: {STEPS} losses from {a[0]:.4f} to {a[-1]:.4f}, "
              f"ours {b[-1]:.4f}, apart by {off:.1e}; weights by {moved:.1e} of their way",
              flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
