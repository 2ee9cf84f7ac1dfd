//! BPE over spelled characters: merge the leftmost pair of lowest rank until no pair has one.
//!
//! Equals Hugging Face's BPE (`tokenizers` 0.23, bpe/model.rs) with every option, in n log n for a piece of n
//! characters. The byte-level twin, without the options, is
//! `bpe/encode.rs`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use super::{Forbidden, Token, byte_tokens, no_unknown_token};
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::vocabulary::Vocabulary;

#[derive(Debug, Deserialize)]
pub struct Options {
    dropout: Option<f32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
}

#[derive(Debug)]
pub struct Bpe {
    vocabulary: Vocabulary,
    /// Rank and merged id of each pair.
    merges: HashMap<(u32, u32), (u32, u32), FixedState>,
    prefix: String,
    suffix: String,
    /// Whether an unknown token is named, and its id if the vocabulary has it.
    unknown: Option<Option<u32>>,
    fuses_unknown: bool,
    byte_tokens: Option<Vec<Option<u32>>>,
    whole_piece_first: bool,
    /// The pairs of characters, by id, that some merge joins. None where parts of a piece depend on each other otherwise.
    joints: Option<HashSet<(u32, u32), FixedState>>,
}

/// A token of the piece under work. `size` is the bytes that it covers, 0 once it has been merged into its neighbour.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    id: u32,
    size: u32,
    before: u32,
    after: u32,
}

const NONE: u32 = u32::MAX;

/// Rank, place and merged id: what is merged first comes first.
type Candidate = Reverse<(u32, u32, u32)>;

