// Shared by every kernel: where the sequence stands. One small buffer, written by the host before a prefill and
// advanced by the sampler between decode steps, so that many steps can be queued without the host in between.
struct Control {
    position: u32,    // tokens already in the cache before this pass
    count: u32,       // tokens in this pass
    stopped: u32,     // not zero: every kernel returns at once. 1: a stop token or the last one was sampled; 2: the logits
                      // are not numbers
    flip: u32,        // which of the two convolution states is current (0 or 1)
    generated: u32,   // tokens sampled since the host last reset it
    limit: u32,       // sampling stops after so many tokens
    advance: u32,     // 0: the next sampling follows a prefill, whose tokens are in the position already; else 1
    replay: u32,      // tokens of the last verify pass that turned out right; the delta nets have yet to commit them
    draft_passes: u32, // verify passes that had drafted tokens to check, since the host last reset it
    accepted: u32,    // drafted tokens that turned out right in them
    start: u32,       // length of the sequence when sampling began
    reserved: u32,
}
