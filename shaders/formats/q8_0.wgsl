// Q8_0: blocks of 32 signed bytes with one F16 scale; w = d · q. An item is a block.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 32, 2]: the bytes
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // [rows, K / 32] F16, two a word

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn signed_bytes(word: u32) -> vec4<f32> { return vec4<f32>(unpack4xI8(word)); }

fn load_item(row: u32, item: u32) -> Item {
    let block = row * shape.items + item;
    let d = unpack2x16float(scales[block >> 1u] >> (16u * (block & 1u))).x;
    let lo = weights[2u * block];
    let hi = weights[2u * block + 1u];
    return Item(
        signed_bytes(lo.x), signed_bytes(lo.y), signed_bytes(lo.z), signed_bytes(lo.w),
        signed_bytes(hi.x), signed_bytes(hi.y), signed_bytes(hi.z), signed_bytes(hi.w),
        d, 0.0, d, 0.0);
}
