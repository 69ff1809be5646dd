"""Trains the small model on CPUs: one single-threaded process a core, sharing parameters and gradients in memory.

    python train.py --run RUN --data RUN/shards --tokenizer RUN/tokenizer.json --steps 3000
    python train.py --run RUN ... --steps 5000            # goes on from RUN/state.pt, to the same numbers
    python train.py --run RUN ... --steps 6000 --decay 1000   # the last 1,000 steps bring the rate to zero
    python train.py --run RUN ... --steps 9000 --rewarm 6000  # goes on from a decayed run

Muon for matrices, AdamW for embeddings and the rest; loss on the model's own tokens, and lightly (`--text`) on tool text
while copying is learnt. A step is one batch on each rank. State (weights, optimisers, position in the data) is saved
every `--save` minutes and at the end, and beside the latest weights their running mean (RUN/smooth), which shows at a
constant rate about what a decay would give.
"""
import argparse
import json
import os
import time

import torch
import torch.multiprocessing as mp
from data import Stream
from model import FAST, Config, Model, initialise
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer


class Muon:
    """Momentum, then the nearest orthogonal matrix by five Newton-Schulz steps; equal shapes are done together.

    A gradient of more than `most` times the usual norm is scaled down to that: every step here is of full size, so one
    gradient that outweighs all others in the momentum would move the matrix one way for a hundred steps.
    """

    def __init__(self, params, momentum=0.95, decay=0.01, most=4.0):
        self.params, self.momentum, self.decay, self.most = params, momentum, decay, most
        self.groups = {}
        for i, p in enumerate(params):
            self.groups.setdefault(tuple(p.shape), []).append(i)
        self.buffers = {k: torch.zeros(len(v), *k) for k, v in self.groups.items()}
        self.norms = {k: torch.zeros(len(v), 1, 1) for k, v in self.groups.items()}

    @torch.no_grad()
    def step(self, rate, grads):
        for shape, index in self.groups.items():
            g, b, usual = torch.stack([grads[i] for i in index]), self.buffers[shape], self.norms[shape]
            norm = g.norm(dim=(1, 2), keepdim=True)
            # Without a usual norm yet the first one is it.
            usual.copy_(torch.where(usual > 0, usual, norm))
            kept = torch.minimum(norm, self.most * usual)
            g.mul_(kept / (norm + 1e-12))
            usual.lerp_(kept, 0.02)
            b.mul_(self.momentum).add_(g, alpha=1 - self.momentum)
            u = g.lerp(b, self.momentum)
            tall = shape[0] > shape[1]
            X = (u.transpose(1, 2) if tall else u).bfloat16()
            X = X / (X.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                A = X @ X.transpose(1, 2)
                X = 3.4445 * X + torch.baddbmm(A, A, A, beta=-4.7750, alpha=2.0315) @ X
            X = (X.transpose(1, 2) if tall else X).float() * (max(1, shape[0] / shape[1]) ** 0.5)
            for i, x in zip(index, X):
                self.params[i].mul_(1 - rate * self.decay).add_(x, alpha=-rate)


def save_model(model, folder, tokenizer, weights=None):
    """model.safetensors (the model's weights, or those given), config.json and tokenizer.json, as transformers reads them."""
    os.makedirs(folder, exist_ok=True)
    tok = Tokenizer.from_file(tokenizer)
    save_file({k: v.contiguous() for k, v in (weights or model.state_dict()).items()}, f"{folder}/model.safetensors", metadata={"format": "pt"})
    config = model.c.transformers(tok.token_to_id("<|im_end|>"), tok.token_to_id("<|endoftext|>"))
    json.dump(config, open(f"{folder}/config.json", "w"), indent=1)
    open(f"{folder}/tokenizer.json", "w").write(open(tokenizer).read())


def rate_at(step, a):
    """Warm-up, constant, linear decay over the last `decay` steps; `rewarm` is where a decayed run rises again."""
    up = min(1.0, (step + 1 - (a.rewarm if step >= a.rewarm else 0)) / a.warmup)
    down = min(1.0, (a.steps - step) / a.decay) if a.decay else 1.0
    return up * max(down, 0.01)


SMOOTH, SMOOTH_EVERY = 0.998, 4    # the running mean of weights: kept share a step, and how often it is brought up to date


def worker(rank, a, flat, smooth, grads, totals, barrier):
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    FAST["bf16"] = not a.f32
    model = Model(Config(vocab_size=Tokenizer.from_file(a.tokenizer).get_vocab_size(), **json.loads(a.config)))
    named, at, views, means = list(model.named_parameters()), 0, [], []
    if a.weights:
        model.load_state_dict({k: v.float() for k, v in load_file(a.weights).items()})
    else:
        initialise(model, a.seed)
    for _, p in named:
        n = p.numel()
        shared = flat[at:at + n].view(p.shape)
        if rank == 0:
            shared.copy_(p.data)
            smooth[at:at + n].view(p.shape).copy_(p.data)
        means.append(smooth[at:at + n].view(p.shape))
        p.data, p.grad = shared, grads[rank][at:at + n].view(p.shape)
        views.append([g[at:at + n].view(p.shape) for g in grads])
        at += n
    # Each rank updates half of the parameters in place.
    matrix = [p.ndim == 2 and "embed" not in n and min(p.shape) > 8 for n, p in named]
    seen, mine = {}, []
    for i, (_, p) in enumerate(named):
        k = seen.get(tuple(p.shape), 0)
        seen[tuple(p.shape)] = k + 1
        if k % a.ranks == rank if matrix[i] else i % a.ranks == rank:
            mine.append(i)
    mats, rest = [i for i in mine if matrix[i]], [i for i in mine if not matrix[i]]
    muon = Muon([named[i][1].data for i in mats])
    others = [torch.nn.Parameter(named[i][1].data) for i in rest]
    # A large epsilon: rare tokens get tiny gradients through the softmax alone, which Adam would blow up to full steps.
    adam = torch.optim.AdamW(others, lr=a.adam, betas=(0.9, 0.98), eps=1e-5, weight_decay=0.0)
    step, tokens, position, stage = 0, 0, (0, 0), None
    state_path = f"{a.run}/state.{rank}.pt"
    if os.path.exists(state_path):
        s = torch.load(state_path)
        if rank == 0:
            flat.copy_(s["flat"])
            smooth.copy_(s.get("smooth", flat))
        muon.buffers, muon.norms = s["muon"], s.get("norms", muon.norms)
        adam.load_state_dict(s["adam"])
        step, tokens, position, stage = s["step"], s["tokens"], s["position"], s["data"]
    if stage != a.data:
        position = (0, 0)
    stream = Stream(a.data, rank, a.ranks, a.budget, a.seed, a.longest, position)
    log = open(f"{a.run}/log.jsonl", "a") if rank == 0 else None

    def say(**k):
        log.write(json.dumps(k) + "\n")
        log.flush()
        print(json.dumps(k), flush=True)

    if rank == 0:
        say(parameters=sum(p.numel() for _, p in named), step=step, arguments=vars(a))
    barrier.wait()
    last_save = last_log = time.time()
    logged, seen_steps, mean, lowest = 0, 0, None, None
    stop = f"{a.run}/STOP"
    while step < a.steps:
        rate = rate_at(step, a)
        ids, marks, n = next(stream)
        text = a.text if step < a.text_steps else 0.0
        weight = (marks == 1).float() + text * (marks == 0).float()
        grads[rank].zero_()
        loss, plain, right = model.loss(ids, weight)
        loss.backward()
        totals[rank] = n
        if rank == 0:
            risen = lowest is not None and mean[0] > 3 * lowest + 0.3
            totals[a.ranks] = float(os.path.exists(stop)) + 2.0 * float(time.time() - last_save > a.save * 60) + 4.0 * float(risen)
        barrier.wait()
        signal = int(totals[a.ranks].item())
        averaged = {i: torch.stack(views[i]).mean(0) for i in mine}
        muon.step(a.muon * rate, [averaged[i] for i in mats])
        for p, i in zip(others, rest):
            p.grad = averaged[i]
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for group in adam.param_groups:
            group["lr"] = a.adam * rate
        adam.step()
        step += 1
        if step % SMOOTH_EVERY == 0:
            with torch.no_grad():
                torch._foreach_lerp_([means[i] for i in mine], [named[i][1].data for i in mine], 1 - SMOOTH**SMOOTH_EVERY)
        count = int(totals[:a.ranks].sum())
        tokens += count
        barrier.wait()
        if signal & 4:
            if rank == 0:
                say(diverged=step, loss=mean[0], lowest=lowest, kept="the state and the weights that were saved last")
            break
        last = step >= a.steps or signal & 1
        if signal or last:
            s = {"muon": muon.buffers, "norms": muon.norms, "adam": adam.state_dict(), "step": step, "tokens": tokens,
                 "position": (stream.shard, stream.batch), "data": a.data}
            torch.save(s | ({"flat": flat, "smooth": smooth} if rank == 0 else {}), state_path + ".part")
            os.replace(state_path + ".part", state_path)
            if rank == 0:
                save_model(model, f"{a.run}/latest", a.tokenizer)
                save_model(model, f"{a.run}/smooth", a.tokenizer, dict(zip((n for n, _ in named), means)))
                say(saved=step)
            last_save = time.time()
            barrier.wait()
        if rank == 0:
            logged += count
            mean = (plain, right) if mean is None else tuple(0.97 * m + 0.03 * x for m, x in zip(mean, (plain, right)))
            # Not the first losses of all, which fall from any height.
            if seen_steps > 100:
                lowest = mean[0] if lowest is None else min(lowest, mean[0])
            seen_steps += 1
            if step % 50 == 0:
                speed = logged / (time.time() - last_log)
                left = (a.steps - step) * (tokens / step) / max(speed, 1)
                say(step=step, million_tokens=round(tokens / 1e6, 3), loss=round(mean[0], 4), accuracy=round(mean[1], 4),
                    tokens_per_s=round(speed), seconds_left=round(left), rate=round(rate, 3))
                logged, last_log = 0, time.time()
        if last:
            break


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    A = ap.add_argument
    A("--run", required=True, help="folder of logs, state and the latest model")
    A("--data", required=True, help="folder of shards")
    A("--tokenizer", required=True)
    A("--weights", help="safetensors file to begin with, in place of the structured start; a run that goes on ignores it")
    A("--steps", type=int, required=True, help="train up to this step")
    A("--decay", type=int, default=0, help="how many of the last steps bring the rate down")
    A("--warmup", type=int, default=100)
    A("--rewarm", type=int, default=0, help="step at which the rate begins to rise anew, after a decay")
    A("--budget", type=int, default=2048, help="tokens of a batch, on each rank")
    A("--longest", type=int, default=1024, help="longer episodes are skipped")
    A("--muon", type=float, default=0.02)
    A("--adam", type=float, default=3e-3)
    A("--text", type=float, default=0.1, help="weight of question and tool tokens")
    A("--text_steps", type=int, default=600, help="... until this step")
    A("--config", default="{}", help="changes to model.Config, JSON")
    A("--seed", type=int, default=0)
    A("--ranks", type=int, default=2)
    A("--save", type=float, default=10, help="minutes between checkpoints")
    A("--f32", action="store_true", help="no bf16 products")
    a = ap.parse_args()
    os.makedirs(a.run, exist_ok=True)
    size = Tokenizer.from_file(a.tokenizer).get_vocab_size()
    n = sum(p.numel() for p in Model(Config(vocab_size=size, **json.loads(a.config))).parameters())
    context = mp.get_context("spawn")
    flat, smooth = torch.zeros(n).share_memory_(), torch.zeros(n).share_memory_()
    grads = [torch.zeros(n).share_memory_() for _ in range(a.ranks)]
    totals = torch.zeros(a.ranks + 1, dtype=torch.float64).share_memory_()
    barrier = context.Barrier(a.ranks)
    ranks = [context.Process(target=worker, args=(r, a, flat, smooth, grads, totals, barrier)) for r in range(a.ranks)]
    [p.start() for p in ranks]
    [p.join() for p in ranks]
    if any(p.exitcode for p in ranks):
        raise SystemExit("a rank failed; its traceback is above")
