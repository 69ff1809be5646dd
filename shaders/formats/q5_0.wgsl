// Q5_0: blocks of 32 weights; w = d · (q − 16). An item is a block.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 32]: the low nibbles
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // [rows, K / 32] F16 d, fifth bits: 6 bytes

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn load_item(row: u32, item: u32) -> Item {
    let block = row * shape.items + item;
    // Two blocks take three words; the second starts in the middle of one.
    let at = (3u * block) >> 1u;
    let first = scales[at];
    let second = scales[at + 1u];
    let odd = (block & 1u) != 0u;
    let d = unpack2x16float(select(first, first >> 16u, odd)).x;
    let fifth = select((first >> 16u) | (second << 16u), second, odd);
    let w = weights[block];
    let lo = join_low(w, fifth);
    let hi = join_high(w, fifth);
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        d, 16.0 * d, d, 16.0 * d);
}
