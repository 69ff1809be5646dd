// Q5_1: blocks of 32 weights; w = d · q + m. An item is a block.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 32]: the low nibbles
@group(0) @binding(1) var<storage, read> scales: array<vec2<u32>>;   // [rows, K / 32] F16 d and m, fifth bits

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn load_item(row: u32, item: u32) -> Item {
    let block = row * shape.items + item;
    let head = scales[block];
    let dm = unpack2x16float(head.x);
    let w = weights[block];
    let lo = join_low(w, head.y);
    let hi = join_high(w, head.y);
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        dm.x, -dm.y, dm.x, -dm.y);
}
