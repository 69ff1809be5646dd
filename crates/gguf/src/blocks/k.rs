//! What the K formats share: 256 weights a block in groups, with a small integer scale (and minimum) for each group.

/// Scale and minimum of each of the 8 groups of Q4_K and Q5_K, 6 bits each in 12 bytes.
///
/// Groups 0 to 3: scale in the low 6 bits of bytes 0 to 3, minimum in the low 6 bits of bytes 4 to 7. Groups 4 to 7: low
/// 4 bits of scale and minimum in the halves of bytes 8 to 11, their high 2 bits on top of bytes 0 to 3 and 4 to 7.
pub(super) fn unpack_scales(packed: &[u8; 12]) -> [(u8, u8); 8] {
    let mut scales = [(0, 0); 8];
    for group in 0..4 {
        let (low, middle, high) = (packed[group], packed[group + 4], packed[group + 8]);
        scales[group] = (low & 63, middle & 63);
        scales[group + 4] = (high & 15 | (low >> 6) << 4, high >> 4 | (middle >> 6) << 4);
    }
    scales
}

/// The inverse of [`unpack_scales`].
pub(super) fn pack_scales(scales: &[(u8, u8); 8]) -> [u8; 12] {
    let mut packed = [0; 12];
    for group in 0..4 {
        let ((low_scale, low_min), (scale, min)) = (scales[group], scales[group + 4]);
        packed[group] = low_scale | scale >> 4 << 6;
        packed[group + 4] = low_min | min >> 4 << 6;
        packed[group + 8] = scale & 15 | min << 4;
    }
    packed
}

/// Step and minimum that describe `weights` best as `step · q − minimum`, with `q` from 0 to `top` and `minimum ≥ 0`.
///
/// Starts from the extremes, then alternates between rounding the quants and solving for step and minimum by least
/// squares, from a few starting steps, and keeps what had the least error.
pub(super) fn fit_with_minimum(weights: &[f32], top: f32) -> (f32, f32) {
    let lowest = weights.iter().copied().fold(0f32, f32::min);
    let highest = weights.iter().copied().fold(lowest, f32::max);
    if highest <= lowest {
        // All weights are equal and not positive: step 0 and that minimum is exact.
        return (0.0, -lowest);
    }
    let quant = |weight: f32, step: f32, minimum: f32| ((weight + minimum) / step).round().clamp(0.0, top);
    let error = |step: f32, minimum: f32| -> f32 {
        let square = |w: &f32| (step * quant(*w, step, minimum) - minimum - w).powi(2);
        weights.iter().map(square).sum()
    };
    let full = (highest - lowest) / top;
    let mut best = (full, -lowest);
    let mut least = error(best.0, best.1);
    for start in [1.0, 0.95, 0.9, 0.85] {
        let (mut step, mut minimum) = (full * start, -lowest);
        for _ in 0..4 {
            let count = weights.len() as f32;
            let (mut sum_q, mut sum_qq, mut sum_w, mut sum_qw) = (0.0, 0.0, 0.0, 0.0);
            for weight in weights {
                let q = quant(*weight, step, minimum);
                sum_q += q;
                sum_qq += q * q;
                sum_w += weight;
                sum_qw += q * weight;
            }
            let determinant = count * sum_qq - sum_q * sum_q;
            if determinant <= 0.0 {
                break;
            }
            let solved = (count * sum_qw - sum_q * sum_w) / determinant;
            if !solved.is_finite() || solved <= 0.0 {
                break;
            }
            step = solved;
            minimum = ((step * sum_q - sum_w) / count).max(0.0);
            let found = error(step, minimum);
            if found < least {
                (least, best) = (found, (step, minimum));
            }
        }
    }
    best
}

/// Step that describes `weights` best as `step · q`, with `q` from −32 to 31; its sign decides which extreme gets −32.
pub(super) fn fit_signed(weights: &[f32]) -> f32 {
    let largest = weights.iter().fold(0f32, |largest, w| if w.abs() > largest.abs() { *w } else { largest });
    if largest == 0.0 {
        return 0.0;
    }
    let (mut best, mut least) = (largest / -32.0, f32::INFINITY);
    for divisor in [32.0, 31.5, 31.0, 30.5, 30.0, 29.0, 28.0] {
        let first = largest / -divisor;
        let quants = weights.iter().map(|w| (w / first).round().clamp(-32.0, 31.0));
        let (sum_qw, sum_qq) =
            weights.iter().zip(quants).fold((0.0, 0.0), |sums, (w, q)| (sums.0 + q * w, sums.1 + q * q));
        let step = if sum_qq > 0.0 { sum_qw / sum_qq } else { first };
        let square = |w: &f32| (step * (w / step).round().clamp(-32.0, 31.0) - w).powi(2);
        let error: f32 = weights.iter().map(square).sum();
        if error < least {
            (least, best) = (error, step);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_pack_and_unpack() {
        let scales = std::array::from_fn(|group| ((group * 9 + 1) as u8 & 63, 63 - group as u8 * 7));
        assert_eq!(unpack_scales(&pack_scales(&scales)), scales);
        let bytes = std::array::from_fn(|index| (index * 37 + 11) as u8);
        assert_eq!(pack_scales(&unpack_scales(&bytes)), bytes);
    }
}
