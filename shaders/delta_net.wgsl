// Gated delta net, everything between the input projections and the output projection, token by token:
//     u[c]  = silu(Σ_j conv[c, j] · qkv[t − 3 + j, c])                  (depthwise causal convolution of 4 taps)
//     q̂ = q · rsqrt(Σ q² + ε) / √DK,  k̂ = k · rsqrt(Σ k² + ε)           (per head)
//     β = sigmoid(b),  g = exp(a_log · softplus(a + dt_bias))           (a_log holds −exp(A_log))
//     S ← g · S;  δ = β · (v − Sᵀ k̂);  S ← S + k̂ δᵀ;  o = Sᵀ q̂
//     y = o · rsqrt(mean(o²) + eps) · norm · silu(z)
// The output reads the updated state; since o = g · S_oldᵀ q̂ + (k̂ · q̂) · δ, one look at the old state serves both
// products, and the norms of q and k come out of the same look.
//
// VERIFY: the tokens of the pass are guesses, of which the sampler will keep some. So the state after them is not kept;
// instead `projections` remembers this pass's rows and those of the pass before, in the two halves that control.flip
// tells apart, and the next pass begins with the control.replay tokens of the last one that turned out right. The state
// after those is what is kept.
//
// Dispatch: (value heads, 1, 1) workgroups of WORKGROUP invocations, one workgroup a head. An invocation keeps
// DK · DV / WORKGROUP numbers of one column of S in registers over all tokens of the pass: column local % DV, rows
// from (local / DV) · PART. The convolution state is double-buffered by control.flip, because heads that share a
// key head read channels that only one of them may write.
// Burn twin: `GatedDeltaNet` of the reference.
override DK: u32 = 128u;
override DV: u32 = 128u;
override WORKGROUP: u32 = 256u;
override VERIFY: bool = false;

struct Shape {
    stride: u32,      // length of a row of the projections
    z_first: u32,     // where z starts in it; qkv starts at 0
    b_first: u32,
    a_first: u32,
    key_heads: u32,
    value_heads: u32, // value head h uses key head h % key_heads (GGUF order)
    eps: f32,
    half: u32,        // VERIFY: length of a half of the projections
}

@group(0) @binding(0) var<storage, read> projections: array<f32>;          // [tokens, stride]: q | k | v, z, b, a;
                                                                           // VERIFY: [2, tokens, stride]
@group(0) @binding(1) var<storage, read> conv: array<vec4<f32>>;           // [channels]: 4 taps
@group(0) @binding(2) var<storage, read> head_values: array<f32>;          // a_log [heads] | dt_bias [heads] | norm [DV]
@group(0) @binding(3) var<storage, read_write> conv_state: array<f32>;     // [2, 3, channels]
@group(0) @binding(4) var<storage, read_write> state: array<f32>;          // [heads, DK, DV]
@group(0) @binding(5) var<storage, read_write> y: array<f32>;              // [tokens, heads · DV]
@group(0) @binding(6) var<uniform> shape: Shape;
@group(0) @binding(7) var<uniform> control: Control;

const MOST_PART: u32 = 64u;
const L2_EPS: f32 = 1e-6;
var<private> column: array<f32, MOST_PART>;
var<workgroup> q: array<f32, DK>;
var<workgroup> k: array<f32, DK>;
var<workgroup> v: array<f32, DV>;
var<workgroup> products: array<vec2<f32>, WORKGROUP>; // Sᵀk, Sᵀq of each invocation's part
var<workgroup> norms: array<vec4<f32>, WORKGROUP>;    // Σ k², Σ q², Σ k·q of each part
var<workgroup> outputs: array<f32, DV>;

fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }
fn silu(x: f32) -> f32 { return x / (1.0 + exp(-x)); }
fn softplus(x: f32) -> f32 { return select(log(1.0 + exp(x)), x, x > 20.0); }

// Tokens are counted from the first that the kept state has not seen: VERIFY replays some before those of this pass.
fn replayed() -> u32 {
    if VERIFY {
        return control.replay;
    }
    return 0u;
}

// Where the projections of a token start.
fn row_of(token: u32) -> u32 {
    if VERIFY {
        let replay = control.replay;
        let here = control.flip * shape.half + (token - replay) * shape.stride;
        return select(here, (1u - control.flip) * shape.half + token * shape.stride, token < replay);
    }
    return token * shape.stride;
}

// qkv of a channel at a token; tokens −3..−1 come from the convolution state.
fn tap(token: i32, channel: u32, channels: u32) -> f32 {
    if token >= 0 {
        return projections[row_of(u32(token)) + channel];
    }
    return conv_state[(control.flip * 3u + u32(token + 3)) * channels + channel];
}

