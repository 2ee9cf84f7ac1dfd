//! Finds special and added tokens in text: leftmost-longest, in one pass over the text.
//!
//! The flags are Hugging Face's (`tokenizers` 0.23, added_vocabulary.rs): a `single_word` match with a word character
//! beside it is no match, `lstrip` and `rstrip` take the white space on their side along.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::is_word_character;

use crate::error::{Error, Result};

/// Tokens of more bytes in all get an automaton without a full table: making that takes the square of a token's length
/// where the token repeats itself.
const FULL_BYTES: usize = 2048;

/// A string that has an id of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    pub content: String,
    pub id: u32,
    pub special: bool,
    pub normalized: bool,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
}

/// Finds a set of added tokens.
#[derive(Debug, Clone)]
pub struct Matcher {
    tokens: Vec<AddedToken>,
    automaton: Option<AhoCorasick>,
}

/// A place in the text that is an added token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub id: u32,
    pub start: usize,
    pub end: usize,
}

impl Matcher {
    pub fn new(tokens: Vec<AddedToken>) -> Result<Self> {
        if let Some(token) = tokens.iter().find(|token| token.content.is_empty()) {
            return Err(Error::Spec(format!(
                "added token {}: expected a string to match, found an empty one",
                token.id
            )));
        }
        let automaton = if tokens.is_empty() {
            None
        } else {
            let num_bytes: usize = tokens.iter().map(|token| token.content.len()).sum();
            let built = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind((num_bytes > FULL_BYTES).then_some(AhoCorasickKind::ContiguousNFA))
                .build(tokens.iter().map(|token| token.content.as_bytes()));
            Some(built.map_err(|error| Error::Spec(format!("added tokens: {error}")))?)
        };
        Ok(Self { tokens, automaton })
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The bytes of the longest token; None where a match depends on what stands beside it.
    pub fn longest(&self) -> Option<usize> {
        let mut longest = 0;
        for token in &self.tokens {
            if token.single_word || token.lstrip || token.rstrip {
                return None;
            }
            longest = longest.max(token.content.len());
        }
        Some(longest)
    }

    /// The matches in `text`, in order.
    pub fn find<'m>(&'m self, text: &'m str) -> impl Iterator<Item = Found> + 'm {
        self.find_allowed(text, |_| true)
    }

    /// The matches in `text` of the tokens that `is_allowed` lets pass, in order. The text of another one's match is not
    /// searched again. A match may begin in white space that the one before has taken.
    pub fn find_allowed<'m>(
        &'m self,
        text: &'m str,
        is_allowed: impl Fn(&AddedToken) -> bool + 'm,
    ) -> impl Iterator<Item = Found> + 'm {
        let mut free_from = 0;
        self.automaton.iter().flat_map(move |automaton| automaton.find_iter(text)).filter_map(move |found| {
            let token = self.tokens.get(found.pattern().as_usize()).filter(|token| is_allowed(token))?;
            let (before, after) = (text.get(..found.start())?, text.get(found.end()..)?);
            if token.single_word && (before.ends_with(is_word_character) || after.starts_with(is_word_character)) {
                return None;
            }
            // White space that the token before has taken is not there to be taken again.
            let start = if token.lstrip { before.trim_end().len().max(free_from) } else { found.start() };
            let end = if token.rstrip { text.len() - after.trim_start().len() } else { found.end() };
            if start >= end {
                return None;
            }
            free_from = end;
            Some(Found { id: token.id, start, end })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str, id: u32) -> AddedToken {
        AddedToken {
            content: content.into(),
            id,
            special: true,
            normalized: false,
            single_word: false,
            lstrip: false,
            rstrip: false,
        }
    }

    fn found(tokens: Vec<AddedToken>, text: &str) -> Vec<(u32, usize, usize)> {
        let matcher = Matcher::new(tokens).expect("no token is empty");
        matcher.find(text).map(|found| (found.id, found.start, found.end)).collect()
    }

    #[test]
    fn the_longest_wins() {
        assert_eq!(found(vec![token("<a>", 1), token("<a>b", 2)], "x<a>b<a>"), [(2, 1, 5), (1, 5, 8)]);
    }

    #[test]
    fn flags_take_white_space_once_and_want_whole_words() {
        let mask = AddedToken { lstrip: true, rstrip: true, ..token("<m>", 1) };
        assert_eq!(found(vec![mask], "a <m> <m> b"), [(1, 1, 6), (1, 6, 10)]);
        let word = AddedToken { single_word: true, ..token("cat", 1) };
        assert_eq!(found(vec![word], "cats cat_ cat"), [(1, 10, 13)]);
    }

    #[test]
    fn a_long_token_that_repeats_itself_is_found() {
        let long = "ab".repeat(10_000);
        let (end, text) = (long.len(), format!("{long}a{long}"));
        let tokens = vec![token(&long, 1), token("a", 2)];
        assert_eq!(found(tokens, &text), [(1, 0, end), (2, end, end + 1), (1, end + 1, 2 * end + 1)]);
    }

    #[test]
    fn an_empty_token_is_refused() {
        assert!(Matcher::new(vec![token("", 7)]).is_err());
    }
}
