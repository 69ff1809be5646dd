// Matrix-vector product of decoding for software adapters, for one token or, in a verify pass, for up to four:
//     y[t, first + r] = Σ_k W[r, k] · x'[t, k]
// NORM:      x' = x · norm · rsqrt(mean(x²) + eps), else x' = x. The root is a common factor of all products, so it
//            is applied once at the end and the input is read only once.
// FINISH 0:  store;  1: add to what y holds (the residual stream);
//        2:  the matrix holds gate rows [0, rows) and up rows [rows, 2·rows); y = silu(gate) · up.
// PAIR:      a second matrix of another format follows, whose rows come after those of the first in y.
// TOKENS 4 does for each token exactly what TOKENS 1 does, in the same order, so both give the same bits.
//
// A software adapter runs an invocation as a lane of a vector register, and a load is a loop over the lanes, even where
// all of them read the same word. So an invocation takes four rows of the matrix (two of the result under FINISH 2)
// with each word of x. The inputs pass through workgroup memory in tiles of 2,048 numbers.
//
// Dispatch: (ceil(rows / (4 · WORKGROUP)), 1, 1) workgroups, under FINISH 2 ceil(rows / (2 · WORKGROUP)); those
// of a second matrix after them.
// Burn twin: `Linear` (and `RmsNorm`, `Mlp`) of the reference.
override WORKGROUP: u32 = 32u;
override NORM: bool = false;
override FINISH: u32 = 0u;
override TOKENS: u32 = 1u;
override PAIR: bool = false;
override SQUARES: u32 = TOKENS * WORKGROUP;
override TILE_ITEMS: u32 = 64u / TOKENS; // of each token

struct Shape {
    items: u32,      // K / 32
    rows: u32,       // rows of the result in this matrix
    first: u32,      // where the result starts in a row of y
    last_token: u32, // not zero: x is the row of the pass's last token, else it starts at row 0
    eps: f32,
    stride: u32,     // length of a row of y
    half: u32,       // y has two halves of so many numbers, of which control.flip names the one to write; 0: it has not
    groups: u32,      // workgroups of the first matrix, PAIR only
    second_rows: u32, // rows of the second matrix
}

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;     // [tokens, K / 4]
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;  // [K / 4], NORM only
@group(0) @binding(4) var<storage, read_write> y: array<f32>;     // [tokens, stride]
@group(0) @binding(5) var<uniform> shape: Shape;
@group(0) @binding(6) var<uniform> control: Control;

var<workgroup> tile: array<vec4<f32>, 512>;     // [TOKENS, TILE_ITEMS · 8]
var<workgroup> squares: array<f32, SQUARES>;    // [TOKENS, WORKGROUP]

// The numbers of x that an item's weights are multiplied by.
struct Input {
    a0: vec4<f32>, a1: vec4<f32>, a2: vec4<f32>, a3: vec4<f32>,
    b0: vec4<f32>, b1: vec4<f32>, b2: vec4<f32>, b3: vec4<f32>,
    sum_a: vec4<f32>, sum_b: vec4<f32>,
}

// Of a token: where the runs of the first token start at words first_a and first_b of the tile.
fn load_input(first_a: u32, first_b: u32, token: u32) -> Input {
    let a = first_a + token * TILE_ITEMS * 8u;
    let b = first_b + token * TILE_ITEMS * 8u;
    let a0 = tile[a]; let a1 = tile[a + 1u]; let a2 = tile[a + 2u]; let a3 = tile[a + 3u];
    let b0 = tile[b]; let b1 = tile[b + 1u]; let b2 = tile[b + 2u]; let b3 = tile[b + 3u];
    return Input(a0, a1, a2, a3, b0, b1, b2, b3, a0 + a1 + a2 + a3, b0 + b1 + b2 + b3);
}

fn product(w: Item, v: Input) -> f32 {
    let qa = w.a0 * v.a0 + w.a1 * v.a1 + w.a2 * v.a2 + w.a3 * v.a3;
    let qb = w.b0 * v.b0 + w.b1 * v.b1 + w.b2 * v.b2 + w.b3 * v.b3;
    let all = w.scale_a * qa + w.scale_b * qb - w.offset_a * v.sum_a - w.offset_b * v.sum_b;
    return all.x + all.y + all.z + all.w;
}

// The products of four rows' items with one token's numbers.
fn products(w0: Item, w1: Item, w2: Item, w3: Item, v: Input) -> vec4<f32> {
    return vec4<f32>(product(w0, v), product(w1, v), product(w2, v), product(w3, v));
}

fn store(out: u32, row: u32, rows: u32, value: f32) {
    if row >= rows {
        return;
    }
    if FINISH == 1u {
        y[out + row] += value;
    } else {
        y[out + row] = value;
    }
}

fn store_gated(out: u32, row: u32, gate: f32, up: f32) {
    if row < shape.rows {
        y[out + row] = gate / (1.0 + exp(-gate)) * up;
    }
}

