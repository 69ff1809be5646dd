// The next token from the logits, and the step to the next position. After a verify pass (VERIFY) there are logits after
// each of its tokens: the token drawn after the first is kept, and as long as the one drawn is the one that was drafted,
// the next is too. What is drawn depends only on the logits and on the number of the token, so drafts never change it.
//     temperature 0: the largest logit, the lowest id among equals.
//     else: logits / temperature; keep those not below the top_k-th largest (0: all); softmax; of these keep the
//     most likely whose more likely ones hold less than top_p together; draw one by the Gumbel-max trick: the largest
//     of logit + gumbel(seed, number of the token, id), which needs no prefix sums and is the same on every adapter.
//
// Dispatch: one workgroup of 256. The top_k-th value is found by radix selection, 8 bits a pass. Up to 256 survivors
// are sorted in workgroup memory; more than that (top_k 0 or large) are scanned in place, top_p by bisection.
struct Sampling {
    vocab: u32,        // ids from here on are never sampled (rows without a token)
    top_k: u32,        // 0: off
    temperature: f32,  // 0: greedy
    top_p: f32,        // 1: off
    seed: u32,
    stop_count: u32,
    reserved: u32,
    stride: u32,       // length of a row of logits
    stops: array<vec4<u32>, 2>, // up to 8 stop tokens
}

override VERIFY: bool = false;

@group(0) @binding(0) var<storage, read> all_logits: array<f32>;       // [tokens, stride]
@group(0) @binding(1) var<storage, read_write> ids: array<u32>;        // this pass's input, then the next one's
@group(0) @binding(2) var<storage, read_write> sequence: array<u32>;   // [context]: what was read and what was sampled
@group(0) @binding(3) var<storage, read_write> control: Control;
@group(0) @binding(4) var<uniform> sampling: Sampling;

const SIZE: u32 = 256u;
const LOWEST: f32 = -3.4e38;
var<workgroup> histogram: array<atomic<u32>, SIZE>;
var<workgroup> list_count: atomic<u32>;
var<workgroup> list_ids: array<u32, SIZE>;
var<workgroup> list_values: array<f32, SIZE>;
var<workgroup> sorted_ids: array<u32, SIZE>;
var<workgroup> sorted_values: array<f32, SIZE>;
var<workgroup> values: array<f32, SIZE>;
var<workgroup> tokens: array<u32, SIZE>;
var<workgroup> chosen_bin: u32;
var<workgroup> chosen_above: u32;
var<workgroup> row_count: u32; // rows of logits to look at; 0: generation is over
var<workgroup> goes_on: u32;

// A row of logits is numbered as the tokens sampled in this pass.
fn logit(row: u32, token: u32) -> f32 { return all_logits[row * sampling.stride + token]; }

