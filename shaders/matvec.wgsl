// Matrix-vector product of decoding, for one token or, in a verify pass, for up to four:
//     y[t, first + r] = Σ_k W[r, k] · x'[t, k]
// NORM:      x' = x · norm · rsqrt(mean(x²) + eps), else x' = x. The root is a common factor of all products, so it
//            is applied once at the end and the input is read only once.
// FINISH 0:  store;  1: add to what y holds (the residual stream);
//        2:  the matrix holds gate rows [0, rows) and up rows [rows, 2·rows); y = silu(gate) · up.
// PAIR:      a second matrix of another format follows, whose rows come after those of the first in y.
// TOKENS 4 does for each token exactly what TOKENS 1 does, in the same order, so both give the same bits.
//
// Dispatch: (ceil(rows · LANES / WORKGROUP), 1, 1) workgroups, those of a second matrix after them, 16 <= WORKGROUP <= 256; LANES invocations share a row, each
// taking every LANES-th item of 32 weights. The inputs pass through workgroup memory in tiles of 2,048 numbers, once for
// all rows of a workgroup: the more rows it has, the less it reads beside the weights.
// Burn twin: `Linear` (and `RmsNorm`, `Mlp`) of the reference.
override WORKGROUP: u32 = 64u;
override LANES: u32 = 1u;
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

const PARTS: u32 = 16u; // of the sum of squares
var<workgroup> tile: array<vec4<f32>, 512>;   // [TOKENS, TILE_ITEMS · 8]; at the end [2, WORKGROUP]: sums of all tokens
var<workgroup> squares: array<f32, SQUARES>;  // [TOKENS, WORKGROUP]

// The product of an item with the runs of a token's input that start at words a and b of the tile.
fn product(w: Item, a: u32, b: u32) -> f32 {
    let xa0 = tile[a]; let xa1 = tile[a + 1u]; let xa2 = tile[a + 2u]; let xa3 = tile[a + 3u];
    let xb0 = tile[b]; let xb1 = tile[b + 1u]; let xb2 = tile[b + 2u]; let xb3 = tile[b + 3u];
    let qa = w.a0 * xa0 + w.a1 * xa1 + w.a2 * xa2 + w.a3 * xa3;
    let qb = w.b0 * xb0 + w.b1 * xb1 + w.b2 * xb2 + w.b3 * xb3;
    let all = vec4<f32>(w.scale_a) * qa + vec4<f32>(w.scale_b) * qb
        - w.offset_a * (xa0 + xa1 + xa2 + xa3) - w.offset_b * (xb0 + xb1 + xb2 + xb3);
    return all.x + all.y + all.z + all.w;
}

// The products of an item of weights with every token's input, whose runs start at words a and b of the tile; with the
// first alone when there is one token.
fn products(w: Item, a: u32, b: u32, many: bool) -> vec4<f32> {
    var all = vec4<f32>(product(w, a, b), 0.0, 0.0, 0.0);
    if TOKENS > 1u && many {
        let words = TILE_ITEMS * 8u;
        all.y = product(w, a + words, b + words);
        all.z = product(w, a + 2u * words, b + 2u * words);
        all.w = product(w, a + 3u * words, b + 3u * words);
    }
    return all;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if control.stopped != 0u {
        return;
    }
    let lane = local % LANES;
    // The same for all of a workgroup.
    let second = PAIR && group.x >= shape.groups;
    let rows = select(shape.rows, shape.second_rows, second);
    let row = select(group.x, group.x - shape.groups, second) * (WORKGROUP / LANES) + local / LANES;
    let safe_row = min(row, rows - 1u);
    let words = shape.items * 8u;
    let tokens = min(control.count, TOKENS);
    let x_first = select(0u, (control.count - 1u) * words, shape.last_token != 0u);

    var sum = vec4<f32>(0.0);
    var up_sum = vec4<f32>(0.0);
    var square = vec4<f32>(0.0);
    for (var item_first = 0u; item_first < shape.items; item_first += TILE_ITEMS) {
        let tile_first = item_first * 8u;
        let tile_words = min(TILE_ITEMS * 8u, words - tile_first);
        workgroupBarrier();
        // A word goes to the invocation of its number, whatever the size of a tile: so the order of the sum of squares
        // is the same for any number of tokens. (WORKGROUP is a power of two: the difference may wrap.)
        for (var t = 0u; t < TOKENS; t++) {
            if t >= tokens {
                break;
            }
            for (var i = (local - tile_first) % WORKGROUP; i < tile_words; i += WORKGROUP) {
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
        let many = tokens > 1u;
        for (var item = item_first + lane; item < item_end && !second; item += LANES) {
            let a = run_a(item) - tile_first;
            let b = run_b(item) - tile_first;
            sum += products(load_item(safe_row, item), a, b, many);
            if FINISH == 2u {
                up_sum += products(load_item(safe_row + rows, item), a, b, many);
            }
        }
        if PAIR {
            for (var item = item_first + lane; item < item_end && second; item += LANES) {
                let a = run_a_2(item) - tile_first;
                let b = run_b_2(item) - tile_first;
                sum += products(load_item_2(safe_row, item), a, b, many);
            }
        }
    }

    if LANES > 1u {
        workgroupBarrier();
        tile[local] = sum;
        tile[WORKGROUP + local] = up_sum;
    }
    if NORM {
        for (var t = 0u; t < TOKENS; t++) {
            squares[t * WORKGROUP + local] = square[t];
        }
        workgroupBarrier();
        if local < PARTS {
            for (var t = 0u; t < TOKENS; t++) {
                var part = 0.0;
                for (var i = local; i < WORKGROUP; i += PARTS) {
                    part += squares[t * WORKGROUP + i];
                }
                squares[t * WORKGROUP + local] = part;
            }
        }
    }
    if NORM || LANES > 1u {
        workgroupBarrier();
    }
    if lane != 0u || row >= rows {
        return;
    }
    if LANES > 1u {
        for (var i = 1u; i < LANES; i++) {
            sum += tile[local + i];
            up_sum += tile[WORKGROUP + local + i];
        }
    }
    for (var t = 0u; t < tokens; t++) {
        var value = sum[t];
        var up = up_sum[t];
        if NORM {
            var mean = 0.0;
            for (var i = 0u; i < PARTS; i++) {
                mean += squares[t * WORKGROUP + i];
            }
            let root = inverseSqrt(mean / f32(shape.items * 32u) + shape.eps);
            value *= root;
            up *= root;
        }
        let out = control.flip * shape.half + t * shape.stride + shape.first + select(0u, shape.rows, second) + row;
        if FINISH == 1u {
            y[out] += value;
        } else if FINISH == 2u {
            y[out] = value / (1.0 + exp(-value)) * up;
        } else {
            y[out] = value;
        }
    }
}
