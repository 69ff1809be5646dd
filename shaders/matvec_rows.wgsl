// Matrix-vector product of decoding for software adapters, one token:
//     y[first + r] = Σ_k W[r, k] · x'[k]
// NORM:      x' = x · norm · rsqrt(mean(x²) + eps), else x' = x. The root is a common factor of all products, so it
//            is applied once at the end and the input is read only once.
// FINISH 0:  store;  1: add to what y holds (the residual stream);
//        2:  the matrix holds gate rows [0, rows) and up rows [rows, 2·rows); y = silu(gate) · up.
//
// A software adapter runs an invocation as a lane of a vector register, and a load is a loop over the lanes, even where
// all of them read the same word. So an invocation takes four rows of the matrix (two of the result under FINISH 2)
// with each word of x. The input passes through workgroup memory in tiles of 2,048 numbers.
//
// Dispatch: (ceil(rows / (4 · WORKGROUP)), 1, 1) workgroups, under FINISH 2 ceil(rows / (2 · WORKGROUP)).
// Burn twin: `Linear` (and `RmsNorm`, `Mlp`) of the reference.
override WORKGROUP: u32 = 32u;
override NORM: bool = false;
override FINISH: u32 = 0u;

struct Shape {
    items: u32,      // K / 32
    rows: u32,       // rows of the result in this matrix
    first: u32,      // where the result starts in y
    last_token: u32, // not zero: x is the row of the pass's last token, else row 0
    eps: f32,
}

@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;     // [tokens, K / 4]
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;  // [K / 4], NORM only
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<uniform> shape: Shape;
@group(0) @binding(6) var<uniform> control: Control;

const TILE_ITEMS: u32 = 64u;
var<workgroup> tile: array<vec4<f32>, 512>; // TILE_ITEMS · 8
var<workgroup> squares: array<f32, WORKGROUP>;

// The numbers of x that an item's weights are multiplied by.
struct Input {
    a0: vec4<f32>, a1: vec4<f32>, a2: vec4<f32>, a3: vec4<f32>,
    b0: vec4<f32>, b1: vec4<f32>, b2: vec4<f32>, b3: vec4<f32>,
    sum_a: vec4<f32>, sum_b: vec4<f32>,
}

fn load_input(item: u32, tile_first: u32) -> Input {
    let a = run_a(item) - tile_first;
    let b = run_b(item) - tile_first;
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

fn store(row: u32, value: f32) {
    if row >= shape.rows {
        return;
    }
    if FINISH == 1u {
        y[shape.first + row] += value;
    } else {
        y[shape.first + row] = value;
    }
}

fn store_gated(row: u32, gate: f32, up: f32) {
    if row < shape.rows {
        y[shape.first + row] = gate / (1.0 + exp(-gate)) * up;
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if control.stopped != 0u {
        return;
    }
    // First row of the result; the rows of the matrix, where those past the end are read as the last one.
    let row = select(4u, 2u, FINISH == 2u) * (group.x * WORKGROUP + local);
    let last = shape.rows - 1u;
    let row0 = min(row, last);
    let row1 = min(row + 1u, last);
    let row2 = select(min(row + 2u, last), shape.rows + row0, FINISH == 2u);
    let row3 = select(min(row + 3u, last), shape.rows + row1, FINISH == 2u);
    let words = shape.items * 8u;
    let x_first = select(0u, (control.count - 1u) * words, shape.last_token != 0u);

    var sums = vec4<f32>();
    var square = 0.0;
    for (var item_first = 0u; item_first < shape.items; item_first += TILE_ITEMS) {
        let tile_first = item_first * 8u;
        let tile_words = min(TILE_ITEMS * 8u, words - tile_first);
        workgroupBarrier();
        for (var i = local; i < tile_words; i += WORKGROUP) {
            var v = x[x_first + tile_first + i];
            if NORM {
                square += dot(v, v);
                v *= norm[tile_first + i];
            }
            tile[i] = v;
        }
        workgroupBarrier();
        let item_end = min(item_first + TILE_ITEMS, shape.items);
        for (var item = item_first; item < item_end; item++) {
            let v = load_input(item, tile_first);
            sums += vec4<f32>(
                product(load_item(row0, item), v),
                product(load_item(row1, item), v),
                product(load_item(row2, item), v),
                product(load_item(row3, item), v));
        }
    }

    if NORM {
        squares[local] = square;
        workgroupBarrier();
        square = 0.0;
        for (var i = 0u; i < WORKGROUP; i++) {
            square += squares[i];
        }
        sums *= inverseSqrt(square / f32(shape.items * 32u) + shape.eps);
    }
    if FINISH == 2u {
        store_gated(row, sums.x, sums.z);
        store_gated(row + 1u, sums.y, sums.w);
    } else {
        store(row, sums.x);
        store(row + 1u, sums.y);
        store(row + 2u, sums.z);
        store(row + 3u, sums.w);
    }
}
