//! Finding added tokens in a text.

use aho_corasick::{AhoCorasick, MatchKind};

use super::vocabulary::{Kind, Vocabulary};
use crate::error::{Error, Result};

/// Most added tokens a vocabulary may have: the published ones have 33, and a search is built over all of them.
const MAX_ADDED: usize = 1 << 16;

/// Two searches: one for text that the chat template wrote, one for text from outside.
#[derive(Debug)]
pub(super) struct Added {
    all: Finder,
    phrases: Finder,
}

#[derive(Debug)]
struct Finder {
    ids: Vec<u32>,
    search: Option<AhoCorasick>,
}

impl Added {
    pub fn new(vocabulary: &Vocabulary) -> Result<Self> {
        Ok(Self {
            all: Finder::new(vocabulary, Kind::is_added)?,
            phrases: Finder::new(vocabulary, |kind| kind == Kind::Phrase)?,
        })
    }

    /// The ids of all added tokens.
    pub fn ids(&self) -> &[u32] {
        &self.all.ids
    }

    /// Calls `each` with the stretches of ordinary text and the added tokens in `text`, in order. Without `markup`,
    /// tokens that structure a conversation are ordinary text too.
    pub fn split<'t>(
        &self,
        text: &'t str,
        markup: bool,
        mut each: impl FnMut(Part<'t>) -> Result<()>,
    ) -> Result<()> {
        let finder = if markup { &self.all } else { &self.phrases };
        let mut rest = 0;
        if let Some(search) = &finder.search {
            for found in search.find_iter(text) {
                // Patterns and text are both UTF-8, so matches lie on character borders.
                each(Part::Text(text.get(rest..found.start()).unwrap_or_default()))?;
                if let Some(id) = finder.ids.get(found.pattern().as_usize()) {
                    each(Part::Token(*id))?;
                }
                rest = found.end();
            }
        }
        each(Part::Text(text.get(rest..).unwrap_or_default()))
    }
}

/// A part of a text.
pub(super) enum Part<'t> {
    Text(&'t str),
    Token(u32),
}

impl Finder {
    fn new(vocabulary: &Vocabulary, wanted: impl Fn(Kind) -> bool) -> Result<Self> {
        let ids: Vec<u32> = vocabulary.ids(wanted).take(MAX_ADDED + 1).collect();
        if ids.len() > MAX_ADDED {
            return Err(Error::vocabulary(format!("there are more than {MAX_ADDED} added tokens")));
        }
        let mut sorted: Vec<u32> = ids.clone();
        sorted.sort_by_key(|id| vocabulary.bytes(*id));
        let twins = sorted.windows(2).find_map(|pair| match pair {
            [a, b] if vocabulary.bytes(*a) == vocabulary.bytes(*b) => Some((*a, *b)),
            _ => None,
        });
        if let Some((a, b)) = twins {
            return Err(Error::vocabulary(format!(
                "added tokens {a} and {b} are the same, {:?}",
                String::from_utf8_lossy(vocabulary.bytes(a))
            )));
        }
        if ids.is_empty() {
            return Ok(Self { ids, search: None });
        }
        // As the `tokenizers` crate does: the first place where any begins, there the longest.
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(ids.iter().map(|id| vocabulary.bytes(*id)))
            .map_err(|error| Error::vocabulary(format!("searching for added tokens: {error}")))?;
        Ok(Self { ids, search: Some(search) })
    }
}
