// Matrix-matrix product of prefill for software adapters, many tokens:
//     y[t, first + r] = Σ_k W[r, k] · x[t, k]
// FINISH 0: store; 1: add to what y holds (the residual stream).
//
// A software adapter runs an invocation as a lane of a vector register: barriers are dear, and a word that all lanes
// read is one load. So an invocation takes a whole row and eight tokens, and nothing goes through workgroup memory:
// an item of weights is dequantised once for eight tokens.
//
// Dispatch: (ceil(rows / WORKGROUP), ceil(tokens / 8), 1) workgroups.
// Burn twin: `Linear` of the reference.
override WORKGROUP: u32 = 64u;
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

fn store(token: u32, row: u32, value: f32, tokens: u32) {
    if token >= tokens {
        return;
    }
    let at = token * shape.stride + shape.first + row;
    if FINISH == 1u {
        y[at] += value;
    } else {
        y[at] = value;
    }
}

// Sixteen weights times the sixteen numbers of x from word `at`.
fn run(w0: vec4<f32>, w1: vec4<f32>, w2: vec4<f32>, w3: vec4<f32>, at: u32) -> f32 {
    let v = w0 * x[at] + w1 * x[at + 1u] + w2 * x[at + 2u] + w3 * x[at + 3u];
    return v.x + v.y + v.z + v.w;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tokens = select(shape.tokens, control.count, shape.tokens == 0u);
    let row = group.x * WORKGROUP + local;
    let safe_row = min(row, shape.rows - 1u);
    let words = shape.items * 8u;
    let token = group.y * 8u;
    // Tokens past the end read the last one's numbers; their results are not stored.
    let last = tokens - 1u;
    let t0 = (shape.token_first + min(token, last)) * words;
    let t1 = (shape.token_first + min(token + 1u, last)) * words;
    let t2 = (shape.token_first + min(token + 2u, last)) * words;
    let t3 = (shape.token_first + min(token + 3u, last)) * words;
    let t4 = (shape.token_first + min(token + 4u, last)) * words;
    let t5 = (shape.token_first + min(token + 5u, last)) * words;
    let t6 = (shape.token_first + min(token + 6u, last)) * words;
    let t7 = (shape.token_first + min(token + 7u, last)) * words;

    var c0 = 0.0; var c1 = 0.0; var c2 = 0.0; var c3 = 0.0;
    var c4 = 0.0; var c5 = 0.0; var c6 = 0.0; var c7 = 0.0;
    for (var item = 0u; item < shape.items; item++) {
        let w = load_item(safe_row, item);
        // One run after the other, so that its weights stay in registers.
        let a = run_a(item);
        let a0 = w.scale_a * w.a0 - w.offset_a;
        let a1 = w.scale_a * w.a1 - w.offset_a;
        let a2 = w.scale_a * w.a2 - w.offset_a;
        let a3 = w.scale_a * w.a3 - w.offset_a;
        c0 += run(a0, a1, a2, a3, t0 + a);
        c1 += run(a0, a1, a2, a3, t1 + a);
        c2 += run(a0, a1, a2, a3, t2 + a);
        c3 += run(a0, a1, a2, a3, t3 + a);
        c4 += run(a0, a1, a2, a3, t4 + a);
        c5 += run(a0, a1, a2, a3, t5 + a);
        c6 += run(a0, a1, a2, a3, t6 + a);
        c7 += run(a0, a1, a2, a3, t7 + a);
        let b = run_b(item);
        let b0 = w.scale_b * w.b0 - w.offset_b;
        let b1 = w.scale_b * w.b1 - w.offset_b;
        let b2 = w.scale_b * w.b2 - w.offset_b;
        let b3 = w.scale_b * w.b3 - w.offset_b;
        c0 += run(b0, b1, b2, b3, t0 + b);
        c1 += run(b0, b1, b2, b3, t1 + b);
        c2 += run(b0, b1, b2, b3, t2 + b);
        c3 += run(b0, b1, b2, b3, t3 + b);
        c4 += run(b0, b1, b2, b3, t4 + b);
        c5 += run(b0, b1, b2, b3, t5 + b);
        c6 += run(b0, b1, b2, b3, t6 + b);
        c7 += run(b0, b1, b2, b3, t7 + b);
    }

    if row >= shape.rows {
        return;
    }
    store(token, row, c0, tokens);
    store(token + 1u, row, c1, tokens);
    store(token + 2u, row, c2, tokens);
    store(token + 3u, row, c3, tokens);
    store(token + 4u, row, c4, tokens);
    store(token + 5u, row, c5, tokens);
    store(token + 6u, row, c6, tokens);
    store(token + 7u, row, c7, tokens);
}
