//! Longest match, in time linear in the word: Song et al. 2021, "Fast WordPiece Tokenization" (LinMaxMatch).
//!
//! Two tries: one of all tokens as they are spelled, for the start of a word, and one of what stands behind the prefix
//! (`##`), for what follows. A node stands for the characters read since the last token that is sure. Where no edge goes
//! on, the longest match of those characters is certain: the node's `pops` are its tokens, and `fail` is the node of what
//! they leave over. Each step either reads a byte or leaves characters behind, so a word costs O(n) whatever the tokens.
//! Equal to trying every end of every token, longest first: see `linear_equals_plain`.
//!
//! Tokens are whole characters, so matching bytes and matching characters give the same.

use crate::error::{Error, Result};
use crate::vocabulary::Vocabulary;

/// The root of the trie of whole tokens; `Matcher::continuing` is that of the others.
const START: u32 = 0;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    /// The node of what the pops leave over; `NONE` where no token matches.
    fail: u32,
    /// Where in `pops` the tokens begin and end.
    pops: (u32, u32),
}

/// Finds the tokens of a word.
#[derive(Debug, Clone)]
pub struct Longest {
    edges: Edges,
    nodes: Vec<Node>,
    pops: Vec<u32>,
    continuing: u32,
    unknown: Option<u32>,
    max_characters: usize,
}

/// The child of each node and byte: open addressing, half full at most, `node << 40 | byte << 32 | child`, 0 where free.
#[derive(Debug, Clone)]
struct Edges(Vec<u64>);

impl Edges {
    /// The child, or where in the table it would stand.
    #[inline]
    fn find(&self, node: u32, byte: u8) -> std::result::Result<u32, usize> {
        let edge = node << 8 | u32::from(byte);
        let mask = self.0.len().wrapping_sub(1);
        let mut at = (u64::from(edge).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        loop {
            let found = self.0.get(at).copied().unwrap_or_default();
            if found >> 32 == u64::from(edge) && found != 0 {
                return Ok(found as u32);
            }
            if found == 0 {
                return Err(at);
            }
            at = (at + 1) & mask;
        }
    }
}

/// A trie while it is built.
struct Trie {
    edges: Edges,
    /// Parent, byte and token of each node.
    nodes: Vec<(u32, u8, u32)>,
}

impl Trie {
    fn root(&mut self) -> u32 {
        self.nodes.push((NONE, 0, NONE));
        self.nodes.len() as u32 - 1
    }

    fn insert(&mut self, root: u32, bytes: &[u8], id: u32) -> Result<()> {
        let mut node = root;
        for &byte in bytes {
            node = match self.edges.find(node, byte) {
                Ok(child) => child,
                Err(free) => self.grow(node, byte, free)?,
            };
        }
        if let Some(last) = self.nodes.get_mut(node as usize)
            && node != root
        {
            last.2 = id;
        }
        Ok(())
    }

    fn grow(&mut self, node: u32, byte: u8, free: usize) -> Result<u32> {
        let child = self.nodes.len() as u32;
        if child >= 1 << 24 {
            return Err(Error::Spec("vocabulary: expected under 16 MiB of tokens".into()));
        }
        self.nodes.push((node, byte, NONE));
        let entry = |node: u32, byte: u8, child: u32| u64::from(node << 8 | u32::from(byte)) << 32 | u64::from(child);
        if let Some(slot) = self.edges.0.get_mut(free) {
            *slot = entry(node, byte, child);
        }
        if self.nodes.len() * 2 > self.edges.0.len() {
            self.edges.0 = vec![0; self.edges.0.len() * 2];
            for (child, &(node, byte, _)) in (0..).zip(&self.nodes) {
                if node != NONE
                    && let Err(free) = self.edges.find(node, byte)
                    && let Some(slot) = self.edges.0.get_mut(free)
                {
                    *slot = entry(node, byte, child);
                }
            }
        }
        Ok(child)
    }
}

impl Longest {
    /// `prefix` marks the tokens that continue a word. A word of more than `max_characters`, or one with a place where no
    /// token matches, is `unknown_token`.
    pub fn new(vocabulary: &Vocabulary, prefix: &str, unknown_token: &str, max_characters: usize) -> Result<Self> {
        let mut trie = Trie { edges: Edges(vec![0; 1 << 10]), nodes: Vec::new() };
        trie.root();
        let continuing = trie.root();
        for (id, token) in vocabulary.iter() {
            trie.insert(START, token, id)?;
            if let Some(rest) = token.strip_prefix(prefix.as_bytes()) {
                trie.insert(continuing, rest, id)?;
            }
        }
        let Trie { edges, nodes } = trie;
        let none = Node { fail: NONE, pops: (0, 0) };
        let mut longest = Self {
            edges,
            nodes: vec![none; nodes.len()],
            pops: Vec::new(),
            continuing,
            unknown: vocabulary.find(unknown_token.as_bytes()).map(|(_, id)| id),
            max_characters,
        };
        longest.link(&nodes)?;
        Ok(longest)
    }

