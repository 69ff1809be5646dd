// IQ4_XS: blocks of 256 weights; w = d · (scale − 32) · codebook[q], a 6-bit scale for each 32 weights, which are an
// item: 16 bytes laid out as Q4_0. The 8 bytes of scales a block: F16 d, the upper two bits of the eight scales (16
// bits), the lower four (32 bits).
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 32]: the nibbles
@group(0) @binding(1) var<storage, read> scales: array<vec2<u32>>;   // [rows, K / 256]

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn load_item(row: u32, item: u32) -> Item {
    let index = row * shape.items + item;
    let head = scales[index >> 3u]; // rows are whole blocks
    let i = item & 7u;
    let scale = ((head.y >> (4u * i)) & 15u) | (((head.x >> (16u + 2u * i)) & 3u) << 4u);
    let d = unpack2x16float(head.x).x * (f32(scale) - 32.0);
    let w = weights[index];
    let lo = w & vec4<u32>(0x0f0f0f0fu);
    let hi = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
    return Item(
        codebook(lo.x), codebook(lo.y), codebook(lo.z), codebook(lo.w),
        codebook(hi.x), codebook(hi.y), codebook(hi.z), codebook(hi.w),
        d, 0.0, d, 0.0);
}
