// Q4_K: blocks of 256 weights in 144 bytes, as stored in the file: F16 d and dmin, eight 6-bit (scale, min) pairs in
// 12 bytes, 128 bytes of nibbles; w = d · scale · q − dmin · min, a pair for each 32 weights.
// Nibble byte 32·j + l holds weight 64·j + l (low) and 64·j + 32 + l (high); an item is 16 of these bytes.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 256, 9]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // unused

fn run_a(item: u32) -> u32 { return 16u * (item >> 1u) + 4u * (item & 1u); }
fn run_b(item: u32) -> u32 { return run_a(item) + 8u; }

// The 6-bit scale and min of sub-block j (0..7).
fn scale_and_min(header: vec4<u32>, j: u32) -> vec2<f32> {
    let s = header.yzw >> vec3<u32>(8u * (j & 3u));
    let low = vec2<u32>(s.x & 63u, s.y & 63u);
    let high = vec2<u32>((s.z & 15u) | ((s.x >> 2u) & 48u), ((s.z >> 4u) & 15u) | ((s.y >> 2u) & 48u));
    return vec2<f32>(select(low, high, j >= 4u));
}

fn load_item(row: u32, item: u32) -> Item {
    let block = 9u * (row * (shape.items >> 3u) + (item >> 3u));
    let header = weights[block];
    let d = unpack2x16float(header.x);
    let j = item & 6u;
    let a = d * scale_and_min(header, j);
    let b = d * scale_and_min(header, j + 1u);
    let w = weights[block + 1u + (item & 7u)];
    let lo = w & vec4<u32>(0x0f0f0f0fu);
    let hi = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
    return Item(
        bytes_to_float(lo.x), bytes_to_float(lo.y), bytes_to_float(lo.z), bytes_to_float(lo.w),
        bytes_to_float(hi.x), bytes_to_float(hi.y), bytes_to_float(hi.z), bytes_to_float(hi.w),
        a.x, a.y, b.x, b.y);
}
