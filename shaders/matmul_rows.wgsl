// Matrix-matrix product of prefill for software adapters, many tokens:
//     y[t, first + r] = Σ_k W[r, k] · x[t, k]
// FINISH 0: store; 1: add to what y holds (the residual stream).
//
// A software adapter runs an invocation as a lane of a vector register. Barriers are dear there, and a load is a loop
// over the lanes, even where all of them read the same word. So an invocation takes four rows and eight tokens, and
// nothing goes through workgroup memory: a word of x is loaded once for four rows, an item of weights is loaded and
// dequantised once for eight tokens.
//
// Dispatch: (ceil(rows / (4 · WORKGROUP)), ceil(tokens / 8), 1) workgroups.
// Burn twin: `Linear` of the reference.
override WORKGROUP: u32 = 32u;
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

// Sixteen consecutive weights of a row, or numbers of a token.
struct Run {
    v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>,
}

fn weights_a(w: Item) -> Run {
    let s = w.scale_a;
    let o = w.offset_a;
    return Run(s * w.a0 - o, s * w.a1 - o, s * w.a2 - o, s * w.a3 - o);
}

fn weights_b(w: Item) -> Run {
    let s = w.scale_b;
    let o = w.offset_b;
    return Run(s * w.b0 - o, s * w.b1 - o, s * w.b2 - o, s * w.b3 - o);
}

fn product(w: Run, r: Run) -> f32 {
    let v = w.v0 * r.v0 + w.v1 * r.v1 + w.v2 * r.v2 + w.v3 * r.v3;
    return v.x + v.y + v.z + v.w;
}

// The products of four rows' runs with the run of x that starts at word `at`.
fn products(w0: Run, w1: Run, w2: Run, w3: Run, at: u32) -> vec4<f32> {
    let r = Run(x[at], x[at + 1u], x[at + 2u], x[at + 3u]);
    return vec4<f32>(product(w0, r), product(w1, r), product(w2, r), product(w3, r));
}

fn store_one(at: u32, value: f32) {
    if FINISH == 1u {
        y[at] += value;
    } else {
        y[at] = value;
    }
}

// Stores the results of rows row … row + 3 of a token.
fn store(token: u32, row: u32, value: vec4<f32>, tokens: u32) {
    if token >= tokens {
        return;
    }
    let at = token * shape.stride + shape.first + row;
    let left = shape.rows - row;
    store_one(at, value.x);
    if left > 1u { store_one(at + 1u, value.y); }
    if left > 2u { store_one(at + 2u, value.z); }
    if left > 3u { store_one(at + 3u, value.w); }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tokens = select(shape.tokens, control.count, shape.tokens == 0u);
    let row = 4u * (group.x * WORKGROUP + local);
    if row >= shape.rows {
        return;
    }
    // Rows and tokens past the end read the last one's numbers; their results are not stored.
    let row1 = min(row + 1u, shape.rows - 1u);
    let row2 = min(row + 2u, shape.rows - 1u);
    let row3 = min(row + 3u, shape.rows - 1u);
    let words = shape.items * 8u;
    let token = group.y * 8u;
    let last = tokens - 1u;
    let t0 = (shape.token_first + min(token, last)) * words;
    let t1 = (shape.token_first + min(token + 1u, last)) * words;
    let t2 = (shape.token_first + min(token + 2u, last)) * words;
    let t3 = (shape.token_first + min(token + 3u, last)) * words;
    let t4 = (shape.token_first + min(token + 4u, last)) * words;
    let t5 = (shape.token_first + min(token + 5u, last)) * words;
    let t6 = (shape.token_first + min(token + 6u, last)) * words;
    let t7 = (shape.token_first + min(token + 7u, last)) * words;
    var c0 = vec4<f32>(); var c1 = vec4<f32>(); var c2 = vec4<f32>(); var c3 = vec4<f32>();
    var c4 = vec4<f32>(); var c5 = vec4<f32>(); var c6 = vec4<f32>(); var c7 = vec4<f32>();
    for (var item = 0u; item < shape.items; item++) {
        let i0 = load_item(row, item);
        let i1 = load_item(row1, item);
        let i2 = load_item(row2, item);
        let i3 = load_item(row3, item);
        let a = run_a(item);
        let a0 = weights_a(i0);
        let a1 = weights_a(i1);
        let a2 = weights_a(i2);
        let a3 = weights_a(i3);
        c0 += products(a0, a1, a2, a3, t0 + a);
        c1 += products(a0, a1, a2, a3, t1 + a);
        c2 += products(a0, a1, a2, a3, t2 + a);
        c3 += products(a0, a1, a2, a3, t3 + a);
        c4 += products(a0, a1, a2, a3, t4 + a);
        c5 += products(a0, a1, a2, a3, t5 + a);
        c6 += products(a0, a1, a2, a3, t6 + a);
        c7 += products(a0, a1, a2, a3, t7 + a);
        let b = run_b(item);
        let b0 = weights_b(i0);
        let b1 = weights_b(i1);
        let b2 = weights_b(i2);
        let b3 = weights_b(i3);
        c0 += products(b0, b1, b2, b3, t0 + b);
        c1 += products(b0, b1, b2, b3, t1 + b);
        c2 += products(b0, b1, b2, b3, t2 + b);
        c3 += products(b0, b1, b2, b3, t3 + b);
        c4 += products(b0, b1, b2, b3, t4 + b);
        c5 += products(b0, b1, b2, b3, t5 + b);
        c6 += products(b0, b1, b2, b3, t6 + b);
        c7 += products(b0, b1, b2, b3, t7 + b);
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
