//! Encodings: ids with their offsets and words, as Hugging Face's Encoding has them.
//!
//! Offsets are the original characters that a token's bytes came from. Where its own rule has no answer Hugging Face
//! gives the bytes of the piece as they are, and so does this.

use serde::Deserialize;

use super::aligned::joined;
use super::byte_alphabet;
use super::pieces::{Piece, Pieces};
use super::{Chain, Forbidden};
use crate::error::Result;
use crate::models::Token;
use crate::pulse::Pulse;

/// A post-processor as tokenizer.json writes it, as far as it changes offsets.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Component {
    Sequence {
        processors: Vec<Component>,
    },
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
    },
    #[serde(alias = "Roberta")]
    RobertaProcessing {
        add_prefix_space: bool,
        trim_offsets: bool,
    },
    #[serde(other)]
    Other,
}

/// Takes white space at the ends of tokens out of their offsets.
#[derive(Debug, Clone, Copy)]
pub struct Trim {
    /// A single space at the start of a text may be one that was put there, and counts.
    keeps_prefix_space: bool,
}

impl Component {
    pub fn into_trims(self) -> Vec<Trim> {
        match self {
            Self::Sequence { processors } => processors.into_iter().flat_map(Self::into_trims).collect(),
            Self::ByteLevel { add_prefix_space, trim_offsets }
            | Self::RobertaProcessing { add_prefix_space, trim_offsets } => {
                trim_offsets.then_some(Trim { keeps_prefix_space: add_prefix_space }).into_iter().collect()
            }
            Self::Other => Vec::new(),
        }
    }
}

/// Ids, and for each its offsets in characters and the word it belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub ids: Vec<u32>,
    pub offsets: Vec<(usize, usize)>,
    pub words: Vec<u32>,
    /// White space that each token begins and ends with; empty where no post-processor asks for it.
    pub spaces: Vec<(usize, usize)>,
}

/// Places in a text by byte, in characters or in UTF-16 units.
pub struct Units {
    /// The unit that each byte's character begins at, and then the number of units.
    by_byte: Vec<u32>,
}

impl Units {
    /// Those of `text` in units of which each character has `size`. `go_on` is asked now and then.
    pub fn new(text: &str, size: impl Fn(char) -> usize, go_on: &mut dyn FnMut() -> bool) -> Result<Self> {
        Self::of(text, size, &mut Pulse::new(go_on))
    }

    fn of(text: &str, size: impl Fn(char) -> usize, pulse: &mut Pulse) -> Result<Self> {
        let mut by_byte = Vec::with_capacity(text.len() + 1);
        let mut at = 0;
        for character in pulse.each(text.chars()) {
            by_byte.extend(std::iter::repeat_n(at, character.len_utf8()));
            at += size(character) as u32;
        }
        by_byte.push(at);
        pulse.check()?;
        Ok(Self { by_byte })
    }

    /// The unit that the character at this byte begins at; none from the end of the text on.
    fn at(&self, byte: usize) -> Option<usize> {
        let inside = self.by_byte.len() - 1;
        self.by_byte.get(byte).filter(|_| byte < inside).map(|&unit| unit as usize)
    }

    /// Byte offsets in units; as they are where they begin outside the text.
    fn convert(&self, start: usize, end: usize) -> (usize, usize) {
        let Some(first) = self.at(start) else { return (start, end) };
        let last = || end.checked_sub(1).and_then(|last| self.at(last)).unwrap_or(first + 1) + 1;
        (first, self.at(end).unwrap_or_else(last))
    }

    /// The units of every character that `start..end` touches.
    pub fn touched(&self, start: usize, end: usize) -> (usize, usize) {
        let unit = |byte: usize| self.by_byte.get(byte).or(self.by_byte.last()).map_or(0, |&unit| unit as usize);
        let first = unit(start);
        let is_inside = end > 0 && unit(end) == unit(end - 1);
        let after =
            || self.by_byte.iter().skip(end).find(|&&next| next as usize > unit(end)).map(|&next| next as usize);
        (first, if is_inside { after().unwrap_or_else(|| unit(end)) } else { unit(end) })
    }
}

impl Chain {
    /// The encoding of `text`.
    pub fn encoding(&self, text: &str, forbidden: &Forbidden, go_on: &mut dyn FnMut() -> bool) -> Result<Encoding> {
        self.untrimmed(text, forbidden, go_on).map(|encoding| self.trimmed(encoding))
    }

