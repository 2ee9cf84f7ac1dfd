//! WordLevel: a piece is one token, or the unknown one.

use super::{Forbidden, Token, no_unknown_token};
use crate::error::Result;
use crate::vocabulary::Vocabulary;

#[derive(Debug)]
pub struct WordLevel {
    vocabulary: Vocabulary,
    unknown: Option<u32>,
}

impl WordLevel {
    pub fn new(unknown_token: String, vocabulary: Vocabulary) -> Self {
        let unknown = vocabulary.find(unknown_token.as_bytes()).map(|(_, id)| id);
        Self { vocabulary, unknown }
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn tokenize(&self, piece: &str, forbidden: &Forbidden, tokens: &mut Vec<Token>) -> Result<()> {
        let known = self.vocabulary.find(piece.as_bytes()).and_then(|(_, id)| forbidden.pass(id));
        let id = known.or(self.unknown).ok_or_else(|| no_unknown_token(piece))?;
        tokens.push(Token { id, start: 0, end: piece.len() as u32, is_text: false });
        Ok(())
    }
}
