"""Brings trained weights to another vocabulary, or to more layers, to go on training from there.

    python grow.py MODEL_FOLDER grown.safetensors --tokenizer new/tokenizer.json --layers 8
    python train.py ... --weights grown.safetensors --tokenizer new/tokenizer.json --config '{"num_hidden_layers": 8}'

A token that both vocabularies have keeps its vector, a word in another case takes that of the lower case and the mean
step between the cases, any other the mean of the pieces that the old vocabulary cuts it into. New layers come in pairs,
a delta net and an attention, before the last pair: copies of it whose outputs are zero, so that the model is at first what it was.
"""
import argparse
import json
import re
from collections import Counter

import torch
from safetensors.torch import load_file, save_file

# Matrices through which a layer adds to the stream.
OUTPUTS = ("o_proj", "out_proj", "down_proj")


class Vocabulary:
    def __init__(self, path):
        j = json.load(open(path))
        self.added = {a["content"]: a["id"] for a in j["added_tokens"]}
        self.ids = j["model"]["vocab"] | self.added
        self.ranks = {tuple(m): r for r, m in enumerate(j["model"]["merges"])}

    def pieces(self, token):
        """The ids of the tokens that this vocabulary cuts a token of another into."""
        parts = list(token)
        while len(parts) > 1:
            rank, i = min((self.ranks.get((a, b), len(self.ranks)), i) for i, (a, b) in enumerate(zip(parts, parts[1:])))
            if rank == len(self.ranks):
                break
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        return [self.ids[p] for p in parts]


def is_cased(token):
    """Whether a token is a word, or a piece of one, with capitals."""
    return len(token) > 1 and token.isascii() and token.isalpha() and not token.islower()


def revocabulary(E, old, new, kept):
    """The embedding of `new` out of E, that of `old`; cased words among `kept` keep their own vector."""
    def step(case):
        pairs = [(case(t), t) for t in old.ids if t.isalpha() and t.isascii() and t.islower() and len(t) > 2 and case(t) in old.ids]
        return torch.stack([E[old.ids[a]] - E[old.ids[b]] for a, b in pairs]).mean(0) if pairs else torch.zeros(E.shape[1])

    capitalised, capitals = step(str.capitalize), step(str.upper)
    out, how = torch.zeros(len(new.ids), E.shape[1]), Counter()
    for token, i in new.ids.items():
        if token in old.ids and (token in new.added or token in kept or not is_cased(token)):
            out[i], by = E[old.ids[token]], "same"
        elif is_cased(token):
            out[i], by = E[old.pieces(token.lower())].mean(0) + (capitals if token.isupper() else capitalised), "case"
        else:
            out[i], by = E[old.pieces(token)].mean(0), "pieces"
        how[by] += 1
    print(dict(how))
    return out


def deepen(weights, pairs):
    """`pairs` more pairs of layers before the last one."""
    pattern = re.compile(r"(model\.layers\.)(\d+)(\..*)")
    last = max(int(m[2]) for m in map(pattern.match, weights) if m) - 1
    out = {}
    for name, w in weights.items():
        m = pattern.match(name)
        if not m or int(m[2]) < last:
            out[name] = w
            continue
        for pair in range(pairs + 1):
            new = pair < pairs and any(o in name for o in OUTPUTS)
            out[f"{m[1]}{int(m[2]) + 2 * pair}{m[3]}"] = torch.zeros_like(w) if new else w.clone()
    return out


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", help="folder of model.safetensors, config.json and tokenizer.json")
    ap.add_argument("out")
    ap.add_argument("--tokenizer", help="the new vocabulary")
    ap.add_argument("--kept", default="SELECT FROM WHERE AND OR JOIN ON GROUP BY ORDER LIMIT DESC ASC COUNT AVG SUM MAX MIN DISTINCT IN NOT NULL IS "
                    "LIKE BETWEEN HAVING CREATE TABLE INTEGER TEXT REAL INT VARCHAR DATE PRIMARY KEY FOREIGN REFERENCES FLOAT NUMERIC BOOLEAN DOUBLE "
                    "BIGINT DEFAULT DECIMAL Error List Submit Tool What How Which Show Find Give Please Could Can Count Tell Return For The Who Wrong "
                    "You Your SQL", help="words with capitals that are words of the language, not names in another case")
    ap.add_argument("--layers", type=int, default=0, help="how many layers there are to be")
    a = ap.parse_args()
    weights = {k: v.float() for k, v in load_file(f"{a.model}/model.safetensors").items()}
    if a.tokenizer:
        name = "model.embed_tokens.weight"
        old, new = Vocabulary(f"{a.model}/tokenizer.json"), Vocabulary(a.tokenizer)
        weights[name] = revocabulary(weights[name], old, new, set(a.kept.split()))
    more = a.layers - json.load(open(f"{a.model}/config.json"))["num_hidden_layers"] if a.layers else 0
    if more < 0 or more % 2:
        raise SystemExit(f"--layers {a.layers}: layers are added in pairs to those that are there")
    save_file(deepen(weights, more // 2), a.out, metadata={"format": "pt"})
