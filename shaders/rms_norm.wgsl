// RMS norm of prefill: y[t] = x[t] · norm · rsqrt(mean(x[t]²) + eps).
//
// Dispatch: (1, tokens, 1) workgroups of 64, one a token.
// Burn twin: `RmsNorm` of the reference (the stored weight already holds the 1 of 1 + w).
struct Shape {
    words: u32, // length of a row in units of 4
    eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;        // [tokens, words]
@group(0) @binding(1) var<storage, read> norm: array<vec4<f32>>;     // [words]
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;  // [tokens, words]
@group(0) @binding(3) var<uniform> shape: Shape;

var<workgroup> squares: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let base = group.y * shape.words;
    var square = 0.0;
    for (var i = local; i < shape.words; i += 64u) {
        let v = x[base + i];
        square += dot(v, v);
    }
    squares[local] = square;
    workgroupBarrier();
    square = 0.0;
    for (var i = 0u; i < 64u; i++) {
        square += squares[i];
    }
    let root = inverseSqrt(square / f32(shape.words * 4u) + shape.eps);
    for (var i = local; i < shape.words; i += 64u) {
        y[base + i] = x[base + i] * norm[i] * root;
    }
}
