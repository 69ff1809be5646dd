// Before attention: norm and rotation of the queries and keys, and the new rows of the cache.
//     q' = rope(q · rsqrt(mean(q²) + eps) · q_norm) / √HEAD_DIM,   k' likewise without the last factor
//     rope: (x_i, x_{i + R/2}) → (x_i cos − x_{i+R/2} sin, x_{i+R/2} cos + x_i sin), i < R/2; the rest passes through
// The cosines and sines come from a table made on the host in f64: shader functions lose digits at large angles.
//
// Dispatch: (heads + kv_heads, tokens, 1) workgroups of 64; the first `heads` do a query head each, the others a key
// head and its values.
// Burn twin: `FullAttention` of the reference.
override HEAD_DIM: u32 = 256u;
override ROPE_DIM: u32 = 64u;

struct Shape {
    stride: u32,   // length of a row of the projections
    heads: u32,
    kv_heads: u32,
    eps: f32,
}

// [tokens, stride]: heads × (query | gate), then keys, then values
@group(0) @binding(0) var<storage, read> projections: array<f32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;           // q_norm [HEAD_DIM] | k_norm [HEAD_DIM]
@group(0) @binding(2) var<storage, read> rotation: array<vec2<f32>>;  // [positions, ROPE_DIM / 2]: cos, sin
@group(0) @binding(3) var<storage, read_write> queries: array<f32>;   // [tokens, heads, HEAD_DIM]
@group(0) @binding(4) var<storage, read_write> keys: array<f32>;      // [positions, kv_heads, HEAD_DIM]
@group(0) @binding(5) var<storage, read_write> values: array<f32>;    // [positions, kv_heads, HEAD_DIM]
@group(0) @binding(6) var<uniform> shape: Shape;
@group(0) @binding(7) var<uniform> control: Control;

var<workgroup> squares: array<f32, 64>;
var<workgroup> normed: array<f32, HEAD_DIM>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    // A verify pass is dispatched for as many tokens as it may have.
    if control.stopped != 0u || group.y >= control.count {
        return;
    }
    let token = group.y;
    let position = control.position + token;
    let is_query = group.x < shape.heads;
    let kv_head = group.x - shape.heads; // used for keys only
    let row = token * shape.stride;
    let key_first = row + 2u * shape.heads * HEAD_DIM;
    let first = select(key_first + kv_head * HEAD_DIM, row + 2u * group.x * HEAD_DIM, is_query);

    var square = 0.0;
    for (var i = local; i < HEAD_DIM; i += 64u) {
        let v = projections[first + i];
        square += v * v;
    }
    squares[local] = square;
    workgroupBarrier();
    square = 0.0;
    for (var i = 0u; i < 64u; i++) {
        square += squares[i];
    }
    let root = inverseSqrt(square / f32(HEAD_DIM) + shape.eps);
    let norm_first = select(HEAD_DIM, 0u, is_query);
    for (var i = local; i < HEAD_DIM; i += 64u) {
        normed[i] = projections[first + i] * root * norms[norm_first + i];
    }
    workgroupBarrier();

    let half = ROPE_DIM / 2u;
    let cache_first = (position * shape.kv_heads + kv_head) * HEAD_DIM;
    for (var i = local; i < HEAD_DIM; i += 64u) {
        var v = normed[i];
        if i < half {
            let turn = rotation[position * half + i];
            v = v * turn.x - normed[i + half] * turn.y;
        } else if i < ROPE_DIM {
            let turn = rotation[position * half + i - half];
            v = v * turn.x + normed[i - half] * turn.y;
        }
        if is_query {
            queries[(token * shape.heads + group.x) * HEAD_DIM + i] = v * inverseSqrt(f32(HEAD_DIM));
        } else {
            keys[cache_first + i] = v;
            values[cache_first + i] = projections[key_first + (shape.kv_heads + kv_head) * HEAD_DIM + i];
        }
    }
}
