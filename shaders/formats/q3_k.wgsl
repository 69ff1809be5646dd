// Q3_K: blocks of 256 weights; w = d · (scale − 32) · (q − 4), a 6-bit scale for each 16 weights. 112 bytes a block, as
// stored in the file but for two zeros at the end: 32 bytes of third bits (bit g of byte l belongs to weight 32·g + l),
// 64 of lower bits in the order of Q2_K, 12 of scales, F16 d. Scale k has its low four bits in byte k % 8, in the low
// half for k < 8, and its upper two in byte 8 + k % 4 at bit 2·(k / 4).
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 256, 7]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // unused

fn run_a(item: u32) -> u32 { return 16u * (item >> 1u) + 4u * (item & 1u); }
fn run_b(item: u32) -> u32 { return run_a(item) + 8u; }

fn load_item(row: u32, item: u32) -> Item {
    let block = 7u * (row * (shape.items >> 3u) + (item >> 3u));
    // Run a starts at weight 128·n + 64·c + 16·h of the block.
    let n = (item >> 2u) & 1u;
    let c = (item >> 1u) & 1u;
    let h = item & 1u;
    let tail = weights[block + 6u];
    let d = unpack2x16float(tail.w).x;
    // The scale of run a is number 8·n + 4·c + h, that of run b two further on.
    let low = select(tail.x, tail.y, c == 1u) >> (8u * h + 4u * n);
    let high = tail.z >> (8u * h + 4u * n + 2u * c);
    let scale_a = d * (f32((low & 15u) | ((high & 3u) << 4u)) - 32.0);
    let scale_b = d * (f32(((low >> 16u) & 15u) | (((high >> 16u) & 3u) << 4u)) - 32.0);
    let w = weights[block + 2u + 2u * n + h] >> vec4<u32>(4u * c);
    let third = weights[block + h] >> vec4<u32>(item & 6u);
    let one = vec4<u32>(0x01010101u);
    let pair = vec4<u32>(0x03030303u);
    let lo = (w & pair) | ((third & one) << vec4<u32>(2u));
    let hi = ((w >> vec4<u32>(2u)) & pair) | (((third >> vec4<u32>(1u)) & one) << vec4<u32>(2u));
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        scale_a, 4.0 * scale_a, scale_b, 4.0 * scale_b);
}
