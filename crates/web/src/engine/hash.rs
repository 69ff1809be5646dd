//! SHA-256 in pieces.

use sha2::Digest;
use wasm_bindgen::prelude::*;

/// A running SHA-256.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Sha256(sha2::Sha256);

#[wasm_bindgen]
impl Sha256 {
    /// Of nothing so far.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes in hexadecimal; after it the hash is that of nothing again.
    pub fn hex(&mut self) -> String {
        self.0.finalize_reset().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Sha256;

    #[test]
    fn of_three_letters_in_two_pieces() {
        let mut hash = Sha256::new();
        hash.update(b"a");
        hash.update(b"bc");
        // FIPS 180-4, the example of "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.hex(), abc);
        assert_eq!(hash.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