    /// Works out fail and pops, shorter strings first: those of a node come from those of its parent.
    fn link(&mut self, nodes: &[(u32, u8, u32)]) -> Result<()> {
        let mut depths = vec![0u32; nodes.len()];
        for (at, &(parent, ..)) in nodes.iter().enumerate() {
            // A parent stands before its children.
            let above = depths.get(parent as usize).map_or(0, |depth| depth + 1);
            if let Some(depth) = depths.get_mut(at) {
                *depth = above;
            }
        }
        let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
        order.sort_by_key(|&node| depths.get(node as usize).copied());
        for node in order {
            let Some(&(parent, byte, token)) = nodes.get(node as usize) else { continue };
            let start = self.pops.len();
            let fail = if token != NONE {
                self.pops.push(token);
                self.continuing
            } else if parent == NONE {
                NONE
            } else {
                let mut from = parent;
                loop {
                    let Node { fail, pops: (first, last) } = self.node(from);
                    if fail == NONE {
                        self.pops.truncate(start);
                        break NONE;
                    }
                    self.pops.extend_from_within(first as usize..last as usize);
                    if let Ok(child) = self.edges.find(fail, byte) {
                        break child;
                    }
                    from = fail;
                }
            };
            let end = u32::try_from(self.pops.len())
                .map_err(|_| Error::Spec("vocabulary: expected tokens with fewer than 2^32 parts in all".into()))?;
            if let Some(slot) = self.nodes.get_mut(node as usize) {
                *slot = Node { fail, pops: (start as u32, end) };
            }
        }
        Ok(())
    }

    fn node(&self, node: u32) -> Node {
        self.nodes.get(node as usize).copied().unwrap_or(Node { fail: NONE, pops: (0, 0) })
    }

    /// Appends the ids of `word` to `ids`.
    pub fn encode_into(&self, word: &[u8], ids: &mut Vec<u32>) -> Result<()> {
        let before = ids.len();
        if num_characters(word) <= self.max_characters && self.append_tokens(word, ids) {
            return Ok(());
        }
        ids.truncate(before);
        let start = String::from_utf8_lossy(word).chars().take(16).collect();
        ids.push(self.unknown.ok_or(Error::NoUnknownToken { found: start })?);
        Ok(())
    }

    /// False where some place has no match; `ids` then holds the tokens before it.
    fn append_tokens(&self, word: &[u8], ids: &mut Vec<u32>) -> bool {
        let mut node = START;
        for &byte in word {
            node = loop {
                match self.edges.find(node, byte) {
                    Ok(child) => break child,
                    Err(_) => match self.give_up(node, ids) {
                        NONE => return false,
                        fail => node = fail,
                    },
                }
            };
        }
        while node != self.continuing && node != START {
            node = self.give_up(node, ids);
            if node == NONE {
                return false;
            }
        }
        true
    }

    /// Appends what is certain of the characters that `node` stands for, and gives the node of the others.
    fn give_up(&self, node: u32, ids: &mut Vec<u32>) -> u32 {
        let Node { fail, pops: (start, end) } = self.node(node);
        match self.pops.get(start as usize..end as usize) {
            Some(&[token]) => ids.push(token),
            tokens => ids.extend_from_slice(tokens.unwrap_or_default()),
        }
        fail
    }
}

fn num_characters(word: &[u8]) -> usize {
    word.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(tokens: &[String]) -> Vocabulary {
        let ends = tokens.iter().scan(0, |end, token| {
            *end += token.len() as u32;
            Some(*end)
        });
        Vocabulary::new(tokens.concat().as_bytes(), ends.collect(), (0..tokens.len() as u32).collect())
            .expect("well formed")
    }

    /// Every end of every token, longest first.
    fn plain(tokens: &[String], prefix: &str, word: &str, max_characters: usize) -> Vec<u32> {
        let unknown = vec![0];
        if word.chars().count() > max_characters {
            return unknown;
        }
        let (mut ids, mut start) = (Vec::new(), 0);
        while start < word.len() {
            let ends = word.char_indices().map(|(at, _)| at).filter(|&at| at > start).chain([word.len()]);
            let spelled = |end: usize| format!("{}{}", if start > 0 { prefix } else { "" }, &word[start..end]);
            let find = |end: usize| tokens.iter().position(|token| *token == spelled(end)).map(|id| (id as u32, end));
            let Some((id, end)) = ends.collect::<Vec<_>>().into_iter().rev().find_map(find) else { return unknown };
            ids.push(id);
            start = end;
        }
        ids
    }

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn word(&mut self, longest: usize) -> String {
            (0..self.roll(longest + 1)).map(|_| ['a', 'b', '#', 'é', '字'][self.roll(5)]).collect()
        }
    }

    #[test]
    fn linear_equals_plain() {
        let mut dice = Dice(5);
        for round in 0..3000 {
            let prefix = ["##", "#", "", "ab"][dice.roll(4)];
            let mut tokens = vec!["[UNK]".to_owned()];
            for _ in 0..dice.roll(30) {
                let token = format!("{}{}", if dice.roll(2) == 0 { prefix } else { "" }, dice.word(5));
                if !token.is_empty() && !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            let max_characters = if round % 5 == 0 { 6 } else { 100 };
            let longest =
                Longest::new(&vocabulary(&tokens), prefix, "[UNK]", max_characters).expect("a small vocabulary");
            for _ in 0..30 {
                let word = dice.word(12);
                let mut ids = Vec::new();
                longest.encode_into(word.as_bytes(), &mut ids).expect("[UNK] is there");
                assert_eq!(ids, plain(&tokens, prefix, &word, max_characters), "{prefix:?} {word:?} {tokens:?}");
            }
        }
    }

    #[test]
    fn without_an_unknown_token_only_unknown_words_are_an_error() {
        let longest = Longest::new(&vocabulary(&["a".into()]), "##", "[UNK]", 100).expect("a small vocabulary");
        let mut ids = Vec::new();
        assert_eq!(longest.encode_into(b"a", &mut ids), Ok(()));
        assert_eq!(longest.encode_into(b"b", &mut ids), Err(Error::NoUnknownToken { found: "b".into() }));
    }
}
