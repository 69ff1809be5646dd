// Guesses the tokens that follow (prompt lookup): where the last tokens of the sequence occurred before, what came after them
// then. Of all places the one with the longest match counts, of equals the latest. An agent's turns repeat names, calls and
// whole queries, so this is right often; the verify pass that follows finds out.
//     end* = argmax_{end} (min(match(end), LONGEST), end),  match(end) = max m: sequence[end − m, end) = sequence[length − m, length)
//
// Dispatch: one workgroup of 256, each invocation takes every 256th place.
// Burn twin: none; it never changes what is generated.
const SIZE: u32 = 256u;
const SHORTEST: u32 = 2u;     // shorter matches are chance
const LONGEST: u32 = 12u;
override MOST_DRAFTS: u32 = 3u;

@group(0) @binding(0) var<storage, read> sequence: array<u32>;         // [context]
@group(0) @binding(1) var<storage, read_write> ids: array<u32>;        // the next pass's input; the first is there
@group(0) @binding(2) var<storage, read_write> control: Control;

var<workgroup> best: atomic<u32>;   // match · 2²⁴ + end
var<workgroup> sequence_length: u32; // 0: generation is over

@compute @workgroup_size(SIZE)
fn main(@builtin(local_invocation_index) local: u32) {
    if local == 0u {
        atomicStore(&best, 0u);
        sequence_length = select(0u, control.start + control.generated, control.stopped == 0u);
    }
    let length = workgroupUniformLoad(&sequence_length);
    if length == 0u {
        return;
    }
    var found = 0u;
    for (var end = SHORTEST + local; end < length; end += SIZE) {
        var matched = 0u;
        while matched < min(LONGEST, end) && sequence[end - 1u - matched] == sequence[length - 1u - matched] {
            matched++;
        }
        if matched >= SHORTEST {
            found = max(found, (matched << 24u) | end);
        }
    }
    atomicMax(&best, found);
    workgroupBarrier();
    if local != 0u {
        return;
    }
    found = atomicLoad(&best);
    if found == 0u {
        return;
    }
    let end = found & 0xffffffu;
    // No more than may still be sampled: the cache has no room for others.
    let most = min(min(MOST_DRAFTS, length - end), control.limit - control.generated - 1u);
    for (var i = 0u; i < most; i++) {
        ids[i + 1u] = sequence[end + i];
    }
    control.count = 1u + most;
}
