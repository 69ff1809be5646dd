// Q6_K: blocks of 256 weights; w = d · scale · (q − 32), a signed 8-bit scale for each 16 weights. Repacked without
// loss (glowworm_gguf::repack) to 13 words of 16 bytes and a separate F16 d: 8 words of low nibbles in the order of
// Q4_K, 4 words of upper bit pairs, 1 word of scales. Upper pairs: 32-bit word 2·item + half holds 16 weights;
// weight 4·g + b of the run has its two bits at bit 8·b + 2·g.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 256, 13]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // [rows, K / 256] F16 d, two a word

fn run_a(item: u32) -> u32 { return 16u * (item >> 1u) + 4u * (item & 1u); }
fn run_b(item: u32) -> u32 { return run_a(item) + 8u; }

// Sixteen 2-bit values as the upper bits (4 and 5) of four words of bytes.
fn upper_bits(pairs: u32) -> vec4<u32> {
    return ((vec4<u32>(pairs) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(0x03030303u)) << vec4<u32>(4u);
}

fn load_item(row: u32, item: u32) -> Item {
    let index = row * (shape.items >> 3u) + (item >> 3u);
    let block = 13u * index;
    let i = item & 7u;
    let d = unpack2x16float(scales[index >> 1u] >> (16u * (index & 1u))).x;
    // Weight 64·j + 16·h starts run a: its scale is number 4·j + h, that of run b two further on.
    let s = 4u * (i >> 1u) + (i & 1u);
    let scale_words = weights[block + 12u];
    let word = scale_words[s >> 2u];
    let shift = 8u * (s & 1u);
    let scale_a = d * f32(extractBits(bitcast<i32>(word), shift, 8u));
    let scale_b = d * f32(extractBits(bitcast<i32>(word), shift + 16u, 8u));
    let w = weights[block + i];
    let upper = weights[block + 8u + (i >> 1u)];
    let pairs = select(upper.xy, upper.zw, (i & 1u) == 1u);
    let lo = (w & vec4<u32>(0x0f0f0f0fu)) | upper_bits(pairs.x);
    let hi = ((w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu)) | upper_bits(pairs.y);
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        scale_a, 32.0 * scale_a, scale_b, 32.0 * scale_b);
}
