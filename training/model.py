"""The Qwen3.5 text architecture (gated delta net + gated attention) in PyTorch, written for training on CPUs.

State-dict names equal those of transformers' `Qwen3_5ForCausalLM`; `export.py` checks the logits against it.
Matrix products run in bfloat16 where the processor multiplies it (2.3x faster than f32 with AVX512-BF16); everything
else, weights and optimiser state too, is f32.
"""
import json
import math
from dataclasses import asdict, dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab_size: int = 2048
    hidden_size: int = 192
    intermediate_size: int = 384
    num_hidden_layers: int = 8
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    linear_num_key_heads: int = 4
    linear_num_value_heads: int = 4
    linear_key_head_dim: int = 32
    linear_value_head_dim: int = 32
    linear_conv_kernel_dim: int = 4
    full_attention_interval: int = 2
    partial_rotary_factor: float = 0.25
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6

    @property
    def layer_types(self):
        full = self.full_attention_interval
        return ["full_attention" if (i + 1) % full == 0 else "linear_attention" for i in range(self.num_hidden_layers)]

    def transformers(self, eos, pad):
        """config.json as transformers reads it."""
        d = asdict(self)
        rotary, theta = d.pop("partial_rotary_factor"), d.pop("rope_theta")
        return {
            "architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text", **d, "layer_types": self.layer_types,
            "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": False, "attention_dropout": 0.0,
            "max_position_embeddings": 4096, "attn_output_gate": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": rotary,
                                "mrope_section": [3, 3, 2], "mrope_interleaved": True},
            "eos_token_id": eos, "pad_token_id": pad, "bos_token_id": None, "dtype": "float32", "use_cache": True,
        }


def from_transformers(path):
    """The Config of a config.json."""
    j = json.load(open(path))
    known = {k: j[k] for k in Config.__dataclass_fields__ if k in j}
    rope = j["rope_parameters"]
    return Config(**known | {"partial_rotary_factor": rope["partial_rotary_factor"], "rope_theta": rope["rope_theta"]})


FAST = {"bf16": False}      # set by the trainer; evaluation and export stay in f32


class MixedLinear(torch.autograd.Function):
    """x W^T with bf16 products and f32 results; x [..., in], w [out, in]."""

    @staticmethod
    def forward(ctx, x, w):
        xb, wb = x.reshape(-1, x.shape[-1]).bfloat16(), w.bfloat16()
        ctx.save_for_backward(xb, wb)
        return (xb @ wb.t()).float().view(*x.shape[:-1], w.shape[0])

    @staticmethod
    def backward(ctx, gy):
        xb, wb = ctx.saved_tensors
        g = gy.reshape(-1, gy.shape[-1]).bfloat16()
        return (g @ wb).float().view(*gy.shape[:-1], wb.shape[1]), (g.t() @ xb).float()


def linear(x, w):
    return MixedLinear.apply(x, w) if FAST["bf16"] and min(w.shape) >= 32 else F.linear(x, w)


class Linear(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o, bias=False)

    def forward(self, x):
        return linear(x, self.weight)


class Normalise(torch.autograd.Function):
    """x / rms(x) * w, or x / |x| without w: by hand, since torch's is a chain of element-wise passes on CPUs."""

    @staticmethod
    def forward(ctx, x, w, eps, mean):
        n = x.shape[-1]
        r = torch.linalg.vecdot(x, x).unsqueeze(-1)
        r = torch.rsqrt(r / n + eps if mean else r + eps)
        xn = x * r
        ctx.save_for_backward(xn, r, w)
        ctx.k = 1.0 / n if mean else 1.0
        return xn if w is None else xn * w

    @staticmethod
    def backward(ctx, gy):
        xn, r, w = ctx.saved_tensors
        gw = None
        if w is not None:
            gw = (gy * xn).flatten(0, -2).sum(0)
            gy = gy * w
        d = torch.linalg.vecdot(gy, xn).unsqueeze(-1) * ctx.k
        return torch.addcmul(gy, xn, d, value=-1).mul_(r), gw, None, None


