//! Unigram: the path through the piece whose tokens have the best sum of scores.
//!
//! The path is found front to back (Viterbi), each place keeping the best way to it; of equal ways the first found
//! stays. A character without a token of its own may be unknown, which costs more than any token; unknown ones in a row
//! are one. Scores are f64, added in Hugging Face's order (`tokenizers` 0.23, unigram/model.rs), so that ties fall alike.

use serde::Deserialize;

use super::trie::Trie;
use super::{Forbidden, Token, byte_tokens, no_unknown_token};
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::vocabulary::Vocabulary;

/// What an unknown character scores below the worst token.
const UNKNOWN_PENALTY: f64 = 10.0;

#[derive(Debug, Deserialize)]
pub struct Options {
    unk_id: Option<usize>,
    #[serde(default)]
    byte_fallback: bool,
}

#[derive(Debug)]
pub struct Unigram {
    vocabulary: Vocabulary,
    scores: Vec<f64>,
    trie: Trie,
    unknown_score: f64,
    unknown: Option<u32>,
    /// Where all of a text's bytes have tokens, they spell what is unknown.
    byte_tokens: Option<Vec<Option<u32>>>,
}

/// The best way to a place in the piece: where its last token begins.
#[derive(Debug, Clone, Copy)]
struct Way {
    score: f64,
    start: u32,
    id: u32,
}

/// No way yet: pieces are shorter than that.
const NO_WAY: Way = Way { score: 0.0, start: u32::MAX, id: u32::MAX };
/// Places that are made together.
const STRIDE: usize = 1 << 12;

impl Unigram {
    /// Ids are places in the vocabulary. Of equal tokens the last is found.
    pub fn new(options: &Options, vocabulary: Vocabulary, scores: &[f64]) -> Result<Self> {
        let size = vocabulary.len();
        if scores.len() != size || vocabulary.iter().zip(0..).any(|((id, _), place)| id != place) {
            let message = "Unigram: expected a score for each of the ids 0, 1, 2 …, found others";
            return Err(Error::Spec(message.into()));
        }
        let unknown = options.unk_id.map(|id| {
            u32::try_from(id).ok().filter(|&id| (id as usize) < size).ok_or_else(|| {
                Error::Spec(format!("Unigram: expected an unk_id under the size of the vocabulary, {size}, found {id}"))
            })
        });
        let trie = Trie::new(vocabulary.iter().map(|(id, token)| (token, id)));
        let worst = scores.iter().fold(f64::INFINITY, |worst, &score| if score < worst { score } else { worst });
        let byte_tokens = options.byte_fallback.then(|| byte_tokens(&vocabulary));
        Ok(Self {
            scores: scores.to_vec(),
            trie,
            unknown_score: worst - UNKNOWN_PENALTY,
            unknown: unknown.transpose()?,
            byte_tokens,
            vocabulary,
        })
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.trie.prefixes(token).find(|&(size, _)| size == token.len()).map(|(_, id)| id)
    }

    pub fn tokenize(
        &self,
        piece: &str,
        forbidden: &Forbidden,
        tokens: &mut Vec<Token>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let path = self.best_path(piece, forbidden, pulse)?;
        let mut steps = path.into_iter().rev().peekable();
        while let Some((start, mut end, id)) = steps.next() {
            pulse.beat(1)?;
            if Some(id) != self.unknown {
                tokens.push(Token { id, start, end, is_text: false });
                continue;
            }
            while let Some((_, next_end, _)) = steps.next_if(|&(.., next)| Some(next) == self.unknown) {
                end = next_end;
            }
            self.push_unknown(piece.as_bytes(), (start, end), id, forbidden, tokens);
        }
        Ok(())
    }

    /// Start, end and id of each token of the best path, the last first.
    fn best_path(&self, piece: &str, forbidden: &Forbidden, pulse: &mut Pulse) -> Result<Vec<(u32, u32, u32)>> {
        let mut ways = Vec::with_capacity(piece.len() + 1);
        let reach = self.vocabulary.longest().max('\u{10FFFF}'.len_utf8());
        for (start, character) in piece.char_indices() {
            // A place costs about as much as tens of bytes elsewhere.
            pulse.beat(16)?;
            if ways.len() <= (start + reach).min(piece.len()) {
                ways.resize((start + reach + STRIDE).min(piece.len() + 1), NO_WAY);
            }
            let score_here = ways.get(start).map_or(0.0, |way| way.score);
            let mut offer = |size: usize, id: u32, score: f64| {
                let score = score + score_here;
                if let Some(way) =
                    ways.get_mut(start + size).filter(|way| way.start == NO_WAY.start || score > way.score)
                {
                    *way = Way { score, start: start as u32, id };
                }
            };
            let size_here = character.len_utf8();
            let mut has_own_token = false;
            let rest = piece.as_bytes().get(start..).unwrap_or_default();
            for (size, id) in self.trie.prefixes(rest).filter(|&(_, id)| !forbidden.contains(id)) {
                offer(size, id, self.scores.get(id as usize).copied().unwrap_or_default());
                has_own_token |= size == size_here;
            }
            if !has_own_token {
                // Where it loses against a longer token it need not exist.
                let id = self.unknown.unwrap_or(u32::MAX);
                offer(size_here, id, self.unknown_score);
                if self.unknown.is_none() && ways.get(start + size_here).is_some_and(|way| way.id == u32::MAX) {
                    return Err(no_unknown_token(piece.get(start..).unwrap_or_default()));
                }
            }
        }
        let mut path = Vec::new();
        let mut end = piece.len() as u32;
        while end > 0 {
            pulse.beat(1)?;
            let way = ways.get(end as usize).copied().unwrap_or(Way { start: 0, ..NO_WAY });
            path.push((way.start, end, way.id));
            end = way.start;
        }
        Ok(path)
    }

    /// Text that is unknown: a token that happens to spell all of it, or its bytes, or the unknown token.
    fn push_unknown(
        &self,
        piece: &[u8],
        (start, end): (u32, u32),
        unknown: u32,
        forbidden: &Forbidden,
        tokens: &mut Vec<Token>,
    ) {
        let text = piece.get(start as usize..end as usize).unwrap_or_default();
        if let Some(id) = self.id(text).and_then(|id| forbidden.pass(id)) {
            return tokens.push(Token { id, start, end, is_text: false });
        }
        let bytes = self.byte_tokens.as_ref().and_then(|ids| {
            text.iter().map(|&byte| ids.get(usize::from(byte)).copied().flatten()).collect::<Option<Vec<u32>>>()
        });
        match bytes {
            Some(ids) => tokens.extend(ids.into_iter().map(|id| Token { id, start, end, is_text: false })),
            None => tokens.push(Token { id: unknown, start, end, is_text: true }),
        }
    }
}
