// Causal attention of one query head at one token, with the output gate:
//     s_p = q · k_p,  p <= position;  o = Σ_p softmax(s)_p · v_p;  y = o · sigmoid(gate)
// The softmax runs along (running maximum and sum), 64 positions at a time: first each invocation scores a position,
// then each gathers four of the output's dimensions over these positions.
//
// One token's heads are too few workgroups for a GPU when the sequence is long. With SPAN a workgroup takes so many
// positions alone, and `attention_join.wgsl` puts together what it leaves: Σ exp(s_p − max) · v_p, max, Σ exp(s_p − max).
//
// Dispatch: (heads, tokens, 1) workgroups of 64, or (heads, tokens, spans) with SPAN. Query head h reads the cache of
// head h / (heads / kv_heads).
// Burn twin: `FullAttention` of the reference.
override HEAD_DIM: u32 = 256u;
override SPAN: u32 = 0u; // 0: all positions, a multiple of 64 otherwise

struct Shape {
    stride: u32,   // length of a row of the projections
    heads: u32,
    kv_heads: u32,
    spans: u32,    // most spans of a sequence; with SPAN only
}

@group(0) @binding(0) var<storage, read> projections: array<f32>;      // [tokens, stride]: heads × (query | gate), …
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;    // [tokens, heads, HEAD_DIM / 4], scaled
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;       // [positions, kv_heads, HEAD_DIM / 4]
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;     // [positions, kv_heads, HEAD_DIM / 4]
// [tokens, heads, HEAD_DIM / 4]; with SPAN [tokens, heads, spans, HEAD_DIM / 4 + 1]: sum, then (max, total, 0, 0)
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> shape: Shape;
@group(0) @binding(6) var<uniform> control: Control;

const MOST_WORDS: u32 = 64u; // HEAD_DIM <= 256
var<workgroup> query: array<vec4<f32>, MOST_WORDS>;
var<workgroup> scores: array<f32, 64>;
var<workgroup> shares: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    // A verify pass is dispatched for as many tokens as it may have.
    if control.stopped != 0u || group.y >= control.count {
        return;
    }
    let words = HEAD_DIM / 4u;
    let head = group.x;
    let token = group.y;
    var begin = 0u;
    var positions = control.position + token + 1u;
    if SPAN > 0u {
        begin = group.z * SPAN;
        // Dispatched for as many positions as the last token of the pass may see.
        if begin >= positions {
            return;
        }
        positions = min(positions, begin + SPAN);
    }
    let kv_head = head / (shape.heads / shape.kv_heads);
    let out = (token * shape.heads + head) * words + local;
    if local < words {
        query[local] = queries[out];
    }
    var highest = -3.4e38;
    var total = 0.0;
    var sum = vec4<f32>(0.0);
    for (var first = begin; first < positions; first += 64u) {
        let count = min(64u, positions - first);
        workgroupBarrier();
        var score = -3.4e38;
        if local < count {
            let row = ((first + local) * shape.kv_heads + kv_head) * words;
            var products = vec4<f32>(0.0);
            for (var i = 0u; i < words; i++) {
                products += query[i] * keys[row + i];
            }
            score = products.x + products.y + products.z + products.w;
        }
        scores[local] = score;
        workgroupBarrier();
        var new_highest = highest;
        for (var i = 0u; i < count; i++) {
            new_highest = max(new_highest, scores[i]);
        }
        shares[local] = select(0.0, exp(score - new_highest), local < count);
        workgroupBarrier();
        let fade = exp(highest - new_highest);
        highest = new_highest;
        total *= fade;
        sum *= fade;
        for (var i = 0u; i < count; i++) {
            let share = shares[i];
            total += share;
            if local < words {
                sum += share * values[((first + i) * shape.kv_heads + kv_head) * words + local];
            }
        }
    }
    if SPAN > 0u {
        let part = ((token * shape.heads + head) * shape.spans + group.z) * (words + 1u);
        if local < words {
            y[part + local] = sum;
        }
        if local == 0u {
            y[part + words] = vec4<f32>(highest, total, 0.0, 0.0);
        }
        return;
    }
    if local < words {
        let at = token * shape.stride + (2u * head + 1u) * HEAD_DIM + 4u * local;
        let gate = vec4<f32>(projections[at], projections[at + 1u], projections[at + 2u], projections[at + 3u]);
        y[out] = sum / total / (1.0 + exp(-gate));
    }
}