fn convolve(token: u32, channel: u32, channels: u32) -> f32 {
    let t = i32(token);
    let w = conv[channel];
    return silu(w.x * tap(t - 3, channel, channels) + w.y * tap(t - 2, channel, channels)
        + w.z * tap(t - 1, channel, channels) + w.w * tap(t, channel, channels));
}

// Keep the last three inputs of a channel before token `last` for the next pass.
fn save_taps(last: i32, channel: u32, channels: u32) {
    for (var j = 0u; j < 3u; j++) {
        conv_state[((1u - control.flip) * 3u + j) * channels + channel] = tap(last - 3 + i32(j), channel, channels);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if control.stopped != 0u {
        return;
    }
    let head = group.x;
    let key_head = head % shape.key_heads;
    let key_channels = shape.key_heads * DK;
    let channels = 2u * key_channels + shape.value_heads * DV;
    let q_first = key_head * DK;
    let k_first = key_channels + q_first;
    let v_first = 2u * key_channels + head * DV;

    let parts = WORKGROUP / DV;
    let part = DK / parts;
    let c = local % DV;
    let row_first = (local / DV) * part;
    let state_first = (head * DK + row_first) * DV + c;
    for (var i = 0u; i < part; i++) {
        column[i] = state[state_first + i * DV];
    }

    let a_log = head_values[head];
    let dt_bias = head_values[shape.value_heads + head];
    let norm = head_values[2u * shape.value_heads + c];

    let replay = replayed();
    let end = replay + control.count;
    // The state that is kept is that before this token.
    let kept = select(end, replay, VERIFY);
    for (var t = 0u; t < end; t++) {
        if VERIFY && t == kept {
            for (var i = 0u; i < part; i++) {
                state[state_first + i * DV] = column[i];
            }
        }
        for (var i = local; i < 2u * DK + DV; i += WORKGROUP) {
            if i < DK {
                q[i] = convolve(t, q_first + i, channels);
            } else if i < 2u * DK {
                k[i - DK] = convolve(t, k_first + i - DK, channels);
            } else {
                v[i - 2u * DK] = convolve(t, v_first + i - 2u * DK, channels);
            }
        }
        workgroupBarrier();

        var product = vec2<f32>(0.0);
        var square = vec3<f32>(0.0);
        for (var i = 0u; i < part; i++) {
            let kq = vec2<f32>(k[row_first + i], q[row_first + i]);
            product += column[i] * kq;
            square += vec3<f32>(kq.x * kq.x, kq.y * kq.y, kq.x * kq.y);
        }
        products[local] = product;
        norms[local] = vec4<f32>(square, 0.0);
        workgroupBarrier();

        product = vec2<f32>(0.0);
        square = vec3<f32>(0.0);
        for (var p = 0u; p < parts; p++) {
            product += products[p * DV + c];
            square += norms[p * DV + c].xyz;
        }
        let row = row_of(t);
        let k_root = inverseSqrt(square.x + L2_EPS);
        let q_root = inverseSqrt(square.y + L2_EPS) * inverseSqrt(f32(DK));
        let beta = sigmoid(projections[row + shape.b_first + head]);
        let decay = exp(a_log * softplus(projections[row + shape.a_first + head] + dt_bias));
        let delta = beta * (v[c] - decay * k_root * product.x);
        let output = decay * q_root * product.y + square.z * k_root * q_root * delta;
        for (var i = 0u; i < part; i++) {
            column[i] = decay * column[i] + k_root * k[row_first + i] * delta;
        }
        if local < DV {
            outputs[c] = output;
        }
        workgroupBarrier();

        if local < DV {
            var mean = 0.0;
            for (var i = 0u; i < DV; i++) {
                mean += outputs[i] * outputs[i];
            }
            let root = inverseSqrt(mean / f32(DV) + shape.eps);
            let z = projections[row + shape.z_first + head * DV + c];
            if t >= replay {
                y[((t - replay) * shape.value_heads + head) * DV + c] = output * root * norm * silu(z);
            }
        }
        // The next token's writes to q, k, v come after every read of them: the barrier above this point.
        // `outputs` is written again only after two more barriers.
    }

    if kept == end {
        for (var i = 0u; i < part; i++) {
            state[state_first + i * DV] = column[i];
        }
    }
    if head < shape.key_heads {
        for (var i = local; i < DK; i += WORKGROUP) {
            save_taps(i32(kept), q_first + i, channels);
            save_taps(i32(kept), k_first + i, channels);
        }
    }
    for (var i = local; i < DV; i += WORKGROUP) {
        save_taps(i32(kept), v_first + i, channels);
    }
}
