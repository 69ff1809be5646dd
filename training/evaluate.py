"""Runs the real agent loop greedily on held-out or hand-written questions and scores the answers by execution.

    python evaluate.py MODEL_FOLDER --split test --count 256
    python evaluate.py MODEL_FOLDER --suite ../examples/suites/hand
    python evaluate.py MODEL_FOLDER --suite spider-dk --room 2500 --predictions spider-dk.json   # then `glowworm score`

Tools and scoring are those of `glowworm-data serve`. All conversations advance in lockstep, one token each a step (given
tokens are forced, the model's are the arg-max), so the recurrent form of every layer is exercised too.
"""
import argparse
import json
import math
import subprocess
from collections import defaultdict
from pathlib import Path

import torch
from model import Model, from_transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer

class Server:
    def __init__(self, program):
        self.p = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, **request):
        self.p.stdin.write(json.dumps(request) + "\n")
        self.p.stdin.flush()
        answer = json.loads(self.p.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


class Encoder:
    """Added tokens are recognised in markup only, as in the program."""

    def __init__(self, path):
        self.full = Tokenizer.from_file(path)
        j = json.load(open(path))
        j["added_tokens"] = []
        self.plain = Tokenizer.from_str(json.dumps(j))

    def segments(self, *parts):
        ids = []
        for markup, text in parts:
            ids += (self.full if markup else self.plain).encode(text, add_special_tokens=False).ids
        return ids


def load(folder):
    """The model and the encoder of a folder."""
    model = Model(from_transformers(f"{folder}/config.json")).eval()
    model.load_state_dict(load_file(f"{folder}/model.safetensors"))
    return model, Encoder(f"{folder}/tokenizer.json")


def after_stop(segments):
    """What follows a turn of the model's, whose stop token is in the context already."""
    markup, text = segments[0]
    return [[markup, text.removeprefix("<|im_end|>")], *segments[1:]]


class Conversation:
    """One question; the agent's own state machine (`glowworm-data serve`) says what is appended and when it ends."""

    def __init__(self, item, encoder, server):
        self.item, self.encoder, self.server = item, encoder, server
        self.out, self.turns, self.errors, self.text, self.sql = [], 0, 0, "", ""
        self.done, self.ok, self.ended = False, False, "token_budget"
        self.append(item["append"])

    def append(self, segments):
        self.text += "".join(t for _, t in segments)
        self.errors += sum(t.count("\nError: ") for m, t in segments if not m)
        self.queue = self.encoder.segments(*segments)

    def turn(self, text):
        self.text += text + "<|im_end|>"
        self.turns += 1
        answer = self.server(id=self.item["id"], wrote=text)
        if "done" in answer:
            self.done, self.ok, self.ended, self.sql = True, answer["ok"], answer["ended_by"], answer["done"]
        else:
            self.append(after_stop(answer["append"]))


def keep(state, rows):
    """The state of some conversations only; the others are over."""
    return [{k: v[rows] if torch.is_tensor(v) else v for k, v in layer.items()} for layer in state]


def run(model, encoder, items, server, room=900, longest_turn=220, conversation=Conversation):
    conversations = [conversation(x, encoder, server) for x in items]
    stop = encoder.full.token_to_id("<|im_end|>")
    active, state, chosen = list(conversations), model.new_state(room), [0] * len(items)
    for position in range(room):
        tokens = []
        for c, t in zip(active, chosen):
            if c.done:
                t = stop
            elif c.queue:
                t = c.queue.pop(0)
            else:
                c.out.append(t)
                if t == stop or len(c.out) >= longest_turn:
                    text = encoder.full.decode(c.out, skip_special_tokens=False).removesuffix("<|im_end|>")
                    c.out = []
                    c.turn(text)
            tokens.append(t)
        rows = [i for i, c in enumerate(active) if not c.done]
        if not rows:
            break
        if len(rows) < 0.85 * len(active):
            if position:
                state = keep(state, rows)
            active, tokens = [active[i] for i in rows], [tokens[i] for i in rows]
        chosen = model.step(torch.tensor(tokens), position, state).argmax(-1).tolist()
    return conversations


def interval(k, n, z=1.96):
    """Wilson's 95% interval of a share."""
    p, d = k / n, 1 + z * z / n
    middle, half = (p + z * z / (2 * n)) / d, z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return round(middle - half, 3), round(middle + half, 3)


def summary(conversations):
    by, ended = defaultdict(lambda: [0, 0]), defaultdict(int)
    for c in conversations:
        by[c.item["kind"]][0] += c.ok
        by[c.item["kind"]][1] += 1
        ended[c.ended] += 1
    n, k = len(conversations), sum(c.ok for c in conversations)
    return {"n": n, "right": round(k / n, 4), "interval": interval(k, n), "turns": round(sum(c.turns for c in conversations) / n, 2),
            "tool_errors": round(sum(c.errors for c in conversations) / n, 3),
            "ended_by": dict(ended), "by_kind": {k: f"{a}/{b}" for k, (a, b) in sorted(by.items())}}


def suite_items(folder, server):
    items = []
    for q in json.loads(Path(folder, "questions.json").read_text()):
        script = Path(folder, q["db_id"] + ".sql")
        where = {"script": str(script.resolve())} if script.exists() else {"database": str(next(Path(folder).rglob(q["db_id"] + ".sqlite")).resolve())}
        items.append(server(**where, question=q["question"], sql=q["SQL"]) | {"kind": q["db_id"]})
    return items


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    A = ap.add_argument
    A("model")
    A("--split", default="test", choices=["test", "train"])
    A("--seed", type=int, default=900_000)
    A("--count", type=int, default=256)
    A("--suite", help="a folder of SQL scripts and questions.json instead of generated questions")
    A("--program", default="glowworm-data")
    A("--transcripts", help="file for the conversations")
    A("--predictions", help="file for the submitted queries, a JSON list in the order of the questions")
    A("--room", type=int, default=900, help="tokens of a conversation at most")
    A("--batch", type=int, default=128)
    A("--threads", type=int, default=1)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    model, encoder = load(a.model)
    server = Server(a.program)
    if a.suite:
        items = suite_items(a.suite, server)
    else:
        items = [server(sample=a.seed + i, split=a.split) for i in range(a.count)]
    done = []
    with torch.no_grad():
        for k in range(0, len(items), a.batch):
            done += run(model, encoder, items[k:k + a.batch], server, a.room)
    print(json.dumps(summary(done)))
    if a.predictions:
        json.dump([c.sql for c in done], open(a.predictions, "w"), indent=1)
    if a.transcripts:
        with open(a.transcripts, "w") as f:
            for c in done:
                f.write(f"##### {'RIGHT' if c.ok else 'WRONG'} {c.item['kind']} {c.ended}\nGOLD {c.item['sql']}\n{c.text}\n\n")
