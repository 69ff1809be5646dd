"""Lets a model answer generated training questions, and writes shards of what it should have done where it went astray.

    python corrections.py MODEL_FOLDER --out RUN/all --seed 9000000 --count 20000 --program glowworm-data

A conversation goes on as long as the model writes what the policy (crates/train/src/policy.rs) would. At its first other turn two
episodes are made: one in which the policy goes on from there at once, and one in which the model's turn stands, as context that is
not to be learnt, and the policy goes on after it, as long as there are turns enough. So the model meets once more what it
finds hard, and learns what to do after its own mistakes. Mistakes that nothing shows stand in no episode: after a query that runs and
has rows, but the wrong ones, going on with another would teach to distrust what is right. A question that it answers in the policy's own words
gives nothing.
"""
import argparse
import random
import re
from pathlib import Path

import torch
from data import write
from evaluate import Conversation, Server, after_stop, load, run

# Marks of a shard's tokens: crates/train/src/shards.rs.
LEARN, TEXT, CONTEXT = 1, 0, 2
# A tool's answer to a query that was no good: an error, or names of columns and no rows.
FAILED = re.compile(r"\nError: |Tool result:\n[^\n]*\n\n\[")


class Taught(Conversation):
    """A conversation that ends at the model's first turn that is not the policy's."""

    def __init__(self, item, encoder, server):
        super().__init__(item, encoder, server)
        self.good, self.mistake = [], None

    def turn(self, text):
        teacher = self.server(teach=self.item["id"])["turn"]
        if text == teacher:
            self.good.append(text)
            super().turn(text)
        else:
            self.mistake = text if teacher is not None else None
            self.done, self.ended = True, "corrected" if teacher is not None else "given_up"


class Episode:
    """The tokens of a conversation with their marks."""

    def __init__(self, seed, encoder, server):
        item = server(sample=seed, split="train")
        self.encoder, self.server, self.id = encoder, server, item["id"]
        self.ids, self.marks, self.done, self.ok = [], [], False, False
        self.add(item["append"])

    def add(self, segments):
        for markup, text in segments:
            self.put(markup, text, CONTEXT if markup else TEXT)

    def put(self, markup, text, mark):
        ids = self.encoder.segments((markup, text))
        self.ids += ids
        self.marks += [mark] * len(ids)

    def turn(self, text, mark):
        self.put(True, text + "<|im_end|>", mark)
        answer = self.server(id=self.id, wrote=text)
        if "done" in answer:
            self.done, self.ok = True, answer["ok"]
            return ""
        self.add(after_stop(answer["append"]))
        return "".join(text for _, text in answer["append"])

    def finish(self):
        """Lets the policy go on to the end; whether it could, and is right."""
        while not self.done:
            teacher = self.server(teach=self.id)["turn"]
            if teacher is None:
                break
            self.turn(teacher, LEARN)
        self.server(close=self.id)
        return self.ok


def corrected(conversation, seed, encoder, server):
    """The episodes that come of a mistake: without it, and with it."""
    for mistake in (None, conversation.mistake):
        episode = Episode(seed, encoder, server)
        for text in conversation.good:
            episode.turn(text, LEARN)
        if mistake is not None:
            shown = episode.turn(mistake, CONTEXT)
            hidden = '"run_query"' in mistake and not FAILED.search(shown)
            right = (episode.server(teach=episode.id)["turn"] or "").startswith("Submit.")
            if episode.done or (hidden and not right):
                episode.server(close=episode.id)
                continue
        if episode.finish():
            yield episode.ids, episode.marks


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    A = ap.add_argument
    A("model")
    A("--out", required=True, help="folder of the shards")
    A("--seed", type=int, required=True, help="first sample; not one that evaluation uses")
    A("--count", type=int, default=20_000, help="questions")
    A("--per-shard", type=int, default=2048, help="questions of a shard")
    A("--longest", type=int, default=800, help="longer episodes are left out")
    A("--odd", type=float, default=1.0, help="share kept of the questions over databases with made-up words")
    A("--batch", type=int, default=256)
    A("--program", default="glowworm-data")
    a = ap.parse_args()
    torch.set_num_threads(1)
    model, encoder = load(a.model)
    server = Server(a.program)
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    for first in range(a.seed, a.seed + a.count, a.per_shard):
        episodes, asked, wrong = [], 0, 0
        for low in range(first, min(first + a.per_shard, a.seed + a.count), a.batch):
            seeds = range(low, min(low + a.batch, first + a.per_shard, a.seed + a.count))
            kept = {}
            for seed in seeds:
                item = server(sample=seed, split="train")
                if item["odd"] and random.Random(seed).random() >= a.odd:
                    server(close=item["id"])
                else:
                    kept[seed] = item
            with torch.no_grad():
                conversations = run(model, encoder, list(kept.values()), server, conversation=Taught)
            for seed, c in zip(kept, conversations):
                server(close=c.item["id"])
                asked += 1
                if c.mistake is not None:
                    wrong += 1
                    episodes += [e for e in corrected(c, seed, encoder, server) if len(e[0]) <= a.longest]
        random.Random(first).shuffle(episodes)
        if episodes:
            write(out / f"{first:012}.shard", episodes)
        print(f"{first}: {wrong} of {asked} went astray, {len(episodes)} episodes, {sum(len(i) for i, _ in episodes)} tokens", flush=True)
