// Every weight format is read in items of 32 weights, as two runs of 16 consecutive weights of one row:
//     w = scale · q − offset
// A format file declares the matrix's bindings and the functions
//     load_item(row, item) -> Item     item i of a row, 0 <= i < shape.items
//     run_a(item), run_b(item) -> u32  position in the row of the first weight of each run, in units of 4 weights
// so that the matrix-vector, matrix-matrix and embedding kernels are written once. Items 2i and 2i+1 always cover
// the 64 consecutive weights from 64·i.
struct Item {
    a0: vec4<f32>, a1: vec4<f32>, a2: vec4<f32>, a3: vec4<f32>,
    b0: vec4<f32>, b1: vec4<f32>, b2: vec4<f32>, b3: vec4<f32>,
    scale_a: f32, offset_a: f32, scale_b: f32, offset_b: f32,
}

fn bytes_to_float(word: u32) -> vec4<f32> { return vec4<f32>(unpack4xU8(word)); }
