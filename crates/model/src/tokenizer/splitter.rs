//! From text to the pieces that merging works within.

use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    NormalizedString, Normalizer, NormalizerWrapper, OffsetReferential, OffsetType, PreTokenizedString,
    PreTokenizer, PreTokenizerWrapper, SplitDelimiterBehavior,
};

use super::vocabulary::decode_into;
use crate::error::{Error, Result};

/// The expression of `tokenizer.ggml.pre = qwen35`, as Qwen3.5's own tokenizer.json has it: contractions, words with
/// their marks, single digits, punctuation, line ends, white space.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Normaliser and pre-tokenizer of the `tokenizers` crate.
#[derive(Debug)]
pub(super) struct Splitter {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: PreTokenizerWrapper,
    /// Whether the pre-tokenizer writes its pieces in the byte-level alphabet.
    encoded: bool,
}

impl Splitter {
    /// The splitter that a GGUF file means by a name.
    pub fn named(name: &str) -> Result<Self> {
        if name != "qwen35" {
            return Err(Error::vocabulary(format!(
                "tokenizer.ggml.pre is `{name}`, only `qwen35` is supported"
            )));
        }
        let split = Split::new(SplitPattern::Regex(QWEN35.into()), SplitDelimiterBehavior::Isolated, false)
            .map_err(|error| Error::vocabulary(format!("the split expression: {error}")))?;
        // llama.cpp leaves out the normalisation; the model was trained with it.
        Ok(Self {
            normalizer: Some(NormalizerWrapper::NFC(NFC)),
            pre_tokenizer: PreTokenizerWrapper::Split(split),
            encoded: false,
        })
    }

    /// The splitter of a tokenizer.json, whose last step must be the byte-level alphabet.
    pub fn new(
        normalizer: Option<NormalizerWrapper>,
        pre_tokenizer: Option<PreTokenizerWrapper>,
    ) -> Result<Self> {
        let missing =
            || Error::vocabulary("the pre-tokenizer does not end with ByteLevel: not a byte-level BPE");
        let mut steps = match pre_tokenizer {
            Some(PreTokenizerWrapper::Sequence(sequence)) => sequence.into_iter().collect(),
            Some(step) => vec![step],
            None => return Err(missing()),
        };
        let Some(PreTokenizerWrapper::ByteLevel(last)) = steps.last() else { return Err(missing()) };
        // Without an expression of its own that step only changes the alphabet, and merging starts from bytes:
        // leaving it out saves writing every piece twice.
        let encoded = last.use_regex || last.add_prefix_space || steps.len() == 1;
        if !encoded {
            steps.pop();
        }
        let earlier =
            if encoded { steps.split_last().map_or(&[][..], |(_, earlier)| earlier) } else { &steps };
        let nested =
            |step| matches!(step, &PreTokenizerWrapper::ByteLevel(_) | &PreTokenizerWrapper::Sequence(_));
        if earlier.iter().any(nested) {
            return Err(Error::vocabulary(
                "the pre-tokenizer has ByteLevel or a sequence before its last step",
            ));
        }
        Ok(Self { normalizer, pre_tokenizer: PreTokenizerWrapper::Sequence(Sequence::new(steps)), encoded })
    }

    /// Calls `each` with the bytes of every piece, in order.
    pub fn split(&self, text: &str, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let failed = |error: tokenizers::Error| Error::Encode { problem: error.to_string() };
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = &self.normalizer {
            normalizer.normalize(&mut normalized).map_err(failed)?;
        }
        let mut pieces = PreTokenizedString::from(normalized);
        self.pre_tokenizer.pre_tokenize(&mut pieces).map_err(failed)?;
        let mut bytes = Vec::new();
        for (piece, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            if !self.encoded {
                each(piece.as_bytes())?;
                continue;
            }
            bytes.clear();
            if let Some(odd) = decode_into(piece, &mut bytes) {
                return Err(Error::Encode { problem: format!("the splitter left {odd:?} unencoded") });
            }
            each(&bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;

    use super::*;

    /// Pieces of `text` by a splitter.
    fn pieces(splitter: &Splitter, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let collect = |piece: &[u8]| {
            pieces.push(String::from_utf8(piece.to_vec()).unwrap());
            Ok(())
        };
        splitter.split(text, collect).unwrap();
        pieces
    }

    #[test]
    fn qwen35_pieces() {
        let splitter = Splitter::named("qwen35").unwrap();
        assert_eq!(pieces(&splitter, "don't 42\n x  y"), ["don", "'t", " ", "4", "2", "\n", " x", " ", " y"]);
        // Marks stay with their letters; a decomposed letter is composed first.
        assert_eq!(pieces(&splitter, "हिन्दी e\u{301}"), ["हिन्दी", " é"]);
        assert!(pieces(&splitter, "").is_empty());
        assert!(Splitter::named("qwen2").unwrap_err().to_string().contains("qwen2"));
    }

    #[test]
    fn a_byte_level_step_with_its_own_expression_is_kept() {
        let own = PreTokenizerWrapper::ByteLevel(ByteLevel::new(true, false, true));
        let splitter = Splitter::new(None, Some(own)).unwrap();
        assert_eq!(pieces(&splitter, "été 42"), [" été", " 42"]);
        assert!(Splitter::new(None, None).is_err());
    }
}
