//! The tokenizer in a `tokenizer.json`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

use super::vocabulary::{Kind, MAX_TOKENS, Vocabulary};
use super::{Splitter, Tokenizer, bpe::Bpe};
use crate::error::{Error, Result};

/// The file, borrowing every text that holds no escape.
#[derive(Deserialize)]
struct File<'j> {
    #[serde(borrow, default)]
    added_tokens: Vec<AddedToken<'j>>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    #[serde(borrow)]
    model: Model<'j>,
}

#[derive(Deserialize)]
struct AddedToken<'j> {
    id: u32,
    #[serde(borrow)]
    content: Cow<'j, str>,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

#[derive(Deserialize)]
struct Model<'j> {
    #[serde(rename = "type")]
    kind: Option<String>,
    dropout: Option<f32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(borrow)]
    vocab: Vocab<'j>,
    #[serde(borrow)]
    merges: Vec<MergeText<'j>>,
}

/// A text that is borrowed where it can be. serde's own `Cow` inside a list always copies.
#[derive(Deserialize)]
struct Text<'j>(#[serde(borrow)] Cow<'j, str>);

#[derive(Deserialize)]
#[serde(untagged)]
enum MergeText<'j> {
    /// The newer form.
    Pair(#[serde(borrow)] Text<'j>, #[serde(borrow)] Text<'j>),
    /// The older form, with a space between.
    Joined(#[serde(borrow)] Text<'j>),
}

/// The `vocab` object as a list: a map of 248 thousand owned strings is what this avoids.
struct Vocab<'j>(Vec<(Cow<'j, str>, u32)>);

impl<'de: 'j, 'j> Deserialize<'de> for Vocab<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vocab<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tokens and their ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(text), id)) = map.next_entry()? {
                    entries.push((text, id));
                }
                Ok(Vocab(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

pub(super) fn read(json: &[u8]) -> Result<Tokenizer> {
    let file: File<'_> = serde_json::from_slice(json)
        .map_err(|source| Error::Json { what: "tokenizer.json".into(), source })?;
    refuse_variants(&file)?;

    let (mut base, mut added) = (file.model.vocab.0, file.added_tokens);
    base.sort_unstable_by_key(|(_, id)| *id);
    added.sort_by_key(|token| token.id);
    let last = base.last().map(|(_, id)| *id).max(added.last().map(|token| token.id));
    let Some(last) = last.filter(|last| (*last as usize) < MAX_TOKENS) else {
        return Err(Error::vocabulary(format!("the highest token id is {last:?}")));
    };

    let bytes = base.iter().map(|(text, _)| text.len()).sum();
    let mut vocabulary = Vocabulary::with_capacity(last as usize + 1, bytes);
    let (mut base, mut added) = (base.into_iter().peekable(), added.into_iter().peekable());
    for id in 0..=last {
        let token = added.next_if(|token| token.id == id);
        let text = base.next_if(|(_, other)| *other == id);
        match (token, text) {
            // An added token may lie in the model's vocabulary too; it is split out before merging either way.
            (Some(token), _) => {
                vocabulary.push_added(&token.content, Kind::of_added(&token.content, token.special))?;
            }
            (None, Some((text, _))) => vocabulary.push_base(&text)?,
            (None, None) => vocabulary.push_unused()?,
        }
    }
    // What is left has an id that was taken.
    if let Some(id) = base.next().map(|(_, id)| id).or(added.next().map(|token| token.id)) {
        return Err(Error::vocabulary(format!("two tokens have the id {id}")));
    }

    let pairs = file.model.merges.iter().enumerate().map(|(rank, merge)| match merge {
        MergeText::Pair(Text(left), Text(right)) => Ok((left.as_ref(), right.as_ref())),
        MergeText::Joined(Text(both)) => both
            .split_once(' ')
            .ok_or_else(|| Error::vocabulary(format!("merge {rank}, `{both}`, is not two tokens"))),
    });
    let bpe = Bpe::new(&vocabulary, pairs)?;
    Tokenizer::assemble(vocabulary, bpe, Splitter::new(file.normalizer, file.pre_tokenizer)?)
}

/// Refuses what would need another algorithm than byte-level merging.
fn refuse_variants(file: &File<'_>) -> Result<()> {
    let model = &file.model;
    let refuse = |problem: &str| Err(Error::vocabulary(problem));
    if let Some(kind) = &model.kind
        && kind != "BPE"
    {
        return Err(Error::vocabulary(format!("the model is of type `{kind}`, only `BPE` is supported")));
    }
    if model.dropout.is_some_and(|dropout| dropout != 0.0) {
        return refuse("merges with dropout are not supported");
    }
    if model.unk_token.is_some() || model.byte_fallback {
        return refuse("unknown tokens and byte fallback are not supported, only byte-level BPE");
    }
    let affixes = [&model.continuing_subword_prefix, &model.end_of_word_suffix];
    if affixes.into_iter().flatten().any(|affix| !affix.is_empty()) {
        return refuse("word prefixes and suffixes are not supported");
    }
    if model.ignore_merges {
        return refuse("ignore_merges is not supported");
    }
    if let Some(token) =
        file.added_tokens.iter().find(|token| token.single_word || token.lstrip || token.rstrip)
    {
        return Err(Error::vocabulary(format!(
            "the added token `{}` is to be matched with its surroundings, which is not supported",
            token.content
        )));
    }
    Ok(())
}