// Finishes a token's products with four rows of a matrix that has so many of the result, the first at `first` in a row of y.
fn finish(token: u32, row: u32, rows: u32, first: u32, products: vec4<f32>) {
    var sums = products;
    if NORM {
        var square = 0.0;
        for (var i = 0u; i < WORKGROUP; i++) {
            square += squares[token * WORKGROUP + i];
        }
        sums *= inverseSqrt(square / f32(shape.items * 32u) + shape.eps);
    }
    let out = control.flip * shape.half + token * shape.stride + first;
    if FINISH == 2u {
        store_gated(out, row, sums.x, sums.z);
        store_gated(out, row + 1u, sums.y, sums.w);
    } else {
        store(out, row, rows, sums.x);
        store(out, row + 1u, rows, sums.y);
        store(out, row + 2u, rows, sums.z);
        store(out, row + 3u, rows, sums.w);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if control.stopped != 0u {
        return;
    }
    // First row of the result; the rows of the matrix, where those past the end are read as the last one.
    let second = PAIR && group.x >= shape.groups; // the same for all of a workgroup
    let rows = select(shape.rows, shape.second_rows, second);
    let row = select(4u, 2u, FINISH == 2u) * (select(group.x, group.x - shape.groups, second) * WORKGROUP + local);
    let last = rows - 1u;
    let row0 = min(row, last);
    let row1 = min(row + 1u, last);
    let row2 = select(min(row + 2u, last), rows + row0, FINISH == 2u);
    let row3 = select(min(row + 3u, last), rows + row1, FINISH == 2u);
    let words = shape.items * 8u;
    let tokens = min(control.count, TOKENS);
    let x_first = select(0u, (control.count - 1u) * words, shape.last_token != 0u);

    var sums0 = vec4<f32>();
    var sums1 = vec4<f32>();
    var sums2 = vec4<f32>();
    var sums3 = vec4<f32>();
    var square = vec4<f32>();
    for (var item_first = 0u; item_first < shape.items; item_first += TILE_ITEMS) {
        let tile_first = item_first * 8u;
        let tile_words = min(TILE_ITEMS * 8u, words - tile_first);
        workgroupBarrier();
        for (var t = 0u; t < TOKENS; t++) {
            if t >= tokens {
                break;
            }
            for (var i = local; i < tile_words; i += WORKGROUP) {
                var v = x[x_first + t * words + tile_first + i];
                if NORM {
                    square[t] += dot(v, v);
                    v *= norm[tile_first + i];
                }
                tile[t * TILE_ITEMS * 8u + i] = v;
            }
        }
        workgroupBarrier();
        let item_end = min(item_first + TILE_ITEMS, shape.items);
        // Two loops and not one with a branch: a software adapter computes both sides of a branch.
        for (var item = item_first; item < item_end && !second; item++) {
            let w0 = load_item(row0, item);
            let w1 = load_item(row1, item);
            let w2 = load_item(row2, item);
            let w3 = load_item(row3, item);
            let a = run_a(item) - tile_first;
            let b = run_b(item) - tile_first;
            sums0 += products(w0, w1, w2, w3, load_input(a, b, 0u));
            if TOKENS > 1u && tokens > 1u {
                sums1 += products(w0, w1, w2, w3, load_input(a, b, 1u));
                sums2 += products(w0, w1, w2, w3, load_input(a, b, 2u));
                sums3 += products(w0, w1, w2, w3, load_input(a, b, 3u));
            }
        }
        if PAIR {
            for (var item = item_first; item < item_end && second; item++) {
                let w0 = load_item_2(row0, item);
                let w1 = load_item_2(row1, item);
                let w2 = load_item_2(row2, item);
                let w3 = load_item_2(row3, item);
                let a = run_a_2(item) - tile_first;
                let b = run_b_2(item) - tile_first;
                sums0 += products(w0, w1, w2, w3, load_input(a, b, 0u));
                if TOKENS > 1u && tokens > 1u {
                    sums1 += products(w0, w1, w2, w3, load_input(a, b, 1u));
                    sums2 += products(w0, w1, w2, w3, load_input(a, b, 2u));
                    sums3 += products(w0, w1, w2, w3, load_input(a, b, 3u));
                }
            }
        }
    }

    if NORM {
        for (var t = 0u; t < TOKENS; t++) {
            squares[t * WORKGROUP + local] = square[t];
        }
        workgroupBarrier();
    }
    let first = shape.first + select(0u, shape.rows, second);
    finish(0u, row, rows, first, sums0);
    if TOKENS > 1u {
        if tokens > 1u { finish(1u, row, rows, first, sums1); }
        if tokens > 2u { finish(2u, row, rows, first, sums2); }
        if tokens > 3u { finish(3u, row, rows, first, sums3); }
    }
}
