//! Finds special and added tokens in text: leftmost-longest, in one pass over the text.
//!
//! At each place from the left the longest token that begins there is taken, and the search goes on behind it. A few
//! tokens are found by an automaton, which looks for the bytes that they begin with; many by a trie.
//!
//! The flags are Hugging Face's (`tokenizers` 0.23, added_vocabulary.rs): a `single_word` match with a word character
//! beside it is no match, `lstrip` and `rstrip` take the white space on their side along.

mod trie;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use regex_syntax::is_word_character;

use crate::error::{Error, Result};
use trie::Trie;

/// More tokens than these get a trie.
const MAX_FEW: usize = 64;

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

impl AddedToken {
    /// A special token that is found as it stands.
    pub fn special(content: String, id: u32) -> Self {
        Self { content, id, special: true, normalized: false, single_word: false, lstrip: false, rstrip: false }
    }
}

/// Finds a set of added tokens.
#[derive(Debug, Clone)]
pub struct Matcher {
    finder: Finder,
    longest: Option<usize>,
}

/// What becomes of a match.
#[derive(Debug, Clone, Copy, Default)]
struct Rule {
    id: u32,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
}

#[derive(Debug, Clone)]
enum Finder {
    Nothing,
    /// And what becomes of a match of each token.
    Automaton(AhoCorasick, Vec<Rule>),
    Trie(Trie<Rule>),
}

/// A place in the text that is an added token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub id: u32,
    pub start: usize,
    pub end: usize,
}

impl Finder {
    /// The leftmost-longest token from `from` on: what becomes of it, and where it begins and ends.
    #[inline]
    fn find(&self, text: &str, from: usize) -> Option<(Rule, usize, usize)> {
        match self {
            Self::Nothing => None,
            Self::Automaton(automaton, rules) => {
                let found = automaton.find(Input::new(text).range(from..))?;
                Some((*rules.get(found.pattern().as_usize())?, found.start(), found.end()))
            }
            Self::Trie(trie) => trie.find(text.as_bytes(), from),
        }
    }
}

impl Matcher {
    /// Of tokens with the same content the first one counts.
    pub fn new(tokens: &[AddedToken]) -> Result<Self> {
        if let Some(token) = tokens.iter().find(|token| token.content.is_empty()) {
            return Err(Error::Spec(format!(
                "added token {}: expected a string to match, found an empty one",
                token.id
            )));
        }
        let is_plain = |token: &AddedToken| !(token.single_word || token.lstrip || token.rstrip);
        let longest = tokens.iter().map(|token| token.content.len()).max().unwrap_or(0);
        let longest = tokens.iter().all(is_plain).then_some(longest);
        let many = if tokens.len() > MAX_FEW { trie(tokens) } else { None };
        let finder = match many {
            Some(trie) => trie,
            None if tokens.is_empty() => Finder::Nothing,
            None => automaton(tokens)?,
        };
        Ok(Self { finder, longest })
    }

    pub fn is_empty(&self) -> bool {
        matches!(self.finder, Finder::Nothing)
    }

    /// The bytes of the longest token; None where a match depends on what stands beside it.
    pub fn longest(&self) -> Option<usize> {
        self.longest
    }

    /// The matches in `text`, in order.
    pub fn find<'m>(&'m self, text: &'m str) -> impl Iterator<Item = Found> + 'm {
        self.find_allowed(text, |_| true)
    }

    /// The matches in `text` of the tokens whose ids `is_allowed` lets pass, in order. The text of another one's match is
    /// not searched again. A match may begin in white space that the one before has taken.
    pub fn find_allowed<'m>(
        &'m self,
        text: &'m str,
        is_allowed: impl Fn(u32) -> bool + 'm,
    ) -> impl Iterator<Item = Found> + 'm {
        let (mut free_from, mut from) = (0, 0);
        let next = move || {
            loop {
                let (rule, start, end) = self.finder.find(text, from)?;
                from = end;
                if is_allowed(rule.id)
                    && let Some((start, end)) = rule.extent(text, start, end, free_from)
                {
                    free_from = end;
                    return Some(Found { id: rule.id, start, end });
                }
            }
        };
        std::iter::from_fn(next)
    }
}

impl Rule {
    fn of(token: &AddedToken) -> Self {
        let &AddedToken { id, single_word, lstrip, rstrip, .. } = token;
        Self { id, single_word, lstrip, rstrip }
    }

    /// What a match takes, where it is one. What lies before `free_from` is taken already.
    #[inline]
    fn extent(&self, text: &str, start: usize, end: usize, free_from: usize) -> Option<(usize, usize)> {
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        if self.single_word && (before.ends_with(is_word_character) || after.starts_with(is_word_character)) {
            return None;
        }
        // White space that the token before has taken is not there to be taken again.
        let start = if self.lstrip { before.trim_end().len().max(free_from) } else { start };
        let end = if self.rstrip { text.len() - after.trim_start().len() } else { end };
        (start < end).then_some((start, end))
    }
}

