// Shared by every kernel: where the sequence stands. One small buffer, written by the host before a prefill and
// advanced by the sampler between decode steps, so that many steps can be queued without the host in between.
struct Control {
    position: u32,    // tokens already in the cache before this pass
    count: u32,       // tokens in this pass
    stopped: u32,     // not zero: a stop token was sampled, every kernel returns at once
    flip: u32,        // which of the two convolution states is current (0 or 1)
    generated: u32,   // tokens sampled since the host last reset it
    limit: u32,       // sampling stops after so many tokens
    advance: u32,     // tokens that the next sampling adds to the position: 0 right after a prefill, then 1
    reserved: u32,
}