class RMSNorm(nn.Module):
    """Zero-centred weight: x / rms(x) * (1 + w)."""

    def __init__(self, d, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(d)), eps

    def forward(self, x):
        return Normalise.apply(x, 1.0 + self.weight, self.eps, True)


class GatedNorm(nn.Module):
    """Plain weight, the norm before the gate."""

    def __init__(self, d, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x, z):
        return Normalise.apply(x, self.weight, self.eps, True) * F.silu(z)


class CausalAttention(torch.autograd.Function):
    """softmax(q k^T / sqrt(d)) v over earlier positions; all [B,H,T,d]. In blocks of queries, so that the future costs
    nothing; scores in f32, the other products in bf16 (2.4x faster than torch's own on CPUs, most of it in the backward)."""

    BLOCK = 128

    @staticmethod
    def forward(ctx, q, k, v):
        shape, (T, d) = q.shape, q.shape[-2:]
        q, k, v = (x.reshape(-1, T, d) for x in (q * d ** -0.5, k, v))
        kt, v, out, weights = k.transpose(1, 2), v.bfloat16(), [], []
        for low in range(0, T, CausalAttention.BLOCK):
            high = min(low + CausalAttention.BLOCK, T)
            s = torch.bmm(q[:, low:high], kt[:, :, :high])
            s[:, :, low:].masked_fill_(torch.ones(high - low, high - low, dtype=torch.bool).triu(1), float("-inf"))
            weights.append(torch.softmax(s, -1).bfloat16())
            out.append(torch.bmm(weights[-1], v[:, :high]))
        ctx.save_for_backward(q.bfloat16(), k.bfloat16(), v, *weights)
        return torch.cat(out, 1).float().view(shape)

    @staticmethod
    def backward(ctx, gy):
        q, k, v, *weights = ctx.saved_tensors
        shape, (T, d) = gy.shape, gy.shape[-2:]
        g = gy.reshape(-1, T, d).bfloat16()
        gq, gk, gv = [], torch.zeros(k.shape), torch.zeros(k.shape)
        for p, low in zip(weights, range(0, T, CausalAttention.BLOCK)):
            high = low + p.shape[1]
            gb, pt = g[:, low:high], p.transpose(1, 2)
            gv[:, :high] += torch.bmm(pt, gb)
            s = torch.bmm(gb, v[:, :high].transpose(1, 2))
            mean = torch.linalg.vecdot(s, p).unsqueeze(-1)
            s = (s - mean).mul_(p)
            gq.append(torch.bmm(s, k[:, :high]))
            gk[:, :high] += torch.bmm(s.transpose(1, 2), q[:, low:high])
        return (torch.cat(gq, 1).float() * d ** -0.5).view(shape), gk.view(shape), gv.view(shape)


class CrossEntropy(torch.autograd.Function):
    """-log softmax(logits)[target], [N, V] and [N] -> [N]; in few passes over the logits."""

    @staticmethod
    def forward(ctx, logits, target):
        at = target.unsqueeze(1)
        top = logits.amax(1, keepdim=True)
        chosen = logits.gather(1, at) - top
        p = (logits - top).exp_()
        total = p.sum(1, keepdim=True)
        ctx.save_for_backward(p, total, at)
        return (total.log() - chosen).squeeze(1)

    @staticmethod
    def backward(ctx, gy):
        p, total, at = ctx.saved_tensors
        g = gy.unsqueeze(1)
        p = p.mul_(g / total)
        return p.scatter_add_(1, at, -g), None


