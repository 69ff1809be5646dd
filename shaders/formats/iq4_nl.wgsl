// IQ4_NL: blocks of 32 weights in 16 bytes, laid out as Q4_0, with one F16 scale; w = d · codebook[q]. An item is a
// block.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 32]: the nibbles
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // [rows, K / 32] F16, two a word

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn load_item(row: u32, item: u32) -> Item {
    let block = row * shape.items + item;
    let d = unpack2x16float(scales[block >> 1u] >> (16u * (block & 1u))).x;
    let w = weights[block];
    let lo = w & vec4<u32>(0x0f0f0f0fu);
    let hi = (w >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
    return Item(
        codebook(lo.x), codebook(lo.y), codebook(lo.z), codebook(lo.w),
        codebook(hi.x), codebook(hi.y), codebook(hi.z), codebook(hi.w),
        d, 0.0, d, 0.0);
}
