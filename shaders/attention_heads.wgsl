// Causal attention of the four query heads that share a key head, at one token, with the output gate:
//     s_p = q · k_p,  p <= position;  o = Σ_p softmax(s)_p · v_p;  y = o · sigmoid(gate)
// As `attention.wgsl`, for software adapters: they load a word lane by lane, so each word of keys and values serves four
// heads, and each word of a query two positions. The softmax runs along, 128 positions at a time.
//
// Dispatch: (kv_heads, tokens, 1) workgroups of 64. heads = 4 · kv_heads.
// Burn twin: `FullAttention` of the reference.
override HEAD_DIM: u32 = 256u;

struct Shape {
    stride: u32,   // length of a row of the projections
    heads: u32,
    kv_heads: u32,
    unused: u32,
}

@group(0) @binding(0) var<storage, read> projections: array<f32>;      // [tokens, stride]: heads × (query | gate), …
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;    // [tokens, heads, HEAD_DIM / 4], scaled
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;       // [positions, kv_heads, HEAD_DIM / 4]
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;     // [positions, kv_heads, HEAD_DIM / 4]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;    // [tokens, heads, HEAD_DIM / 4]
@group(0) @binding(5) var<uniform> shape: Shape;
@group(0) @binding(6) var<uniform> control: Control;

const LOWEST: f32 = -3.4e38;
var<workgroup> query: array<vec4<f32>, 256>;   // [4, HEAD_DIM / 4], HEAD_DIM <= 256
var<workgroup> scores: array<vec4<f32>, 128>;  // of the four heads, as all that follows
var<workgroup> shares: array<vec4<f32>, 128>;

fn total_of(v: vec4<f32>) -> f32 {
    return v.x + v.y + v.z + v.w;
}

fn gated(sum: vec4<f32>, head: u32, token: u32, word: u32) {
    let at = token * shape.stride + (2u * head + 1u) * HEAD_DIM + 4u * word;
    let gate = vec4<f32>(projections[at], projections[at + 1u], projections[at + 2u], projections[at + 3u]);
    y[(token * shape.heads + head) * (HEAD_DIM / 4u) + word] = sum / (1.0 + exp(-gate));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    // A verify pass is dispatched for as many tokens as it may have.
    if control.stopped != 0u || group.y >= control.count {
        return;
    }
    let words = HEAD_DIM / 4u;
    let kv_head = group.x;
    let token = group.y;
    let positions = control.position + token + 1u;
    for (var i = local; i < 4u * words; i += 64u) {
        query[i] = queries[(token * shape.heads + 4u * kv_head) * words + i];
    }
    var highest = vec4<f32>(LOWEST);
    var total = vec4<f32>(0.0);
    var sum_0 = vec4<f32>(0.0);
    var sum_1 = vec4<f32>(0.0);
    var sum_2 = vec4<f32>(0.0);
    var sum_3 = vec4<f32>(0.0);
    for (var first = 0u; first < positions; first += 128u) {
        let count = min(128u, positions - first);
        workgroupBarrier();
        // Two positions an invocation; past the end it computes the last one again and does not count it.
        let row_a = (min(first + local, positions - 1u) * shape.kv_heads + kv_head) * words;
        let row_b = (min(first + local + 64u, positions - 1u) * shape.kv_heads + kv_head) * words;
        var a_0 = vec4<f32>(0.0);
        var a_1 = vec4<f32>(0.0);
        var a_2 = vec4<f32>(0.0);
        var a_3 = vec4<f32>(0.0);
        var b_0 = vec4<f32>(0.0);
        var b_1 = vec4<f32>(0.0);
        var b_2 = vec4<f32>(0.0);
        var b_3 = vec4<f32>(0.0);
        for (var i = 0u; i < words; i++) {
            let a = keys[row_a + i];
            let b = keys[row_b + i];
            let q_0 = query[i];
            let q_1 = query[words + i];
            let q_2 = query[2u * words + i];
            let q_3 = query[3u * words + i];
            a_0 += q_0 * a;
            a_1 += q_1 * a;
            a_2 += q_2 * a;
            a_3 += q_3 * a;
            b_0 += q_0 * b;
            b_1 += q_1 * b;
            b_2 += q_2 * b;
            b_3 += q_3 * b;
        }
        let lowest = vec4<f32>(LOWEST);
        let scored_a = vec4<f32>(total_of(a_0), total_of(a_1), total_of(a_2), total_of(a_3));
        let scored_b = vec4<f32>(total_of(b_0), total_of(b_1), total_of(b_2), total_of(b_3));
        let score_a = select(lowest, scored_a, local < count);
        let score_b = select(lowest, scored_b, local + 64u < count);
        scores[local] = score_a;
        scores[local + 64u] = score_b;
        workgroupBarrier();
        var new_highest = highest;
        for (var i = 0u; i < count; i++) {
            new_highest = max(new_highest, scores[i]);
        }
        shares[local] = exp(score_a - new_highest);
        shares[local + 64u] = exp(score_b - new_highest);
        workgroupBarrier();
        let fade = exp(highest - new_highest);
        highest = new_highest;
        total *= fade;
        sum_0 *= fade.x;
        sum_1 *= fade.y;
        sum_2 *= fade.z;
        sum_3 *= fade.w;
        for (var i = 0u; i < count; i++) {
            let share = shares[i];
            total += share;
            if local < words {
                let value = values[((first + i) * shape.kv_heads + kv_head) * words + local];
                sum_0 += share.x * value;
                sum_1 += share.y * value;
                sum_2 += share.z * value;
                sum_3 += share.w * value;
            }
        }
    }
    if local < words {
        let head = 4u * kv_head;
        gated(sum_0 / total.x, head, token, local);
        gated(sum_1 / total.y, head + 1u, token, local);
        gated(sum_2 / total.z, head + 2u, token, local);
        gated(sum_3 / total.w, head + 3u, token, local);
    }
}