// Floats as integers in the same order.
fn order_key(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

// A PCG step and output permutation: a good hash of one word.
fn hash(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

fn gumbel(row: u32, token: u32) -> f32 {
    let bits = hash(hash(hash(sampling.seed) + control.generated + row) + token) >> 9u;
    let uniform_value = (f32(bits) + 0.5) * (1.0 / 8388608.0);
    return -log(-log(uniform_value));
}

fn better(value: f32, token: u32, than_value: f32, than_token: u32) -> bool {
    return value > than_value || (value == than_value && token < than_token);
}

// The best of all invocations' candidates, in every invocation. Begins and ends with a barrier.
fn reduce_best(local: u32, value: f32, token: u32) -> u32 {
    workgroupBarrier();
    values[local] = value;
    tokens[local] = token;
    for (var step = SIZE / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if local < step && better(values[local + step], tokens[local + step], values[local], tokens[local]) {
            values[local] = values[local + step];
            tokens[local] = tokens[local + step];
        }
    }
    return workgroupUniformLoad(&tokens[0]);
}

fn reduce_sum(local: u32, value: f32) -> f32 {
    workgroupBarrier();
    values[local] = value;
    for (var step = SIZE / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if local < step {
            values[local] += values[local + step];
        }
    }
    return workgroupUniformLoad(&values[0]);
}

// The order key of the top_k-th largest logit, by four passes over the logits of 8 bits each.
fn select_key(row: u32, local: u32) -> u32 {
    var prefix = 0u;
    var wanted = sampling.top_k;
    for (var pass_number = 0u; pass_number < 4u; pass_number++) {
        let shift = 24u - 8u * pass_number;
        atomicStore(&histogram[local], 0u);
        workgroupBarrier();
        for (var i = local; i < sampling.vocab; i += SIZE) {
            let key = order_key(logit(row, i));
            // In the first pass every key counts; later only those that share the bits found so far.
            if pass_number == 0u || (key >> ((shift + 8u) & 31u)) == prefix {
                atomicAdd(&histogram[(key >> shift) & 255u], 1u);
            }
        }
        workgroupBarrier();
        if local == 0u {
            var above = 0u;
            var bin = 255u;
            while bin > 0u && above + atomicLoad(&histogram[bin]) < wanted {
                above += atomicLoad(&histogram[bin]);
                bin--;
            }
            chosen_bin = bin;
            chosen_above = above;
        }
        let bin = workgroupUniformLoad(&chosen_bin);
        wanted -= workgroupUniformLoad(&chosen_above);
        prefix = (prefix << 8u) | bin;
    }
    return prefix;
}

// Sampling among at most SIZE survivors, sorted.
fn choose_from_list(row: u32, local: u32, count: u32) -> u32 {
    // Sort by rank: the number of survivors that come before this one.
    if local < count {
        var rank = 0u;
        for (var i = 0u; i < count; i++) {
            rank += select(0u, 1u, better(list_values[i], list_ids[i], list_values[local], list_ids[local]));
        }
        sorted_values[rank] = list_values[local];
        sorted_ids[rank] = list_ids[local];
    }
    workgroupBarrier();
    var value = LOWEST;
    var token = 0u;
    if local < count {
        var total = 0.0;
        var before = 0.0;
        for (var i = 0u; i < count; i++) {
            let mass = exp((sorted_values[i] - sorted_values[0]) / sampling.temperature);
            total += mass;
            if i < local {
                before += mass;
            }
        }
        token = sorted_ids[local];
        if local == 0u || before < sampling.top_p * total {
            value = sorted_values[local] / sampling.temperature + gumbel(row, token);
        }
    }
    return reduce_best(local, value, token);
}

// Sampling among any number of survivors, those with key >= lowest_key.
fn choose_by_scan(row: u32, local: u32, lowest_key: u32, highest: f32) -> u32 {
    var cut = lowest_key;
    if sampling.top_p < 1.0 {
        var mass = 0.0;
        for (var i = local; i < sampling.vocab; i += SIZE) {
            if order_key(logit(row, i)) >= lowest_key {
                mass += exp((logit(row, i) - highest) / sampling.temperature);
            }
        }
        let wanted = sampling.top_p * reduce_sum(local, mass);
        // A key stays while the mass above it is less than wanted: bisect for the smallest such key.
        var low = lowest_key;
        var high = order_key(highest);
        while low < high {
            let middle = low + (high - low) / 2u;
            var above = 0.0;
            for (var i = local; i < sampling.vocab; i += SIZE) {
                if order_key(logit(row, i)) > middle {
                    above += exp((logit(row, i) - highest) / sampling.temperature);
                }
            }
            if reduce_sum(local, above) < wanted {
                high = middle;
            } else {
                low = middle + 1u;
            }
        }
        cut = high;
    }
    var value = LOWEST;
    var token = 0u;
    for (var i = local; i < sampling.vocab; i += SIZE) {
        if order_key(logit(row, i)) >= cut {
            let candidate = logit(row, i) / sampling.temperature + gumbel(row, i);
            if better(candidate, i, value, token) {
                value = candidate;
                token = i;
            }
        }
    }
    return reduce_best(local, value, token);
}

// One token from the present row of logits.
fn choose(row: u32, local: u32) -> u32 {
    var value = LOWEST;
    var token = 0u;
    for (var i = local; i < sampling.vocab; i += SIZE) {
        if better(logit(row, i), i, value, token) {
            value = logit(row, i);
            token = i;
        }
    }
    let likeliest = reduce_best(local, value, token);
    if sampling.temperature == 0.0 || sampling.top_k == 1u {
        return likeliest;
    }
    var lowest_key = 0u;
    var count = sampling.vocab;
    if sampling.top_k > 0u && sampling.top_k < sampling.vocab {
        lowest_key = select_key(row, local);
        if local == 0u {
            atomicStore(&list_count, 0u);
        }
        workgroupBarrier();
        for (var i = local; i < sampling.vocab; i += SIZE) {
            if order_key(logit(row, i)) >= lowest_key {
                let slot = atomicAdd(&list_count, 1u);
                if slot < SIZE {
                    list_ids[slot] = i;
                    list_values[slot] = logit(row, i);
                }
            }
        }
        workgroupBarrier();
        if local == 0u {
            chosen_above = atomicLoad(&list_count);
        }
        count = workgroupUniformLoad(&chosen_above);
    }
    if count <= SIZE && lowest_key > 0u {
        return choose_from_list(row, local, count);
    }
    return choose_by_scan(row, local, lowest_key, logit(row, likeliest));
}

// Whether sampling ends with `token`, the `count`th.
fn is_last(token: u32, count: u32) -> bool {
    var last = count >= control.limit;
    for (var i = 0u; i < sampling.stop_count; i++) {
        last = last || sampling.stops[i / 4u][i % 4u] == token;
    }
    return last;
}

@compute @workgroup_size(SIZE)
fn main(@builtin(local_invocation_index) local: u32) {
    if local == 0u {
        // After a prefill there is only its last token's row.
        row_count = select(1u, control.count, VERIFY && control.advance != 0u);
        if control.stopped != 0u {
            row_count = 0u;
        }
    }
    let rows = workgroupUniformLoad(&row_count);
    if rows == 0u {
        return;
    }
    var choice = 0u;
    var row = 0u;
    for (; row < rows; row++) {
        choice = choose(row, local);
        if local == 0u {
            let count = control.generated + row + 1u;
            sequence[control.start + count - 1u] = choice;
            let ends = is_last(choice, count);
            // By its bits: compilers may take for granted that there is no such number.
            let is_number = (bitcast<u32>(logit(row, choice)) & 0x7f800000u) != 0x7f800000u;
            if !is_number {
                control.stopped = 2u;
            } else if ends {
                control.stopped = 1u;
            }
            goes_on = select(0u, 1u, !ends && is_number && row + 1u < rows && ids[row + 1u] == choice);
        }
        if workgroupUniformLoad(&goes_on) == 0u {
            break;
        }
    }
    if local == 0u {
        let sampled = row + 1u;
        // The pass's tokens that were right: its first and the drafts that were drawn.
        let read = sampled * control.advance;
        control.generated += sampled;
        control.position += read;
        control.flip ^= control.advance;
        if VERIFY {
            control.replay = read;
            control.draft_passes += select(0u, 1u, rows > 1u);
            control.accepted += sampled - 1u;
        }
        control.advance = 1u;
        control.count = 1u;
        ids[0] = choice;
    }
}
