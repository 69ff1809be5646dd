//! The tensor types of ggml: identifier, name, block size.

/// How the weights of a tensor are stored.
///
/// Every type that ggml defines is listed, because a file may hold tensors that nobody is going to use (a
/// multi-token-prediction block, say) and the directory must still be checked for sizes and overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, non_camel_case_types)]
pub enum TensorType {
    F32,
    F16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q8_1,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Q8K,
    IQ2_XXS,
    IQ2_XS,
    IQ3_XXS,
    IQ1_S,
    IQ4_NL,
    IQ3_S,
    IQ2_S,
    IQ4_XS,
    I8,
    I16,
    I32,
    I64,
    F64,
    IQ1_M,
    BF16,
    TQ1_0,
    TQ2_0,
    MXFP4,
    NVFP4,
    Q1_0,
}

/// Type, identifier in the file, name, weights a block, bytes a block (ggml's `type_traits` table).
const TABLE: &[(TensorType, u32, &str, u64, u64)] = &[
    (TensorType::F32, 0, "F32", 1, 4),
    (TensorType::F16, 1, "F16", 1, 2),
    (TensorType::Q4_0, 2, "Q4_0", 32, 18),
    (TensorType::Q4_1, 3, "Q4_1", 32, 20),
    (TensorType::Q5_0, 6, "Q5_0", 32, 22),
    (TensorType::Q5_1, 7, "Q5_1", 32, 24),
    (TensorType::Q8_0, 8, "Q8_0", 32, 34),
    (TensorType::Q8_1, 9, "Q8_1", 32, 36),
    (TensorType::Q2K, 10, "Q2_K", 256, 84),
    (TensorType::Q3K, 11, "Q3_K", 256, 110),
    (TensorType::Q4K, 12, "Q4_K", 256, 144),
    (TensorType::Q5K, 13, "Q5_K", 256, 176),
    (TensorType::Q6K, 14, "Q6_K", 256, 210),
    (TensorType::Q8K, 15, "Q8_K", 256, 292),
    (TensorType::IQ2_XXS, 16, "IQ2_XXS", 256, 66),
    (TensorType::IQ2_XS, 17, "IQ2_XS", 256, 74),
    (TensorType::IQ3_XXS, 18, "IQ3_XXS", 256, 98),
    (TensorType::IQ1_S, 19, "IQ1_S", 256, 50),
    (TensorType::IQ4_NL, 20, "IQ4_NL", 32, 18),
    (TensorType::IQ3_S, 21, "IQ3_S", 256, 110),
    (TensorType::IQ2_S, 22, "IQ2_S", 256, 82),
    (TensorType::IQ4_XS, 23, "IQ4_XS", 256, 136),
    (TensorType::I8, 24, "I8", 1, 1),
    (TensorType::I16, 25, "I16", 1, 2),
    (TensorType::I32, 26, "I32", 1, 4),
    (TensorType::I64, 27, "I64", 1, 8),
    (TensorType::F64, 28, "F64", 1, 8),
    (TensorType::IQ1_M, 29, "IQ1_M", 256, 56),
    (TensorType::BF16, 30, "BF16", 1, 2),
    (TensorType::TQ1_0, 34, "TQ1_0", 256, 54),
    (TensorType::TQ2_0, 35, "TQ2_0", 256, 66),
    (TensorType::MXFP4, 39, "MXFP4", 32, 17),
    (TensorType::NVFP4, 40, "NVFP4", 64, 36),
    (TensorType::Q1_0, 41, "Q1_0", 128, 18),
];

impl TensorType {
    fn row(self) -> &'static (TensorType, u32, &'static str, u64, u64) {
        // The table lists the variants in the order of their declaration (checked by a test).
        &TABLE[self as usize]
    }

    /// Every type.
    pub fn all() -> impl Iterator<Item = TensorType> {
        TABLE.iter().map(|row| row.0)
    }

    /// The type of an identifier in a file; `None` for removed and unknown ones.
    pub fn from_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == id).map(|row| row.0)
    }

    /// The type of a name as llama.cpp writes it, as in `Q4_K`; case does not matter.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.2.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    /// The identifier in a file.
    pub fn id(self) -> u32 {
        self.row().1
    }

    /// The name as llama.cpp writes it, as in `Q4_K`.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Weights in one block; rows are a whole number of blocks.
    pub fn block_weights(self) -> u64 {
        self.row().3
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> u64 {
        self.row().4
    }

    /// Whether this crate can dequantise and repack the type. Others are known by size only.
    pub fn is_supported(self) -> bool {
        use TensorType::*;
        let floats = matches!(self, F32 | F16 | BF16);
        let of_32 = matches!(self, Q4_0 | Q4_1 | Q5_0 | Q5_1 | Q8_0 | IQ4_NL);
        let of_256 = matches!(self, Q2K | Q3K | Q4K | Q5K | Q6K | IQ4_XS);
        floats || of_32 || of_256
    }
}

impl std::fmt::Display for TensorType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_declaration_order_and_consistent() {
        for (index, kind) in TensorType::all().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(TensorType::from_id(kind.id()), Some(kind));
            assert_eq!(TensorType::from_name(kind.name()), Some(kind));
        }
        assert_eq!(TensorType::from_id(4), None, "Q4_2 was removed from ggml");
    }
}
