//! Blocks taken apart: some bytes at one end to the scale stream, the rest to the main stream.

/// Calls `apart` with each block and its place in the two streams.
pub(super) fn each<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    raw: &[u8],
    main: &mut [u8],
    scales: &mut [u8],
    apart: impl Fn(&[u8; RAW], &mut [u8; MAIN], &mut [u8; SCALE]),
) {
    let streams = main.as_chunks_mut().0.iter_mut().zip(scales.as_chunks_mut().0);
    for (block, (main, scale)) in raw.as_chunks().0.iter().zip(streams) {
        apart(block, main, scale);
    }
}

/// The way back: calls `together` with the parts in the two streams and the block to be made of them.
pub(super) fn each_back<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    main: &[u8],
    scales: &[u8],
    raw: &mut [u8],
    together: impl Fn(&[u8; MAIN], &[u8; SCALE], &mut [u8; RAW]),
) {
    let streams = main.as_chunks().0.iter().zip(scales.as_chunks().0);
    for (block, (main, scale)) in raw.as_chunks_mut().0.iter_mut().zip(streams) {
        together(main, scale, block);
    }
}

/// The first bytes of a block are its scales.
pub(super) fn head<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    block: &[u8; RAW],
    main: &mut [u8; MAIN],
    scale: &mut [u8; SCALE],
) {
    scale.copy_from_slice(&block[..SCALE]);
    main.copy_from_slice(&block[SCALE..]);
}

/// The inverse of [`head`].
pub(super) fn head_back<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    main: &[u8; MAIN],
    scale: &[u8; SCALE],
    block: &mut [u8; RAW],
) {
    block[..SCALE].copy_from_slice(scale);
    block[SCALE..].copy_from_slice(main);
}

/// The last bytes of a block are its scales.
pub(super) fn tail<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    block: &[u8; RAW],
    main: &mut [u8; MAIN],
    scale: &mut [u8; SCALE],
) {
    main.copy_from_slice(&block[..MAIN]);
    scale.copy_from_slice(&block[MAIN..]);
}

/// The inverse of [`tail`].
pub(super) fn tail_back<const RAW: usize, const MAIN: usize, const SCALE: usize>(
    main: &[u8; MAIN],
    scale: &[u8; SCALE],
    block: &mut [u8; RAW],
) {
    block[..MAIN].copy_from_slice(main);
    block[MAIN..].copy_from_slice(scale);
}
