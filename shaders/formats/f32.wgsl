// F32 weights, row-major: 8 words of 16 bytes an item.
@group(0) @binding(0) var<storage, read> weights: array<vec4<f32>>;  // [rows, K / 4]
@group(0) @binding(1) var<storage, read> scales: array<u32>;         // unused

fn run_a(item: u32) -> u32 { return 8u * item; }
fn run_b(item: u32) -> u32 { return 8u * item + 4u; }

fn load_item(row: u32, item: u32) -> Item {
    let base = 8u * (row * shape.items + item);
    return Item(
        weights[base], weights[base + 1u], weights[base + 2u], weights[base + 3u],
        weights[base + 4u], weights[base + 5u], weights[base + 6u], weights[base + 7u],
        1.0, 0.0, 1.0, 0.0);
}
