"""A toy run lowers the loss, and a run that was interrupted ends with the same weights as one that was not.

    python test_training.py --program glowworm-data

Makes a tokenizer and two small shards, then trains a model of 0.3M parameters: 40 steps at once, and 20 + 20.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--program", default="glowworm-data")
ap.add_argument("--steps", type=int, default=40)
a = ap.parse_args()
SMALL = {"hidden_size": 128, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
         "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}


def data(*args):
    subprocess.run([a.program, *args], check=True, stdout=subprocess.DEVNULL)


def train(run, steps):
    here = Path(__file__).parent
    subprocess.run([sys.executable, here / "train.py", "--run", run, "--data", f"{work}/shards", "--tokenizer", f"{work}/tokenizer.json",
                    "--steps", str(steps), "--budget", "1024", "--longest", "700", "--warmup", "5", "--config", json.dumps(SMALL)],
                   check=True, stdout=subprocess.DEVNULL)
    return torch.load(f"{run}/state.0.pt"), torch.load(f"{run}/state.1.pt")


with tempfile.TemporaryDirectory() as work:
    data("tokenizer", "--size", "1024", "--samples", "300", "--out", f"{work}/tokenizer.json")
    for name in ("a", "b"):
        data("shards", "--tokenizer", f"{work}/tokenizer.json", "--out", f"{work}/{name}", "--per-shard", "150", "--shards", "2", "--longest", "700")
    one, two = (sorted(Path(work, n).glob("*.shard")) for n in ("a", "b"))
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two], "the same seeds gave other bytes"
    Path(work, "a").rename(Path(work, "shards"))
    whole = train(f"{work}/whole", a.steps)
    train(f"{work}/parts", a.steps // 2)
    parts = train(f"{work}/parts", a.steps)
    assert torch.equal(whole[0]["flat"], parts[0]["flat"]), "a resumed run ended with other weights"
    for w, p in zip(whole, parts):
        assert w["position"] == p["position"] and w["tokens"] == p["tokens"]
        for part in ("muon", "norms"):
            assert all(torch.equal(w[part][k], p[part][k]) for k in w[part])

    sys.path.insert(0, str(Path(__file__).parent))
    from train import Muon
    # A gradient that outweighs all others does not decide the steps that follow it.
    torch.manual_seed(0)
    usual, strange = torch.randn(24, 16), torch.randn(24, 16)
    weight, before = torch.zeros(24, 16), torch.zeros(24, 16)
    muon = Muon([weight], decay=0.0)
    for step in range(40):
        if step == 20:
            before.copy_(weight)
        muon.step(1.0, [usual.clone() if step != 10 else strange * 1e6])
    moved = before - weight
    assert torch.cosine_similarity(moved.flatten(), usual.flatten(), dim=0) > 0.7, "one gradient turned the steps of all others"

    from data import batches
    from model import Model, from_transformers
    from safetensors.torch import load_file

    def loss(folder):
        model = Model(from_transformers(f"{folder}/config.json")).eval()
        if folder.endswith("latest"):
            model.load_state_dict(load_file(f"{folder}/model.safetensors"))
        ids, marks, _ = next(batches(sorted(Path(work, "shards").glob("*.shard"))[0], 2048, "test", 700))
        with torch.no_grad():
            return model.loss(ids, (marks == 1).float())[1]

    end = loss(f"{work}/whole/latest")
    first = json.loads(Path(work, "whole/latest/config.json").read_text())["vocab_size"]

    assert end < 0.8 * math.log(first), f"the loss is {end}, no better than chance"
    print(f"1 passed, 0 failed\nloss {end:.3f} after {a.steps} steps (chance {math.log(first):.3f}); resumed run equal")
