// BF16 weights (the upper half of an F32), row-major: 4 words of 16 bytes an item, 8 weights a word.
@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;  // [rows, K / 8]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // unused

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn widen(pair: u32) -> vec2<f32> { return bitcast<vec2<f32>>(vec2<u32>(pair << 16u, pair & 0xffff0000u)); }
fn low_half(w: vec4<u32>) -> vec4<f32> { return vec4<f32>(widen(w.x), widen(w.y)); }
fn high_half(w: vec4<u32>) -> vec4<f32> { return vec4<f32>(widen(w.z), widen(w.w)); }

fn load_item(row: u32, item: u32) -> Item {
    let base = 4u * (row * shape.items + item);
    let w0 = weights[base];
    let w1 = weights[base + 1u];
    let w2 = weights[base + 2u];
    let w3 = weights[base + 3u];
    return Item(
        low_half(w0), high_half(w0), low_half(w1), high_half(w1),
        low_half(w2), high_half(w2), low_half(w3), high_half(w3),
        1.0, 0.0, 1.0, 0.0);
}
