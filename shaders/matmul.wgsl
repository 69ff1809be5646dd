// Matrix-matrix product of prefill, many tokens:
//     y[t, first + r] = Σ_k W[r, k] · x[t, k]
// FINISH 0: store; 1: add to what y holds (the residual stream).
//
// Dispatch: (ceil(rows / 32), ceil(tokens / 32), 1) workgroups of 64; a workgroup computes 32 rows × 32 tokens, an
// invocation 4 × 4 of them. Each step brings 64 columns through workgroup memory: 64 items of weights, one an
// invocation, dequantised once for 32 tokens. 16 KiB of workgroup memory, the limit of plain WebGPU.
// Burn twin: `Linear` of the reference.
override FINISH: u32 = 0u;

struct Shape {
    items: u32,       // K / 32
    rows: u32,
    first: u32,       // where a token's results start in its row of y
    stride: u32,      // length of a row of y
    token_first: u32, // first token of x to multiply; its result is row 0 of y
    tokens: u32,      // tokens to multiply; 0: all of the pass
}

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;  // [tokens, K / 4]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // [tokens, stride]
@group(0) @binding(4) var<uniform> shape: Shape;
@group(0) @binding(5) var<uniform> control: Control;

// Both tiles are [16 words of 4 columns][32 rows or tokens], so that neighbouring invocations read neighbouring words.
var<workgroup> w_tile: array<vec4<f32>, 512>;
var<workgroup> x_tile: array<vec4<f32>, 512>;

fn store(token: u32, row: u32, value: f32, tokens: u32) {
    if token >= tokens || row >= shape.rows {
        return;
    }
    let at = token * shape.stride + shape.first + row;
    if FINISH == 1u {
        y[at] += value;
    } else {
        y[at] = value;
    }
}

fn sum4(v: vec4<f32>) -> f32 { return v.x + v.y + v.z + v.w; }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tokens = select(shape.tokens, control.count, shape.tokens == 0u);
    let row_first = group.x * 32u;
    let token_first = group.y * 32u;
    let words = shape.items * 8u;
    let tx = local & 7u;  // rows tx, tx + 8, tx + 16, tx + 24
    let ty = local >> 3u; // tokens likewise

    // What this invocation brings in: one item of one row, eight words of one token.
    let load_row = local >> 1u;
    let load_half = local & 1u;
    let weight_row = min(row_first + load_row, shape.rows - 1u);
    let x_row = shape.token_first + min(token_first + load_row, tokens - 1u);

    var c00 = vec4<f32>(); var c01 = vec4<f32>(); var c02 = vec4<f32>(); var c03 = vec4<f32>();
    var c10 = vec4<f32>(); var c11 = vec4<f32>(); var c12 = vec4<f32>(); var c13 = vec4<f32>();
    var c20 = vec4<f32>(); var c21 = vec4<f32>(); var c22 = vec4<f32>(); var c23 = vec4<f32>();
    var c30 = vec4<f32>(); var c31 = vec4<f32>(); var c32 = vec4<f32>(); var c33 = vec4<f32>();

    for (var item_first = 0u; item_first < shape.items; item_first += 2u) {
        let item = item_first + load_half;
        workgroupBarrier();
        // K may be an odd number of items: what is past the end counts as zero.
        if item < shape.items {
            let w = load_item(weight_row, item);
            let a = 32u * (run_a(item) - 8u * item_first) + load_row;
            let b = 32u * (run_b(item) - 8u * item_first) + load_row;
            w_tile[a] = w.scale_a * w.a0 - w.offset_a;
            w_tile[a + 32u] = w.scale_a * w.a1 - w.offset_a;
            w_tile[a + 64u] = w.scale_a * w.a2 - w.offset_a;
            w_tile[a + 96u] = w.scale_a * w.a3 - w.offset_a;
            w_tile[b] = w.scale_b * w.b0 - w.offset_b;
            w_tile[b + 32u] = w.scale_b * w.b1 - w.offset_b;
            w_tile[b + 64u] = w.scale_b * w.b2 - w.offset_b;
            w_tile[b + 96u] = w.scale_b * w.b3 - w.offset_b;
            for (var i = 0u; i < 8u; i++) {
                let word = 8u * load_half + i;
                x_tile[32u * word + load_row] = x[x_row * words + 8u * item_first + word];
            }
        }
        workgroupBarrier();
        let step_words = min(16u, words - 8u * item_first);
        for (var k = 0u; k < step_words; k++) {
            let w0 = w_tile[32u * k + tx];
            let w1 = w_tile[32u * k + tx + 8u];
            let w2 = w_tile[32u * k + tx + 16u];
            let w3 = w_tile[32u * k + tx + 24u];
            let x0 = x_tile[32u * k + ty];
            let x1 = x_tile[32u * k + ty + 8u];
            let x2 = x_tile[32u * k + ty + 16u];
            let x3 = x_tile[32u * k + ty + 24u];
            c00 += w0 * x0; c01 += w1 * x0; c02 += w2 * x0; c03 += w3 * x0;
            c10 += w0 * x1; c11 += w1 * x1; c12 += w2 * x1; c13 += w3 * x1;
            c20 += w0 * x2; c21 += w1 * x2; c22 += w2 * x2; c23 += w3 * x2;
            c30 += w0 * x3; c31 += w1 * x3; c32 += w2 * x3; c33 += w3 * x3;
        }
    }

    let t = token_first + ty;
    let r = row_first + tx;
    store(t, r, sum4(c00), tokens); store(t, r + 8u, sum4(c01), tokens);
    store(t, r + 16u, sum4(c02), tokens); store(t, r + 24u, sum4(c03), tokens);
    store(t + 8u, r, sum4(c10), tokens); store(t + 8u, r + 8u, sum4(c11), tokens);
    store(t + 8u, r + 16u, sum4(c12), tokens); store(t + 8u, r + 24u, sum4(c13), tokens);
    store(t + 16u, r, sum4(c20), tokens); store(t + 16u, r + 8u, sum4(c21), tokens);
    store(t + 16u, r + 16u, sum4(c22), tokens); store(t + 16u, r + 24u, sum4(c23), tokens);
    store(t + 24u, r, sum4(c30), tokens); store(t + 24u, r + 8u, sum4(c31), tokens);
    store(t + 24u, r + 16u, sum4(c32), tokens); store(t + 24u, r + 24u, sum4(c33), tokens);
}