    /// The encoding of a text that comes in words: each is encoded alone, and offsets are within it.
    pub fn encoding_of_words(
        &self,
        words: &[&str],
        forbidden: &Forbidden,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Encoding> {
        self.untrimmed_of_words(words, forbidden, go_on).map(|encoding| self.trimmed(encoding))
    }

    /// The encoding of `text` before a post-processor trims offsets.
    pub fn untrimmed(&self, text: &str, forbidden: &Forbidden, go_on: &mut dyn FnMut() -> bool) -> Result<Encoding> {
        let mut encoding = Encoding::default();
        self.append(text, None, forbidden, &mut encoding, &mut Pulse::new(go_on))?;
        Ok(encoding)
    }

    /// The encoding of a text that comes in words, before a post-processor trims offsets.
    pub fn untrimmed_of_words(
        &self,
        words: &[&str],
        forbidden: &Forbidden,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Encoding> {
        let mut encoding = Encoding::default();
        let mut pulse = Pulse::new(go_on);
        for (&text, word) in words.iter().zip(0..) {
            pulse.beat(16)?;
            self.append(text, Some(word), forbidden, &mut encoding, &mut pulse)?;
        }
        Ok(encoding)
    }

    fn append(
        &self,
        text: &str,
        word: Option<u32>,
        forbidden: &Forbidden,
        encoding: &mut Encoding,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let units = Units::of(text, |_| 1, pulse)?;
        let mut num_pieces = 0;
        self.with_scratch(|scratch| {
            self.for_each(text, forbidden, true, scratch, pulse, &mut |pieces, piece, tokens| {
                let whole = Token { id: 0, start: 0, end: (piece.end - piece.start) as u32, is_text: true };
                let added = piece.added.map(|id| Token { id, ..whole });
                for token in added.iter().chain(tokens) {
                    let (start, end) = bytes_of(pieces, piece, token);
                    encoding.ids.push(token.id);
                    encoding.offsets.push(units.convert(start, end));
                    encoding.words.push(word.unwrap_or(num_pieces));
                    if !self.trims.is_empty() {
                        encoding.spaces.push(self.spaces(pieces.text(piece), token));
                    }
                }
                num_pieces += 1;
            })
        })
    }

    /// The tokens of `text`: id, and start and end of the bytes that it comes from.
    pub fn spans(
        &self,
        text: &str,
        forbidden: &Forbidden,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<(u32, usize, usize)>> {
        let pulse = &mut Pulse::new(go_on);
        let mut spans = Vec::new();
        self.with_scratch(|scratch| {
            self.for_each(text, forbidden, true, scratch, pulse, &mut |pieces, piece, tokens| {
                let whole = Token { id: 0, start: 0, end: (piece.end - piece.start) as u32, is_text: true };
                let added = piece.added.map(|id| Token { id, ..whole });
                for token in added.iter().chain(tokens) {
                    let (start, end) = bytes_of(pieces, piece, token);
                    spans.push((token.id, start, end));
                }
            })
        })?;
        Ok(spans)
    }

    /// How much white space, real or spelled, a token begins and ends with, in characters.
    fn spaces(&self, piece: &str, token: &Token) -> (usize, usize) {
        let spelled = if token.is_text {
            piece.get(token.start as usize..token.end as usize)
        } else {
            self.model.vocabulary().token(token.id).and_then(|token| std::str::from_utf8(token).ok())
        };
        let spelled = spelled.unwrap_or_default();
        let is_space = |c: &char| *c == byte_alphabet::SPACE || c.is_whitespace();
        (spelled.chars().take_while(is_space).count(), spelled.chars().rev().take_while(is_space).count())
    }

    fn trimmed(&self, mut encoding: Encoding) -> Encoding {
        for trim in &self.trims {
            let tokens = encoding.offsets.iter_mut().zip(&encoding.spaces).enumerate();
            for (at, ((start, end), &(leading, trailing))) in tokens {
                let may_be_put_there = trim.keeps_prefix_space && leading == 1 && (at == 0 || *start == 0);
                if leading > 0 {
                    let leading = if may_be_put_there { 0 } else { leading };
                    *start = (*start + leading).min(*end);
                }
                if trailing > 0 && *end >= trailing {
                    *end = (*end - trailing).max(*start);
                }
            }
        }
        encoding
    }
}

/// The original bytes behind a token.
fn bytes_of(pieces: &Pieces, piece: &Piece, token: &Token) -> (usize, usize) {
    let (start, end) = (token.start as usize, token.end as usize);
    let origins = pieces.origins(piece);
    if start == end {
        let begin = piece.origin.start as usize;
        return (begin + start, begin + end);
    }
    // Where tokens cover more than there is, as bytes of a suffix do, their places in the piece are given.
    if end > origins.len() {
        return (start, end);
    }
    let origin = joined(origins, start, end);
    (origin.start as usize, origin.end as usize)
}
