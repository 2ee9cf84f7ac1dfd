//! A trie of tokens: which of them a text begins with, shortest first, one look-up a byte.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

#[derive(Debug)]
pub struct Trie {
    /// The child of a node by a byte: nodes are numbered, and stand in the key above the byte.
    children: HashMap<u64, u32, FixedState>,
    /// The value of the token that ends at each node.
    values: Vec<Option<u32>>,
}

impl Trie {
    /// A trie of these tokens. Of equal ones the last counts; an empty one is never found.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>) -> Self {
        let mut trie = Self { children: HashMap::with_hasher(FixedState::with_seed(0)), values: vec![None] };
        for (token, value) in tokens.filter(|(token, _)| !token.is_empty()) {
            let mut node = 0;
            for &byte in token {
                let next = trie.values.len() as u32;
                node = *trie.children.entry(key(node, byte)).or_insert(next);
                if node == next {
                    trie.values.push(None);
                }
            }
            if let Some(slot) = trie.values.get_mut(node as usize) {
                *slot = Some(value);
            }
        }
        trie
    }

    /// Length and value of each token that `text` begins with, the shortest first.
    pub fn prefixes<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, u32)> + 't {
        let mut node = 0;
        let nodes = text.iter().map_while(move |&byte| {
            node = *self.children.get(&key(node, byte))?;
            Some(node)
        });
        nodes.enumerate().filter_map(|(at, node)| Some((at + 1, (*self.values.get(node as usize)?)?)))
    }
}

fn key(node: u32, byte: u8) -> u64 {
    u64::from(node) << 8 | u64::from(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_that_a_text_begins_with_come_shortest_first() {
        let trie = Trie::new([(&b"a"[..], 1), (b"abc", 2), (b"b", 3), (b"", 4), (b"a", 5)].into_iter());
        assert_eq!(trie.prefixes(b"abcd").collect::<Vec<_>>(), [(1, 5), (3, 2)]);
        assert_eq!(trie.prefixes(b"xa").count(), 0);
    }
}
