"""Copies a trained model to a folder and checks it against transformers: logits of a whole episode, greedy continuation.

    python export.py RUN/latest OUT [--program glowworm-data]

The folder then holds model.safetensors, config.json, tokenizer.json, chat_template.jinja; `glowworm convert` makes the GGUF from it.
"""
import argparse
import json
import shutil
import subprocess
from pathlib import Path

import torch
from model import Model, from_transformers
from safetensors.torch import load_file
from transformers import PreTrainedTokenizerFast, Qwen3_5ForCausalLM

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("model")
ap.add_argument("out")
ap.add_argument("--program", default="glowworm-data", help="the data program, for an episode to compare on")
a = ap.parse_args()
out = Path(a.out)
out.mkdir(parents=True, exist_ok=True)
for name in ("model.safetensors", "config.json", "tokenizer.json"):
    if Path(a.model).resolve() != out.resolve():
        shutil.copy(Path(a.model, name), out / name)
shutil.copy(Path(__file__).parent / "chat_template.jinja", out / "chat_template.jinja")
mine = Model(from_transformers(out / "config.json")).eval()
mine.load_state_dict(load_file(out / "model.safetensors"))
theirs = Qwen3_5ForCausalLM.from_pretrained(out, dtype=torch.float32).eval()
tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(out / "tokenizer.json"))
text = subprocess.run([a.program, "show", "--split", "test", "--from", "3", "--count", "1"], capture_output=True, text=True, check=True).stdout
text = text.split("\n", 1)[1]
ids = tokenizer(text, return_tensors="pt")["input_ids"]
with torch.no_grad():
    A, B = mine(ids), theirs(ids).logits
    prompt = ids[:, :40]
    theirs_next = theirs.generate(prompt, max_new_tokens=24, do_sample=False)[0, 40:].tolist()
    state, mine_next = mine.new_state(128), []
    for t in range(64):
        token = prompt[0, t] if t < 40 else torch.tensor(mine_next[-1])
        logits = mine.step(token.view(1), t, state)
        if t >= 39:
            mine_next.append(int(logits.argmax()))
tied = theirs.lm_head.weight.data_ptr() == theirs.model.embed_tokens.weight.data_ptr()
n = min(len(theirs_next), len(mine_next))
figures = {"tokens": ids.shape[1], "largest_logit_difference": (A - B).abs().max().item(),
           "same_argmax": (A.argmax(-1) == B.argmax(-1)).float().mean().item(), "same_greedy_tokens": mine_next[:n] == theirs_next[:n], "tied": tied,
           "parameters": sum(p.numel() for p in mine.parameters()), "greedy": tokenizer.decode(mine_next)}
print(json.dumps(figures, indent=1))
if figures["largest_logit_difference"] > 1e-2 or figures["same_argmax"] < 1:
    raise SystemExit("the exported model differs from transformers'; do not ship it")