impl Bpe {
    pub fn new(options: Options, vocabulary: Vocabulary, pairs: &[[u32; 2]]) -> Result<Self> {
        if let Some(dropout) = options.dropout.filter(|&dropout| dropout != 0.0) {
            let message =
                format!("BPE: expected no dropout or 0, with which ids are the same each time, found {dropout}");
            return Err(Error::Spec(message));
        }
        let prefix = options.continuing_subword_prefix.unwrap_or_default();
        let mut merges = HashMap::with_capacity_and_hasher(pairs.len(), FixedState::with_seed(0));
        for (&[left, right], rank) in pairs.iter().zip(0..) {
            let merged = merged(&vocabulary, left, right, prefix.len()).ok_or_else(|| {
                Error::Spec(format!(
                    "merge {rank}: expected two tokens that together are one, found {left} and {right}"
                ))
            })?;
            merges.insert((left, right), (rank, merged));
        }
        let mut model = Self {
            joints: None,
            merges,
            prefix,
            suffix: options.end_of_word_suffix.unwrap_or_default(),
            unknown: options.unk_token.map(|token| vocabulary.find(token.as_bytes()).map(|(_, id)| id)),
            fuses_unknown: options.fuse_unk,
            byte_tokens: options.byte_fallback.then(|| byte_tokens(&vocabulary)),
            whole_piece_first: options.ignore_merges,
            vocabulary,
        };
        // A character that is dropped moves all that follows it, and first and last characters may be spelled otherwise.
        let is_complete = |ids: &Vec<Option<u32>>| ids.iter().all(Option::is_some);
        let keeps_all = model.unknown.is_some() || model.byte_tokens.as_ref().is_some_and(is_complete);
        if keeps_all && !model.whole_piece_first && model.prefix.is_empty() && model.suffix.is_empty() {
            model.joints = joints(&model.merges);
        }
        Ok(model)
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Where the part of `piece` ends that begins at `start` and whose tokens are the same without the rest: in front of
    /// a character that no merge joins to the one before. Both must be tokens.
    pub fn part_end(&self, piece: &str, start: usize, pulse: &mut Pulse) -> Result<usize> {
        let Some(joints) = &self.joints else { return Ok(piece.len()) };
        let mut before = None;
        for (at, character) in piece.get(start..).unwrap_or_default().char_indices() {
            pulse.beat(1)?;
            let mut buffer = [0; 4];
            let id = self.vocabulary.find(character.encode_utf8(&mut buffer).as_bytes()).map(|(_, id)| id);
            if let (Some(left), Some(right)) = (before, id)
                && !joints.contains(&(left, right))
            {
                return Ok(start + at);
            }
            before = id;
        }
        Ok(piece.len())
    }

    pub fn tokenize(
        &self,
        piece: &str,
        forbidden: &Forbidden,
        tokens: &mut Vec<Token>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if self.whole_piece_first
            && let Some((_, id)) = self.vocabulary.find(piece.as_bytes())
            && (piece.chars().nth(1).is_none() || !forbidden.contains(id))
        {
            tokens.push(Token { id, start: 0, end: piece.len() as u32, is_text: false });
            return Ok(());
        }
        let mut symbols = self.characters(piece, pulse)?;
        self.merge(&mut symbols, forbidden, pulse)?;
        // Characters that are dropped leave no gap: what follows them moves up, as in Hugging Face's own offsets.
        let mut start = 0;
        for symbol in symbols.iter().filter(|symbol| symbol.size > 0) {
            let end = start + symbol.size;
            tokens.push(Token { id: symbol.id, start, end, is_text: false });
            start = end;
        }
        Ok(())
    }

    /// A symbol for each character, with prefix and suffix; for what has none its bytes, or the unknown token. A character's
    /// own token is never forbidden, for nothing else spells it.
    fn characters(&self, piece: &str, pulse: &mut Pulse) -> Result<Vec<Symbol>> {
        let mut symbols = Vec::with_capacity(piece.len());
        // An unknown token is put in only when a known one follows, even where bytes come between.
        let mut unknown: Option<(u32, u32)> = None;
        let mut spelling = String::new();
        for (start, character) in piece.char_indices() {
            pulse.beat(4)?;
            let size = character.len_utf8();
            let is_plain =
                (start == 0 || self.prefix.is_empty()) && (self.suffix.is_empty() || start + size < piece.len());
            let spelled = if is_plain {
                piece.get(start..start + size).unwrap_or_default()
            } else {
                spelling.clear();
                spelling.push_str(if start == 0 { "" } else { &self.prefix });
                spelling.push(character);
                spelling.push_str(if start + size == piece.len() { &self.suffix } else { "" });
                &spelling
            };
            let size = size as u32;
            if let Some((_, id)) = self.vocabulary.find(spelled.as_bytes()) {
                push_unknown(&mut symbols, unknown.take());
                push(&mut symbols, id, size);
            } else if let Some(ids) = self.bytes(spelled) {
                ids.into_iter().for_each(|id| push(&mut symbols, id, 1));
            } else if let Some(id) = self.unknown {
                let id = id.ok_or_else(|| no_unknown_token(spelled))?;
                let fused = unknown.filter(|_| self.fuses_unknown).map_or(0, |(_, fused)| fused);
                if fused == 0 {
                    push_unknown(&mut symbols, unknown);
                }
                unknown = Some((id, fused + size));
            }
        }
        push_unknown(&mut symbols, unknown);
        Ok(symbols)
    }

    fn bytes(&self, spelled: &str) -> Option<Vec<u32>> {
        let ids = self.byte_tokens.as_ref()?;
        spelled.bytes().map(|byte| ids.get(usize::from(byte)).copied().flatten()).collect()
    }

    fn merge(&self, symbols: &mut [Symbol], forbidden: &Forbidden, pulse: &mut Pulse) -> Result<()> {
        let mut queue: BinaryHeap<Candidate> = BinaryHeap::with_capacity(symbols.len());
        let candidate = |place: usize, left: u32, right: u32| {
            let &(rank, merged) = self.merges.get(&(left, right))?;
            forbidden.pass(merged).map(|merged| Reverse((rank, place as u32, merged)))
        };
        let pairs = symbols.iter().zip(symbols.iter().skip(1)).enumerate();
        let pairs = pulse.each(pairs);
        queue.extend(pairs.filter_map(|(place, (left, right))| candidate(place, left.id, right.id)));
        while let Some(Reverse((_, place, merged))) = queue.pop() {
            pulse.beat(16)?;
            let place = place as usize;
            let Some(&left) = symbols.get(place).filter(|left| left.size > 0) else { continue };
            let Some(&right) = symbols.get(left.after as usize) else { continue };
            // What stood here when this was found may have merged otherwise.
            if self.merges.get(&(left.id, right.id)).is_none_or(|&(_, now)| now != merged) {
                continue;
            }
            let joined = Symbol { id: merged, size: left.size + right.size, after: right.after, ..left };
            set(symbols, left.after, |symbol| symbol.size = 0);
            set(symbols, place as u32, |symbol| *symbol = joined);
            set(symbols, right.after, |symbol| symbol.before = place as u32);
            if let Some(before) = symbols.get(joined.before as usize) {
                queue.extend(candidate(joined.before as usize, before.id, merged));
            }
            if let Some(after) = symbols.get(joined.after as usize) {
                queue.extend(candidate(place, merged, after.id));
            }
        }
        pulse.check()
    }
}

fn push(symbols: &mut Vec<Symbol>, id: u32, size: u32) {
    let place = symbols.len() as u32;
    if let Some(last) = symbols.last_mut() {
        last.after = place;
    }
    symbols.push(Symbol { id, size, before: place.checked_sub(1).unwrap_or(NONE), after: NONE });
}

fn push_unknown(symbols: &mut Vec<Symbol>, unknown: Option<(u32, u32)>) {
    if let Some((id, size)) = unknown {
        push(symbols, id, size);
    }
}

fn set(symbols: &mut [Symbol], place: u32, change: impl FnOnce(&mut Symbol)) {
    if let Some(symbol) = symbols.get_mut(place as usize) {
        change(symbol);
    }
}

/// The token that the two make, the right one without its prefix.
fn merged(vocabulary: &Vocabulary, left: u32, right: u32, prefix_size: usize) -> Option<u32> {
    let joined = [vocabulary.token(left)?, vocabulary.token(right)?.get(prefix_size..)?].concat();
    vocabulary.find(&joined).map(|(_, id)| id)
}

/// The pairs of tokens, each no merge's, that meet in some merge: the last of its left and the first of its right side.
/// None where a token is made in ways that begin or end otherwise, or of itself.
fn joints(merges: &HashMap<(u32, u32), (u32, u32), FixedState>) -> Option<HashSet<(u32, u32), FixedState>> {
    let made: HashSet<u32, FixedState> = merges.values().map(|&(_, merged)| merged).collect();
    let mut edges: HashMap<u32, (u32, u32), FixedState> = HashMap::default();
    let mut joints = HashSet::default();
    let mut waiting: Vec<_> = merges.iter().map(|(&pair, &(rank, merged))| (rank, pair, merged)).collect();
    waiting.sort_unstable();
    // A merge may come before those that make its sides; each pass resolves some.
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut is_consistent = true;
        waiting.retain(|&(_, (left, right), merged)| {
            let edges_of =
                |token| if made.contains(&token) { edges.get(&token).copied() } else { Some((token, token)) };
            let (Some((first, last)), Some((next_first, next_last))) = (edges_of(left), edges_of(right)) else {
                return true;
            };
            joints.insert((last, next_first));
            is_consistent &= *edges.entry(merged).or_insert((first, next_last)) == (first, next_last);
            false
        });
        if !is_consistent || waiting.len() == before {
            return None;
        }
    }
    Some(joints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(tokens: &[&str], merges: &[[u32; 2]]) -> Bpe {
        let ends = tokens.iter().scan(0, |end, token| {
            *end += token.len() as u32;
            Some(*end)
        });
        let (ends, ids) = (ends.collect(), (0..tokens.len() as u32).collect());
        let vocabulary = Vocabulary::new(tokens.concat().as_bytes(), ends, ids).expect("well formed");
        let options = serde_json::from_str(r#"{"unk_token":"?"}"#).expect("well formed");
        Bpe::new(options, vocabulary, merges).expect("each merge makes a token")
    }

    fn parts<'p>(model: &Bpe, piece: &'p str) -> Vec<&'p str> {
        let mut parts = Vec::new();
        let mut start = 0;
        while start < piece.len() {
            let end = model.part_end(piece, start, &mut Pulse::new(&mut || true)).expect("nothing stops it");
            parts.push(&piece[start..end]);
            start = end;
        }
        parts
    }

    #[test]
    fn parts_end_where_no_merge_joins_two_tokens() {
        let bpe = model(&["?", "a", "b", "_", "ab", "_ab"], &[[1, 2], [3, 4]]);
        assert_eq!(parts(&bpe, "_ab_abb_xab"), ["_ab", "_ab", "b", "_xab"]);
    }

    #[test]
    fn merges_count_that_come_before_those_of_their_sides() {
        let bpe = model(&["?", "a", "ab", "b", "c", "bc", "abc"], &[[1, 5], [2, 4], [1, 3], [3, 4]]);
        assert_eq!(parts(&bpe, "abcabcb"), ["abc", "abc", "b"]);
    }

    #[test]
    fn what_is_unknown_is_fused_only_where_asked() {
        let bpe = model(&["?", "a"], &[]);
        let mut tokens = Vec::new();
        let mut go_on = || true;
        bpe.tokenize("axxa", &Forbidden::default(), &mut tokens, &mut Pulse::new(&mut go_on))
            .expect("there is an unknown token");
        assert_eq!(tokens.iter().map(|token| token.id).collect::<Vec<_>>(), [1, 0, 0, 1]);
    }
}
