// The values that the nibbles of IQ4_NL and IQ4_XS stand for, of four nibbles in the bytes of a word:
//     -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
// They lie within 0.436 of a polynomial, so rounding it gives each of them exactly. That is less work than a table in
// registers, which no shader can index, and needs no memory.
fn codebook(nibbles: u32) -> vec4<f32> {
    let q = bytes_to_float(nibbles);
    return round((((0.001586 * q + 0.031086) * q - 1.3719) * q + 24.174) * q - 126.57);
}