class CausalConv(torch.autograd.Function):
    """Depthwise causal convolution as multiply-adds; x [B,T,C], w [C,n]."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        n = w.shape[1]
        y = x * w[:, n - 1]
        for d in range(1, n):
            y[:, d:].addcmul_(x[:, :-d], w[:, n - 1 - d])
        return y

    @staticmethod
    def backward(ctx, gy):
        x, w = ctx.saved_tensors
        n = w.shape[1]
        gx, gw = gy * w[:, n - 1], torch.empty_like(w)
        gw[:, n - 1] = (gy * x).sum((0, 1))
        for d in range(1, n):
            gx[:, :-d].addcmul_(gy[:, d:], w[:, n - 1 - d])
            gw[:, n - 1 - d] = (gy[:, d:] * x[:, :-d]).sum((0, 1))
        return gx, gw


def delta_rule(q, k, v, g, beta, C):
    """Chunked gated delta rule. q,k [B,H,T,K] (k of length 1, q scaled), v [B,H,T,V], g,beta [B,H,T]; C divides T."""
    B, H, T, K = k.shape
    V, N = v.shape[-1], T // C
    q, k, v = (x.reshape(B * H * N, C, -1) for x in (q, k, v))
    g, beta = g.reshape(-1, C), beta.reshape(-1, C, 1)
    gc = g.cumsum(-1)
    eg = gc.exp().unsqueeze(-1)
    future = torch.ones(C, C, dtype=torch.bool).triu(1)
    decay = (gc.unsqueeze(-1) - gc.unsqueeze(-2)).masked_fill(future, float("-inf")).exp()
    kb, kt = k * beta, k.transpose(1, 2)
    A, P = torch.bmm(kb, kt) * decay, torch.bmm(q, kt) * decay
    U = torch.linalg.solve_triangular(A, torch.cat([v * beta, kb * eg], -1), upper=False, unitriangular=True)
    u, w = U[..., :V], U[..., V:]
    q = q * eg
    k = (k * (gc[:, -1:] - gc).exp().unsqueeze(-1)).transpose(1, 2)
    end = eg[:, -1:, :]
    S, out = q.new_zeros(B * H, K, V), []
    # unbind and not indexing: the backward of an index writes a zero tensor of full size for each chunk.
    parts = (t.view(B * H, N, *t.shape[1:]).unbind(1) for t in (u.contiguous(), w.contiguous(), q, P, k.contiguous(), end.contiguous()))
    for ui, wi, qi, Pi, ki, ei in zip(*parts):
        new = torch.baddbmm(ui, wi, S, alpha=-1)
        out.append(torch.baddbmm(torch.bmm(qi, S), Pi, new))
        S = torch.baddbmm(S * ei, ki, new)
    return torch.stack(out, 1).view(B, H, T, V)


class DeltaNet(nn.Module):
    CHUNK = 16

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.kd = c.linear_num_key_heads * c.linear_key_head_dim
        self.vd = c.linear_num_value_heads * c.linear_value_head_dim
        channels, H = 2 * self.kd + self.vd, c.linear_num_value_heads
        self.conv1d = nn.Conv1d(channels, channels, c.linear_conv_kernel_dim, groups=channels, bias=False)
        # Memory of heads from about 10 to 1,000 tokens; transformers' placeholder dt_bias = 1 forgets within 2.
        dt = torch.exp(torch.linspace(math.log(1e-3), math.log(1e-1), H))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))
        self.A_log = nn.Parameter(torch.log(torch.linspace(1, 8, H)))
        self.norm = GatedNorm(c.linear_value_head_dim, c.rms_norm_eps)
        self.in_proj_qkv, self.in_proj_z = Linear(c.hidden_size, channels), Linear(c.hidden_size, self.vd)
        self.in_proj_b, self.in_proj_a = Linear(c.hidden_size, H), Linear(c.hidden_size, H)
        self.out_proj = Linear(self.vd, c.hidden_size)

    def heads(self, x, qkv):
        c, (B, T, _) = self.c, x.shape
        q, k, v = qkv.split([self.kd, self.kd, self.vd], -1)
        split = lambda t, h: t.view(B, T, h, -1).transpose(1, 2).contiguous()
        q, k, v = split(q, c.linear_num_key_heads), split(k, c.linear_num_key_heads), split(v, c.linear_num_value_heads)
        q = Normalise.apply(q, None, 1e-6, False) * c.linear_key_head_dim ** -0.5
        k = Normalise.apply(k, None, 1e-6, False)
        beta = self.in_proj_b(x).sigmoid().transpose(1, 2)
        g = (-self.A_log.exp() * F.softplus(self.in_proj_a(x) + self.dt_bias)).transpose(1, 2)
        return q, k, v, g, beta

    def finish(self, o, x):
        B, T, _ = x.shape
        z = self.in_proj_z(x).view(B, T, -1, self.c.linear_value_head_dim)
        return self.out_proj(self.norm(o.transpose(1, 2), z).reshape(B, T, -1))

    def forward(self, x, rope):
        y = CausalConv.apply(self.in_proj_qkv(x), self.conv1d.weight[:, 0])
        return self.finish(delta_rule(*self.heads(x, F.silu(y)), self.CHUNK), x)

    def step(self, x, rope, state):
        y, w = self.in_proj_qkv(x), self.conv1d.weight[:, 0]
        if not state:
            state["conv"] = y.new_zeros(y.shape[0], w.shape[1] - 1, y.shape[2])
            state["S"] = y.new_zeros(y.shape[0], self.c.linear_num_value_heads, self.c.linear_key_head_dim, self.c.linear_value_head_dim)
        window = torch.cat([state["conv"], y], 1)
        state["conv"] = window[:, 1:]
        q, k, v, g, beta = self.heads(x, F.silu((window * w.T).sum(1, keepdim=True)))
        S = state["S"] * g.exp().unsqueeze(-1)
        S = S + k.transpose(-1, -2) @ ((v - k @ S) * beta.unsqueeze(-1))
        state["S"] = S
        return self.finish(q @ S, x)


def rotate(x, rope):
    cos, sin = rope
    r = cos.shape[-1]
    a, b = x[..., :r], x[..., r:]
    turned = torch.cat([-a[..., r // 2:], a[..., :r // 2]], -1)
    return torch.cat([a * cos + turned * sin, b], -1)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, d = c, c.head_dim
        self.q_proj = Linear(c.hidden_size, c.num_attention_heads * d * 2)
        self.k_proj = Linear(c.hidden_size, c.num_key_value_heads * d)
        self.v_proj = Linear(c.hidden_size, c.num_key_value_heads * d)
        self.o_proj = Linear(c.num_attention_heads * d, c.hidden_size)
        self.q_norm, self.k_norm = RMSNorm(d, c.rms_norm_eps), RMSNorm(d, c.rms_norm_eps)

    def qkv(self, x, rope):
        (B, T, _), d = x.shape, self.c.head_dim
        q, gate = self.q_proj(x).view(B, T, -1, 2 * d).chunk(2, -1)
        q = rotate(self.q_norm(q).transpose(1, 2), rope)
        k = rotate(self.k_norm(self.k_proj(x).view(B, T, -1, d)).transpose(1, 2), rope)
        r = q.shape[1] // k.shape[1]
        v = self.v_proj(x).view(B, T, -1, d).transpose(1, 2)
        return q, k.repeat_interleave(r, 1), v.repeat_interleave(r, 1), gate

    def out(self, o, gate):
        B, T = gate.shape[:2]
        return self.o_proj(o.transpose(1, 2).reshape(B, T, -1) * gate.reshape(B, T, -1).sigmoid())

    def forward(self, x, rope):
        q, k, v, gate = self.qkv(x, rope)
        attention = CausalAttention.apply if FAST["bf16"] else partial(F.scaled_dot_product_attention, is_causal=True)
        return self.out(attention(q, k, v), gate)

    def step(self, x, rope, state):
        q, k, v, gate = self.qkv(x, rope)
        n = state.setdefault("n", 0)
        if n == 0:
            state["k"] = k.new_zeros(*k.shape[:2], state["room"], k.shape[-1])
            state["v"] = torch.zeros_like(state["k"])
        state["k"][:, :, n], state["v"][:, :, n], state["n"] = k[:, :, 0], v[:, :, 0], n + 1
        return self.out(F.scaled_dot_product_attention(q, state["k"][:, :, :n + 1], state["v"][:, :, :n + 1]), gate)


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj, self.up_proj = Linear(c.hidden_size, c.intermediate_size), Linear(c.hidden_size, c.intermediate_size)
        self.down_proj = Linear(c.intermediate_size, c.hidden_size)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c, kind):
        super().__init__()
        self.delta = kind == "linear_attention"
        if self.delta:
            self.linear_attn = DeltaNet(c)
        else:
            self.self_attn = Attention(c)
        self.mlp = MLP(c)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps), RMSNorm(c.hidden_size, c.rms_norm_eps)

    @property
    def mixer(self):
        return self.linear_attn if self.delta else self.self_attn

    def forward(self, x, rope):
        x = x + self.mixer(self.input_layernorm(x), rope)
        return x + self.mlp(self.post_attention_layernorm(x))

    def step(self, x, rope, state):
        x = x + self.mixer.step(self.input_layernorm(x), rope, state)
        return x + self.mlp(self.post_attention_layernorm(x))


class Trunk(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList([Layer(c, k) for k in c.layer_types])
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, self.model = c, Trunk(c)
        n = int(c.head_dim * c.partial_rotary_factor)
        self.frequencies = 1.0 / (c.rope_theta ** (torch.arange(0, n, 2).float() / n))

    def rope(self, positions):
        f = positions.float()[:, None] * self.frequencies
        f = torch.cat([f, f], -1)
        return f.cos(), f.sin()

    def hidden(self, ids):
        T, C = ids.shape[1], DeltaNet.CHUNK
        pad = -T % C
        if pad:
            ids = F.pad(ids, (0, pad))
        rope, x = self.rope(torch.arange(T + pad)), self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, rope)
        return self.model.norm(x)[:, :T]

    def forward(self, ids):
        return F.linear(self.hidden(ids), self.model.embed_tokens.weight)

    def loss(self, ids, weight):
        """Weighted next-token loss; logits only where weight > 0. -> (loss, mean loss and accuracy where weight is 1)"""
        h, target, weight = self.hidden(ids)[:, :-1], ids[:, 1:], weight[:, 1:]
        on = weight > 0
        logits, target, weight = linear(h[on], self.model.embed_tokens.weight), target[on], weight[on]
        with torch.no_grad():
            main = weight >= 1
            right = (logits.argmax(-1) == target)[main].float().mean().item()
        ce = CrossEntropy.apply(logits, target)
        plain = ce.detach()[main].mean().item()
        return (ce * weight).sum() / weight.sum(), plain, right

    def new_state(self, room):
        return [{} if layer.delta else {"room": room} for layer in self.model.layers]

    @torch.no_grad()
    def step(self, token, position, state):
        """One token for each of B conversations: token [B] -> logits [B, vocabulary]."""
        x, rope = self.model.embed_tokens(token)[:, None], self.rope(torch.tensor([position]))
        for layer, s in zip(self.model.layers, state):
            x = layer.step(x, rope, s)
        return F.linear(self.model.norm(x)[:, 0], self.model.embed_tokens.weight)


@torch.no_grad()
def initialise(m, seed):
    """A start that copies already: names of several tokens come out right in 99% before any training (plain starts need
    millions of tokens to find this, and one that matches a single token confuses names that share a piece).

    Embeddings fill the first dimensions of the stream, and dimension 0 is constant. Two heads of the first delta layer pass
    on P x of the token before, and of the one before that, into two slots, the last dimensions. Attention heads then look
    for the place where the same two tokens were read last (query: P x now and the first slot; key: both slots) and give the
    token found there; in later layers half of them look for the same token instead. Rotated dimensions of heads stay out.
    """
    g = torch.Generator().manual_seed(seed)
    c, d = m.c, m.c.hidden_size
    slot = c.linear_value_head_dim
    e, taps = d - 2 * slot, c.linear_conv_kernel_dim
    half = (c.head_dim - int(c.head_dim * c.partial_rotary_factor)) // 2
    rotated = c.head_dim - 2 * half
    constant, offset, gain, noise = 4.0, 1.5, 3.0, 0.1

    def random(*shape):
        return torch.randn(*shape, generator=g)

    def projection(n):
        """n orthogonal rows that read the embedding's dimensions."""
        out = torch.zeros(n, d)
        out[:, 1:e] = torch.linalg.qr(random(e - 1, e - 1))[0][:n]
        return out

    for name, p in m.named_parameters():
        if p.ndim == 2:
            out = any(x in name for x in ("o_proj", "out_proj", "down_proj"))
            p.copy_(random(*p.shape) * p.shape[1] ** -0.5 * (0.3 if out else 0.8))
    E = m.model.embed_tokens.weight
    E.copy_(random(*E.shape))
    E[:, e:] *= 0.1
    E[:, 0] = constant
    m.model.norm.weight.fill_(0.1 - 1)     # large embeddings, and still moderate logits
    P, attention = projection(slot), 0
    for number, layer in enumerate(m.model.layers):
        if layer.delta:
            a = layer.linear_attn
            W, conv = a.in_proj_qkv.weight, torch.zeros(2 * a.kd + a.vd, taps)
            conv[:, taps - 1] = 1
            W[a.kd:2 * a.kd] = W[:a.kd]
            if number == 0:
                for h in range(2):
                    v, o = slice(2 * a.kd + h * slot, 2 * a.kd + (h + 1) * slot), slice(h * slot, (h + 1) * slot)
                    W[v], conv[v] = P, 0
                    W[v, 0] = offset / constant            # keeps silu on its straight part
                    conv[v, taps - 2 - h] = 1
                    a.in_proj_z.weight[o] = 0
                    a.in_proj_z.weight[o, 0] = 1.3 / constant   # silu(1.3) is about 1: an open gate
                    a.out_proj.weight[:, o] = 0
                    a.out_proj.weight[e + h * slot:e + (h + 1) * slot, o] = torch.eye(slot)
                    a.in_proj_a.weight[h], a.in_proj_b.weight[h] = 0, 0
                    a.dt_bias[h], a.A_log[h] = 3.0, math.log(8)    # no memory beyond the token itself
            else:
                conv[a.kd:2 * a.kd] = 0
                conv[a.kd:2 * a.kd, taps - 2] = 1
            a.conv1d.weight.copy_((conv + 0.02 * random(*conv.shape)).unsqueeze(1))
        else:
            a, h, kv = layer.self_attn, c.head_dim, c.num_key_value_heads
            r = c.num_attention_heads // kv
            Q, O = a.q_proj.weight.view(c.num_attention_heads, 2 * h, d), a.o_proj.weight
            for j in range(kv):
                K, V = a.k_proj.weight[j * h:(j + 1) * h], a.v_proj.weight[j * h:(j + 1) * h]
                K *= noise
                V *= noise
                same = projection(2 * half) if attention > 0 and j % 2 == 1 else None
                if same is not None:
                    K[rotated:] += same
                else:
                    K[rotated:rotated + half, e:e + half] += torch.eye(half)
                    K[rotated + half:, e + slot:e + slot + half] += torch.eye(half)
                low = j * h
                width = max(0, min(h, e - low))
                V[:width, low:low + width] += torch.eye(width)
                V[0, 0] *= float(low > 0)
                for i in range(j * r, j * r + r):
                    Q[i, :h] *= noise
                    if same is not None:
                        Q[i, rotated:h] += same
                    else:
                        Q[i, rotated:rotated + half] += P[:half]
                        Q[i, rotated + half:h, e:e + half] += torch.eye(half)
                    O[:, i * h:(i + 1) * h] *= noise
                    O[low:low + width, i * h:i * h + width] += gain * (2.0 if attention == 0 else 0.5) / r * torch.eye(width)
            a.q_norm.weight.fill_(1.0)
            a.k_norm.weight.fill_(1.0)
            attention += 1
        layer.mlp.down_proj.weight.mul_(0.3)
    # The slots' mean over random tokens is taken out of queries and keys through the constant dimension.
    ids = torch.randint(0, c.vocab_size, (8, 64), generator=g)
    x = m.model.layers[0](m.model.embed_tokens(ids), m.rope(torch.arange(64)))
    for layer in m.model.layers:
        if not layer.delta:
            mean = layer.input_layernorm(x).mean((0, 1))
            for w in (layer.self_attn.k_proj.weight, layer.self_attn.q_proj.weight):
                w[:, 0] -= (w[:, e:] @ mean[e:]) / mean[0]
