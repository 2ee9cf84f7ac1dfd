//! WordPiece: the longest token that the rest of the piece begins with, again and again.
//!
//! Where no token fits, the whole piece is unknown. Equals Hugging Face's search from the longest candidate down.

use serde::Deserialize;

use super::trie::Trie;
use super::{Forbidden, Token, no_unknown_token};
use crate::error::Result;
use crate::pulse::Pulse;
use crate::vocabulary::Vocabulary;
use crate::wordpiece::matching::Longest;

#[derive(Debug, Deserialize)]
pub struct Options {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Vocabulary,
    /// The tokens that a piece begins with, and those that go on, without their prefix.
    first: Trie,
    continuing: Trie,
    options: Options,
    unknown: Option<u32>,
}

impl WordPiece {
    pub fn new(options: Options, vocabulary: Vocabulary) -> Self {
        let prefix = options.continuing_subword_prefix.as_bytes();
        let first = Trie::new(vocabulary.iter().map(|(id, token)| (token, id)));
        let continuing = Trie::new(vocabulary.iter().filter_map(|(id, token)| Some((token.strip_prefix(prefix)?, id))));
        let unknown = vocabulary.find(options.unk_token.as_bytes()).map(|(_, id)| id);
        Self { first, continuing, options, unknown, vocabulary }
    }

    /// The same in linear time, without places.
    pub fn longest(&self) -> Result<Longest> {
        let Options { unk_token, continuing_subword_prefix, max_input_chars_per_word } = &self.options;
        Longest::new(&self.vocabulary, continuing_subword_prefix, unk_token, *max_input_chars_per_word)
    }

    /// The id of the token with this spelling.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.vocabulary.find(token.as_bytes()).map(|(_, id)| id)
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn prefix(&self) -> &str {
        &self.options.continuing_subword_prefix
    }

    pub fn tokenize(
        &self,
        piece: &str,
        forbidden: &Forbidden,
        tokens: &mut Vec<Token>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let begin = tokens.len();
        let mut start = 0;
        let mut is_known = piece.chars().nth(self.options.max_input_chars_per_word).is_none();
        while is_known && start < piece.len() {
            let trie = if start == 0 { &self.first } else { &self.continuing };
            let rest = piece.as_bytes().get(start..).unwrap_or_default();
            match trie.prefixes(rest).filter(|&(_, id)| !forbidden.contains(id)).last() {
                Some((size, id)) => {
                    let end = start + size;
                    pulse.beat(size)?;
                    tokens.push(Token { id, start: start as u32, end: end as u32, is_text: false });
                    start = end;
                }
                None => is_known = false,
            }
        }
        if !is_known {
            tokens.truncate(begin);
            let id = self.unknown.ok_or_else(|| no_unknown_token(piece))?;
            tokens.push(Token { id, start: 0, end: piece.len() as u32, is_text: false });
        }
        Ok(())
    }
}
