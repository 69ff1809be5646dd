// What Q5_0 and Q5_1 share: blocks of 32 weights with their low nibbles in 16 bytes, laid out as Q4_0, and their fifth
// bits in a word, that of weight 16·h + 4·g + b at bit 8·b + 4·h + g (reordered by glowworm_gguf::repack).
fn join_low(nibbles: vec4<u32>, fifth: u32) -> vec4<u32> {
    let bits = (vec4<u32>(fifth) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x01010101u);
    return (nibbles & vec4<u32>(0x0f0f0f0fu)) | (bits << vec4<u32>(4u));
}
fn join_high(nibbles: vec4<u32>, fifth: u32) -> vec4<u32> {
    return join_low(nibbles >> vec4<u32>(4u), fifth >> 4u);
}
