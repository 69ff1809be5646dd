// SwiGLU of prefill: y[t, i] = silu(gate[t, i]) · up[t, i], with x[t] = gate | up.
//
// Dispatch: (ceil(words / 64), tokens, 1) workgroups of 64, one invocation four numbers.
// Burn twin: `Mlp` of the reference. In decoding the matrix-vector product does this itself (FINISH 2).
struct Shape {
    words: u32, // length of a row of y in units of 4
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;        // [tokens, 2 · words]
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;  // [tokens, words]
@group(0) @binding(2) var<uniform> shape: Shape;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= shape.words {
        return;
    }
    let gate = x[2u * id.y * shape.words + id.x];
    let up = x[(2u * id.y + 1u) * shape.words + id.x];
    y[id.y * shape.words + id.x] = gate / (1.0 + exp(-gate)) * up;
}
