//! The models of the chain: a piece of spelled text in, tokens out.
//!
//! They work on the tokens as tokenizer.json spells them, which is text. `bpe` merges characters, `unigram` takes the
//! path of the best score, `word_piece` the longest match again and again, `word_level` whole pieces.

mod bpe;
mod trie;
mod unigram;
mod word_level;
mod word_piece;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::vocabulary::Vocabulary;

/// A token of a piece: its id, and the bytes of the piece that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    pub start: u32,
    pub end: u32,
    /// Whether it stands for text that no token spells, but goes by that text.
    pub is_text: bool,
}

/// Tokens that a call does not give for text, by id: the model works as if its vocabulary had them not. Exempt are the
/// token for what is unknown, where it stands for that, and what spells a single character or byte of BPE.
#[derive(Debug, Default)]
pub struct Forbidden(Vec<bool>);

impl Forbidden {
    pub fn contains(&self, id: u32) -> bool {
        self.0.get(id as usize).copied().unwrap_or(false)
    }

    /// `id`, unless it is one of these.
    fn pass(&self, id: u32) -> Option<u32> {
        Some(id).filter(|&id| !self.contains(id))
    }
}

impl FromIterator<u32> for Forbidden {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut has = Vec::new();
        for id in ids {
            let place = id as usize;
            has.resize(has.len().max(place + 1), false);
            has.iter_mut().skip(place).take(1).for_each(|slot| *slot = true);
        }
        Self(has)
    }
}

/// A model as tokenizer.json writes it, without its vocabulary and merges.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Options {
    #[serde(rename = "BPE")]
    Bpe(bpe::Options),
    Unigram(unigram::Options),
    WordPiece(word_piece::Options),
    WordLevel {
        unk_token: String,
    },
}

#[derive(Debug)]
pub enum Model {
    Bpe(bpe::Bpe),
    Unigram(unigram::Unigram),
    WordPiece(word_piece::WordPiece),
    WordLevel(word_level::WordLevel),
}

impl Model {
    /// The model that the JSON text `options` describes. `scores` is one a token for Unigram, `merges` are the pairs of
    /// BPE.
    pub fn new(options: &str, vocabulary: Vocabulary, scores: &[f64], merges: &[[u32; 2]]) -> Result<Self> {
        let options = serde_json::from_str(options).map_err(|error| Error::Spec(format!("model: {error}")))?;
        if let Some((id, _)) = vocabulary.iter().find(|(_, token)| std::str::from_utf8(token).is_err()) {
            return Err(Error::Spec(format!("model: expected tokens that are text, found other bytes as token {id}")));
        }
        Ok(match options {
            Options::Bpe(options) => Self::Bpe(bpe::Bpe::new(options, vocabulary, merges)?),
            Options::Unigram(options) => Self::Unigram(unigram::Unigram::new(&options, vocabulary, scores)?),
            Options::WordPiece(options) => Self::WordPiece(word_piece::WordPiece::new(options, vocabulary)),
            Options::WordLevel { unk_token } => Self::WordLevel(word_level::WordLevel::new(unk_token, vocabulary)),
        })
    }

    /// Appends the tokens of `piece`.
    pub fn tokenize(
        &self,
        piece: &str,
        forbidden: &Forbidden,
        tokens: &mut Vec<Token>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        match self {
            Self::Bpe(model) => model.tokenize(piece, forbidden, tokens, pulse),
            Self::Unigram(model) => model.tokenize(piece, forbidden, tokens, pulse),
            Self::WordPiece(model) => model.tokenize(piece, forbidden, tokens, pulse),
            Self::WordLevel(model) => model.tokenize(piece, forbidden, tokens),
        }
    }

    /// Where the part of `piece` ends that begins at `start` and can be tokenized alone.
    pub fn part_end(&self, piece: &str, start: usize, pulse: &mut Pulse) -> Result<usize> {
        match self {
            Self::Bpe(model) => model.part_end(piece, start, pulse),
            _ => Ok(piece.len()),
        }
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        match self {
            Self::Bpe(model) => model.vocabulary(),
            Self::Unigram(model) => model.vocabulary(),
            Self::WordPiece(model) => model.vocabulary(),
            Self::WordLevel(model) => model.vocabulary(),
        }
    }

    /// The id of the token with this spelling.
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        match self {
            Self::Unigram(model) => model.id(token),
            _ => self.vocabulary().find(token).map(|(_, id)| id),
        }
    }

    /// How pieces become tokens.
    pub fn certificate(&self) -> &'static str {
        match self {
            Self::Bpe(_) => "merges of characters, by a heap: n log n for a piece of n characters",
            Self::Unigram(_) => "the best path: n times the longest token for a piece of n bytes",
            Self::WordPiece(_) => "the longest match, by a trie: n times the longest token for a piece of n bytes",
            Self::WordLevel(_) => "one look-up a piece",
        }
    }
}

/// The ids of the tokens `<0x00>` to `<0xFF>`, by which a text without tokens is spelled a byte at a time.
fn byte_tokens(vocabulary: &Vocabulary) -> Vec<Option<u32>> {
    let id = |byte: u8| vocabulary.find(format!("<0x{byte:02X}>").as_bytes()).map(|(_, id)| id);
    (0..=u8::MAX).map(id).collect()
}

fn no_unknown_token(found: &str) -> Error {
    Error::NoUnknownToken { found: found.chars().take(16).collect() }
}
