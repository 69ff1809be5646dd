// Puts together what the spans of a long sequence left of attention (`attention.wgsl` with SPAN), with the output gate:
//     m = max_j max_j;  y = Σ_j exp(max_j − m) · sum_j / Σ_j exp(max_j − m) · total_j · sigmoid(gate)
// A sequence of one span gives the bits that attention without spans does.
//
// Dispatch: (heads, tokens, 1) workgroups of 64; an invocation gathers four of the output's dimensions.
// Burn twin: `FullAttention` of the reference.
override HEAD_DIM: u32 = 256u;
override SPAN: u32 = 512u;

struct Shape {
    stride: u32,   // length of a row of the projections
    heads: u32,
    kv_heads: u32,
    spans: u32,    // most spans of a sequence
}

@group(0) @binding(0) var<storage, read> projections: array<f32>;      // [tokens, stride]: heads × (query | gate), …
// [tokens, heads, spans, HEAD_DIM / 4 + 1]: sum, then (max, total, 0, 0)
@group(0) @binding(1) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;    // [tokens, heads, HEAD_DIM / 4]
@group(0) @binding(3) var<uniform> shape: Shape;
@group(0) @binding(4) var<uniform> control: Control;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let words = HEAD_DIM / 4u;
    if control.stopped != 0u || group.y >= control.count || local >= words {
        return;
    }
    let head = group.x;
    let token = group.y;
    let spans = (control.position + token) / SPAN + 1u;
    let row = token * shape.heads + head;
    let first = row * shape.spans * (words + 1u);
    var highest = -3.4e38;
    for (var j = 0u; j < spans; j++) {
        highest = max(highest, parts[first + j * (words + 1u) + words].x);
    }
    var total = 0.0;
    var sum = vec4<f32>(0.0);
    for (var j = 0u; j < spans; j++) {
        let part = first + j * (words + 1u);
        let ends = parts[part + words];
        let fade = exp(ends.x - highest);
        total += fade * ends.y;
        sum += fade * parts[part + local];
    }
    let at = token * shape.stride + (2u * head + 1u) * HEAD_DIM + 4u * local;
    let gate = vec4<f32>(projections[at], projections[at + 1u], projections[at + 2u], projections[at + 3u]);
    y[row * words + local] = sum / total / (1.0 + exp(-gate));
}
