// Embedding: h[t] = E[ids[t]], the rows of one tile of the (quantised) table.
//
// Dispatch: (ceil(K / 32 / 64), tokens, 1) workgroups of 64; one invocation writes one item of 32 numbers.
// Tokens whose row lies in another tile are left alone; every tile has its own dispatch.
// Burn twin: `reference::Model::embed`.
struct Shape {
    items: u32,      // K / 32
    row_first: u32,  // number of the tile's first row in the whole table
    rows: u32,       // rows in this tile
    reserved: u32,
}

@group(0) @binding(2) var<storage, read> ids: array<u32>;               // [tokens]
@group(0) @binding(3) var<storage, read_write> hidden: array<vec4<f32>>; // [tokens, K / 4]
@group(0) @binding(4) var<uniform> shape: Shape;
@group(0) @binding(5) var<uniform> control: Control;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let item = id.x;
    let token = id.y;
    if control.stopped != 0u || item >= shape.items || token >= control.count {
        return;
    }
    let row = ids[token] - shape.row_first; // wraps around, and so is too large, for a row before the tile
    if row >= shape.rows {
        return;
    }
    let w = load_item(row, item);
    let base = token * shape.items * 8u;
    let a = base + run_a(item);
    let b = base + run_b(item);
    hidden[a] = w.scale_a * w.a0 - w.offset_a;
    hidden[a + 1u] = w.scale_a * w.a1 - w.offset_a;
    hidden[a + 2u] = w.scale_a * w.a2 - w.offset_a;
    hidden[a + 3u] = w.scale_a * w.a3 - w.offset_a;
    hidden[b] = w.scale_b * w.b0 - w.offset_b;
    hidden[b + 1u] = w.scale_b * w.b1 - w.offset_b;
    hidden[b + 2u] = w.scale_b * w.b2 - w.offset_b;
    hidden[b + 3u] = w.scale_b * w.b3 - w.offset_b;
}
