"""The PyTorch counterpart of training_speed.rs: python training_speed.py FOLDER [steps] [chunk]

FOLDER holds the checkpoint and prototype/model.py. Prints the loss of the same batch, which must be the same number."""
import sys, time, json
from pathlib import Path
import torch, torch.nn.functional as F
from safetensors.torch import load_file

folder = Path(sys.argv[1]); steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5; chunk = int(sys.argv[3]) if len(sys.argv) > 3 else 16
sys.path.insert(0, str(folder / "prototype"))
from model import Cfg, Model

torch.set_num_threads(1)
config = json.loads((folder / "config.json").read_text())
cfg = Cfg(**{k: config[k] for k in Cfg.__dataclass_fields__ if k in config})
cfg.partial_rotary_factor, cfg.rope_theta = (config["rope_parameters"][k] for k in ("partial_rotary_factor", "rope_theta"))
cfg.chunk = chunk
model = Model(cfg); model.load_state_dict(load_file(folder / "model.safetensors"))

sequences, tokens, loss_every = 2, 1536, 3
count = sequences * tokens
ids = torch.tensor([(i * i * 7 + i * 13) % 1000 % cfg.vocab_size for i in range(count)])
places = torch.tensor([i for i in range(count) if i % tokens != tokens - 1 and i % loss_every == 0])
targets, ids = ids[places + 1], ids.view(sequences, tokens)

wall = processor = float("inf")
for step in range(steps + 1):
    model.zero_grad()
    start, busy = time.perf_counter(), time.process_time()
    h = model.hidden(ids).reshape(count, -1)[places]
    loss = F.cross_entropy(F.linear(h, model.model.embed_tokens.weight), targets)
    forward = time.process_time() - busy
    loss.backward()
    elapsed, busy = time.perf_counter() - start, time.process_time() - busy
    if step == 0: print(f"loss {loss.item():.6f}"); continue
    wall, processor = min(wall, elapsed), min(processor, busy)
    print(f"forward {forward:.2f} s, backward {busy - forward:.2f} s of processor time")
print(f"best of {steps}: {count / wall:.0f} tokens/s by the wall, {count / processor:.0f} by the processor")
