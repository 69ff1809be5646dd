// Matrix-vector product of decoding, one token:
//     y[first + r] = Σ_k W[r, k] · x'[k]
// NORM:      x' = x · norm · rsqrt(mean(x²) + eps), else x' = x. The root is a common factor of all products, so it
//            is applied once at the end and the input is read only once.
// FINISH 0:  store;  1: add to what y holds (the residual stream);
//        2:  the matrix holds gate rows [0, rows) and up rows [rows, 2·rows); y = silu(gate) · up.
//
// Dispatch: (ceil(rows · LANES / WORKGROUP), 1, 1) workgroups; LANES invocations share a row, each taking every
// LANES-th item of 32 weights. The input passes through workgroup memory in tiles of 2,048 numbers.
// Burn twin: `Linear` (and `RmsNorm`, `Mlp`) of the reference.
override WORKGROUP: u32 = 64u;
override LANES: u32 = 1u;
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
var<workgroup> sums: array<vec2<f32>, WORKGROUP>;
var<workgroup> squares: array<f32, WORKGROUP>;

fn dot_item(row: u32, item: u32, tile_first: u32) -> f32 {
    let w = load_item(row, item);
    let a = run_a(item) - tile_first;
    let b = run_b(item) - tile_first;
    let xa0 = tile[a]; let xa1 = tile[a + 1u]; let xa2 = tile[a + 2u]; let xa3 = tile[a + 3u];
    let xb0 = tile[b]; let xb1 = tile[b + 1u]; let xb2 = tile[b + 2u]; let xb3 = tile[b + 3u];
    let qa = w.a0 * xa0 + w.a1 * xa1 + w.a2 * xa2 + w.a3 * xa3;
    let qb = w.b0 * xb0 + w.b1 * xb1 + w.b2 * xb2 + w.b3 * xb3;
    let all = vec4<f32>(w.scale_a) * qa + vec4<f32>(w.scale_b) * qb
        - w.offset_a * (xa0 + xa1 + xa2 + xa3) - w.offset_b * (xb0 + xb1 + xb2 + xb3);
    return all.x + all.y + all.z + all.w;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if control.stopped != 0u {
        return;
    }
    let lane = local % LANES;
    let row = group.x * (WORKGROUP / LANES) + local / LANES;
    let safe_row = min(row, shape.rows - 1u);
    let words = shape.items * 8u;
    let x_first = select(0u, (control.count - 1u) * words, shape.last_token != 0u);

    var sum = vec2<f32>(0.0);
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
        for (var item = item_first + lane; item < item_end; item += LANES) {
            sum.x += dot_item(safe_row, item, tile_first);
            if FINISH == 2u {
                sum.y += dot_item(safe_row + shape.rows, item, tile_first);
            }
        }
    }

    if NORM {
        squares[local] = square;
    }
    if LANES > 1u {
        sums[local] = sum;
    }
    if NORM || LANES > 1u {
        workgroupBarrier();
    }
    if lane != 0u || row >= shape.rows {
        return;
    }
    if LANES > 1u {
        for (var i = 1u; i < LANES; i++) {
            sum += sums[local + i];
        }
    }
    if NORM {
        square = 0.0;
        for (var i = 0u; i < WORKGROUP; i++) {
            square += squares[i];
        }
        sum *= inverseSqrt(square / f32(shape.items * 32u) + shape.eps);
    }
    let out = shape.first + row;
    if FINISH == 1u {
        y[out] += sum.x;
    } else if FINISH == 2u {
        y[out] = sum.x / (1.0 + exp(-sum.x)) * sum.y;
    } else {
        y[out] = sum.x;
    }
}
