// Q2_K: blocks of 256 weights; w = d · scale · q − dmin · min, a 4-bit scale (low) and min (high) for each 16 weights.
// 80 bytes a block, as stored in the file: 16 bytes of scales and mins, 64 of quants; byte 32·n + l of these holds
// weight 128·n + 32·r + l at bit 2·r. An item is 16 of them, four bits each.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 256, 5]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // [rows, K / 256] F16 d and dmin

fn run_a(item: u32) -> u32 { return 16u * (item >> 1u) + 4u * (item & 1u); }
fn run_b(item: u32) -> u32 { return run_a(item) + 8u; }

fn load_item(row: u32, item: u32) -> Item {
    let index = row * (shape.items >> 3u) + (item >> 3u);
    let block = 5u * index;
    let i = item & 7u;
    let d = unpack2x16float(scales[index]);
    // Weight 64·j + 16·h starts run a: its scale is number 4·j + h, that of run b two further on.
    let scale_words = weights[block];
    let pairs = scale_words[i >> 1u] >> (8u * (i & 1u));
    let a = d * vec2<f32>(f32(pairs & 15u), f32((pairs >> 4u) & 15u));
    let b = d * vec2<f32>(f32((pairs >> 16u) & 15u), f32((pairs >> 20u) & 15u));
    let w = weights[block + 1u + ((i >> 2u) << 1u) + (i & 1u)] >> vec4<u32>(4u * ((i >> 1u) & 1u));
    let lo = w & vec4<u32>(0x03030303u);
    let hi = (w >> vec4<u32>(2u)) & vec4<u32>(0x03030303u);
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        a.x, a.y, b.x, b.y);
}