/// None where there is no trie of these tokens.
fn trie(tokens: &[AddedToken]) -> Option<Finder> {
    let mut sorted: Vec<_> = tokens.iter().collect();
    sorted.sort_by(|one, other| one.content.cmp(&other.content));
    sorted.dedup_by(|next, first| next.content == first.content);
    let contents: Vec<_> = sorted.iter().map(|token| token.content.as_bytes()).collect();
    let rules: Vec<_> = sorted.into_iter().map(Rule::of).collect();
    Trie::new(&contents, &rules).map(Finder::Trie)
}

fn automaton(tokens: &[AddedToken]) -> Result<Finder> {
    let num_bytes: usize = tokens.iter().map(|token| token.content.len()).sum();
    let built = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind((num_bytes > FULL_BYTES).then_some(AhoCorasickKind::ContiguousNFA))
        .build(tokens.iter().map(|token| token.content.as_bytes()));
    let automaton = built.map_err(|error| Error::Spec(format!("added tokens: {error}")))?;
    Ok(Finder::Automaton(automaton, tokens.iter().map(Rule::of).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str, id: u32) -> AddedToken {
        AddedToken::special(content.into(), id)
    }

    fn found(tokens: Vec<AddedToken>, text: &str) -> Vec<(u32, usize, usize)> {
        let matcher = Matcher::new(&tokens).expect("no token is empty");
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
        assert!(Matcher::new(&[token("", 7)]).is_err());
    }

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn text(&mut self, letters: &[char], length: usize) -> String {
            (0..length).map(|_| letters[self.roll(letters.len())]).collect()
        }
    }

    /// The longest token at each place from the left, by trying all of them; of equal ones the first.
    fn plain(tokens: &[AddedToken], text: &str) -> Vec<(usize, usize, usize)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let begins = |token: &&AddedToken| text.as_bytes()[at..].starts_with(token.content.as_bytes());
            let longest = tokens.iter().filter(begins).rev().max_by_key(|token| token.content.len());
            at += longest.map_or(1, |token| {
                found.push((token.id as usize, at, at + token.content.len()));
                token.content.len()
            });
        }
        found
    }

    fn all(finder: &Finder, text: &str) -> Vec<(usize, usize, usize)> {
        let mut from = 0;
        let next = || finder.find(text, from).inspect(|&(_, _, end)| from = end);
        std::iter::from_fn(next).map(|(rule, start, end)| (rule.id as usize, start, end)).collect()
    }

    #[test]
    fn trie_and_automaton_equal_plain() {
        let mut dice = Dice(7);
        let alphabets: [&[char]; 4] =
            [&['a', 'b'], &['a', 'b', 'c', '\0', 'é', '字', '学'], &['a'], &['x', 'y', ' ', '\u{1F44B}']];
        for round in 0..400 {
            let letters = alphabets[dice.roll(alphabets.len())];
            let (shortest, longest) = (1 + dice.roll(4), [3, 6, 12, 40][dice.roll(4)]);
            let contents: Vec<String> = (0..1 + dice.roll([4, 30, 300][round % 3]))
                .map(|_| {
                    let length = shortest + dice.roll(longest);
                    dice.text(letters, length)
                })
                .collect();
            let tokens: Vec<_> = contents.iter().zip(0..).map(|(content, id)| token(content, id)).collect();
            let automaton = automaton(&tokens).expect("no token is empty");
            let trie = trie(&tokens).expect("all are short");
            for length in [0, 1, 7, 8, 9, 40, 300] {
                let mut text = dice.text(letters, length);
                if dice.roll(2) == 0 {
                    text += &contents[dice.roll(contents.len())];
                }
                let expected = plain(&tokens, &text);
                assert_eq!(all(&automaton, &text), expected, "{contents:?} {text:?}");
                assert_eq!(all(&trie, &text), expected, "{contents:?} {text:?}");
            }
        }
    }

    #[test]
    fn tokens_that_could_make_a_walk_long_for_nothing_get_no_trie() {
        let runs = |end: &str, longest: usize| -> Vec<_> {
            (1..=longest).map(|length| token(&("a".repeat(length) + end), 0)).collect()
        };
        assert!(trie(&runs("", 1000)).is_some());
        assert!(trie(&runs("b", 100)).is_some());
        assert!(trie(&runs("b", 1000)).is_none());
        assert!(trie(&[token(&"a".repeat(100_000), 0)]).is_none());
    }
}
