"""Shards of `glowworm-data shards` (layout: crates/train/src/shards.rs) as length-bucketed batches."""
import random
from pathlib import Path

import numpy as np
import torch


def read(path):
    """-> list of (ids, marks) of the episodes of one shard."""
    raw = np.fromfile(path, np.uint8)
    assert raw[:8].tobytes() == b"GLWSHRD1", f"{path} is not a shard; write it again with `glowworm-data shards`"
    episodes, tokens = (int(x) for x in raw[8:16].view(np.uint32))
    at = 16 + 4 * episodes
    lengths = raw[16:at].view(np.uint32).astype(np.int64)
    ids, marks = raw[at:at + 2 * tokens].view(np.uint16), raw[at + 2 * tokens:at + 3 * tokens]
    ends = np.cumsum(lengths)
    return [(ids[e - n:e], marks[e - n:e]) for n, e in zip(lengths, ends)]


def write(path, episodes):
    """Writes a shard of (ids, marks)."""
    lengths = np.array([len(ids) for ids, _ in episodes], np.uint32)
    head = b"GLWSHRD1" + np.array([len(episodes), lengths.sum()], np.uint32).tobytes() + lengths.tobytes()
    ids = np.concatenate([np.array(ids, np.uint16) for ids, _ in episodes])
    marks = np.concatenate([np.array(marks, np.uint8) for _, marks in episodes])
    part = Path(path).with_suffix(".part")
    part.write_bytes(head + ids.tobytes() + marks.tobytes())
    part.rename(path)


def batches(path, budget, seed, longest):
    """The batches of a shard, in an order fixed by `seed`: (ids [B,T] int64, marks [B,T] uint8, real tokens)."""
    rng = random.Random(f"{seed} {Path(path).name}")
    episodes = [e for e in read(path) if len(e[0]) <= longest]
    rng.shuffle(episodes)
    out = []
    for k in range(0, len(episodes), 1024):
        group, current, T = sorted(episodes[k:k + 1024], key=lambda e: len(e[0])), [], 0
        for e in group:
            T = -(-len(e[0]) // 16) * 16
            if current and T * (len(current) + 1) > budget:
                out.append(current)
                current = []
            current.append(e)
        if current:
            out.append(current)
    rng.shuffle(out)
    for batch in out:
        T = -(-max(len(e[0]) for e in batch) // 16) * 16
        ids, marks = np.zeros((len(batch), T), np.int64), np.full((len(batch), T), 2, np.uint8)
        for r, (i, m) in enumerate(batch):
            ids[r, :len(i)], marks[r, :len(m)] = i, m
        yield torch.from_numpy(ids), torch.from_numpy(marks), sum(len(e[0]) for e in batch)


class Stream:
    """All shards of a folder in the order of their names, every `ranks`-th for this rank; new shards are found as they come.

    The position (shard, batch) is all there is to resume from.
    """

    def __init__(self, folder, rank, ranks, budget, seed, longest, position=(0, 0)):
        self.folder, self.rank, self.ranks = Path(folder), rank, ranks
        self.budget, self.seed, self.longest = budget, seed, longest
        self.shard, self.batch = position
        self.it = None

    def __next__(self):
        empty = 0
        while True:
            if self.it is None:
                shards = sorted(self.folder.glob("*.shard"))[self.rank::self.ranks]
                # Past the end the shards are read again.
                path = shards[self.shard % len(shards)]
                self.it = batches(path, self.budget, f"{self.seed} {self.shard // len(shards)}", self.longest)
                for _ in range(self.batch):
                    next(self.it, None)
            found = next(self.it, None)
            if found is not None:
                self.batch += 1
                return found
            # Without this, shards of long episodes alone would be read for ever.
            empty += self.batch == 0
            if empty and empty > len(shards):
                raise ValueError(f"no shard in {self.folder} has an episode of at most {self.longest} tokens")
            self.it, self.shard, self.batch = None, self.shard + 1, 0
