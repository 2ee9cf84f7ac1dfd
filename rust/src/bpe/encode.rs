//! BPE encoding: merge the leftmost pair of lowest rank until no pair has one.
//!
//! Short pieces scan a vector, O(n·m) but in cache; long ones use a heap over linked symbols, O(n log n). Both give the
//! same ids: see `scan_equals_heap`.
//! Which pairs merge is the semantics: `Rank` (tiktoken) any two tokens whose joined bytes are a token, by that token's
//! rank; `Merges` (Hugging Face, minbpe) the listed pairs alone, by their place in the list.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, OnceLock};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::boundary::Boundaries;
use super::cache::{LongTable, MAX_LONG_BYTES, PairMemo, WordTable};
use crate::error::{Error, Result};
use crate::packed::key;
use crate::pulse::Pulse;
use crate::split::Span;
use crate::vocabulary::Vocabulary;

/// Pieces of up to this many bytes are merged by scanning.
const SCAN_LIMIT: usize = 64;

const NEVER: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// When two neighbours merge, and what comes first.
#[derive(Debug, Clone)]
pub enum Semantics {
    /// The rank of each token by its place in the vocabulary; empty where the place is the rank.
    Rank { ranks: Vec<u32> },
    /// Rank and merged id of each listed pair.
    Merges { merges: HashMap<(u32, u32), (u32, u32), FixedState> },
}

#[derive(Debug)]
pub struct Bpe {
    vocabulary: Vocabulary,
    id_by_byte: [u32; 256],
    /// Rank and merged id of each pair of bytes: what a merge begins with, in memory that stays near.
    byte_pairs: Vec<(u32, u32)>,
    semantics: Semantics,
    /// A piece that is a token is that token, whatever its merges would give.
    whole_piece_first: bool,
    /// Made when the first piece that is not ASCII asks for it.
    boundaries: OnceLock<Boundaries>,
    making: Mutex<()>,
}

/// A token of the piece under work, and what it would become with its right neighbour.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: u32,
    id: u32,
    rank: u32,
    merged: u32,
}

/// A symbol in the linked list of a long piece.
#[derive(Debug, Clone, Copy)]
struct Link {
    symbol: Symbol,
    end: u32,
    previous: u32,
    next: u32,
}

/// Buffers that outlive a piece. They belong to one model: the word table holds its ids.
#[derive(Debug, Default)]
pub struct Scratch {
    words: WordTable,
    long: LongTable,
    pairs: PairMemo,
    symbols: Vec<Symbol>,
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

impl Bpe {
    pub fn by_rank(vocabulary: Vocabulary, ranks: Vec<u32>) -> Result<Self> {
        if !ranks.is_empty() && ranks.len() != vocabulary.len() {
            return Err(Error::Spec(format!(
                "ranks: expected one a token, {}, found {}",
                vocabulary.len(),
                ranks.len()
            )));
        }
        Ok(Self::new(vocabulary, Semantics::Rank { ranks }, true))
    }

    /// `pairs` are (left id, right id), the first merged first. Of a pair that stands twice the last counts, as in Hugging
    /// Face's map.
    pub fn by_merges(vocabulary: Vocabulary, pairs: &[[u32; 2]], ignore_merges: bool) -> Result<Self> {
        let mut merges = HashMap::with_capacity_and_hasher(pairs.len(), FixedState::with_seed(0));
        let mut joined = Vec::new();
        for (rank, &[left, right]) in pairs.iter().enumerate() {
            joined.clear();
            for id in [left, right] {
                let missing = || Error::Spec(format!("merge {rank}: expected an id of the vocabulary, found {id}"));
                joined.extend_from_slice(vocabulary.token(id).ok_or_else(missing)?);
            }
            let missing =
                || Error::Spec(format!("merge {rank}: expected a token of {left} and {right} joined, found none"));
            let (_, merged) = vocabulary.find(&joined).ok_or_else(missing)?;
            merges.insert((left, right), (rank as u32, merged));
        }
        Ok(Self::new(vocabulary, Semantics::Merges { merges }, ignore_merges))
    }

    fn new(vocabulary: Vocabulary, semantics: Semantics, whole_piece_first: bool) -> Self {
        let id_by_byte = std::array::from_fn(|byte| vocabulary.find(&[byte as u8]).map_or(NONE, |(_, id)| id));
        let byte_pairs = vec![(NEVER, NONE); 1 << 16];
        let mut bpe = Self {
            vocabulary,
            id_by_byte,
            byte_pairs,
            semantics,
            whole_piece_first,
            boundaries: OnceLock::new(),
            making: Mutex::default(),
        };
        bpe.fill_byte_pairs();
        bpe
    }

    fn fill_byte_pairs(&mut self) {
        let mut found = Vec::new();
        for (_, token) in self.vocabulary.iter() {
            if let &[left, right] = token {
                let id = |byte: u8| self.id_by_byte.get(usize::from(byte)).copied().unwrap_or(NONE);
                found.push((left, right, self.look_up_pair(id(left), id(right), token)));
            }
        }
        for (left, right, pair) in found {
            if let Some(slot) = self.byte_pairs.get_mut(usize::from(left) << 8 | usize::from(right)) {
                *slot = pair;
            }
        }
    }

    /// Name and account of each path that merging has.
    pub fn certificate(&self) -> [(&'static str, &'static str); 4] {
        let whole = if self.whole_piece_first {
            "a piece that is a token is that token: one look-up"
        } else {
            "off: a piece is what its merges make of it"
        };
        [
            ("whole piece", whole),
            ("word table", "pieces met before, of up to 15 bytes in one cache line, of up to 256 in another table"),
            ("hard boundaries", "pieces that are not ASCII fall into segments that no token reaches across"),
            ("merging", "scanned up to 64 bytes, a heap beyond: n log n on every piece"),
        ]
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Appends the ids of `pieces`, each some bytes of `text`, to `ids`.
    pub fn encode_pieces_into(
        &self,
        text: &str,
        pieces: &[Span],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        // Some keys at a time, so that their cache lines are under way before the first is needed.
        let mut keys = [0; 32];
        for pieces in pieces.chunks(keys.len()) {
            for (slot, &Span { start, end }) in keys.iter_mut().zip(pieces) {
                *slot = key(text.as_bytes(), start, end);
                scratch.words.expect(*slot);
            }
            for (&key, &piece) in keys.iter().zip(pieces) {
                if key == 0 {
                    self.encode_long(text, piece, scratch, ids, pulse)?;
                } else if !scratch.words.append(key, ids) {
                    let before = ids.len();
                    self.encode_new(text, piece, scratch, ids, pulse)?;
                    scratch.words.insert(key, ids.get(before..).unwrap_or_default());
                }
            }
        }
        Ok(())
    }

    /// Appends the ids of one piece, by its merges alone where it is not a token: the slow twin of what is above.
    pub fn encode_into(
        &self,
        piece: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let whole = Span { start: 0, end: piece.len() };
        if self.append_token(piece, whole, ids) { Ok(()) } else { self.merge(piece, whole, scratch, ids, pulse) }
    }

    /// Appends the id of a piece that is a token, where that comes first.
    fn append_token(&self, text: &[u8], piece: Span, ids: &mut Vec<u32>) -> bool {
        let found = if self.whole_piece_first { self.vocabulary.find_in(text, piece.start, piece.end) } else { None };
        ids.extend(found.map(|(_, id)| id));
        found.is_some()
    }

    #[cold]
    fn encode_new(
        &self,
        text: &str,
        piece: Span,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        if self.append_token(text.as_bytes(), piece, ids) {
            return Ok(());
        }
        match text.get(piece.start..piece.end) {
            Some(characters) if !characters.is_ascii() => {
                self.encode_segments(text.as_bytes(), piece, characters, scratch, ids, pulse)
            }
            _ => self.merge(text.as_bytes(), piece, scratch, ids, pulse),
        }
    }

    /// A piece that has no key.
    fn encode_long(
        &self,
        text: &str,
        piece: Span,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let bytes = text.as_bytes().get(piece.start..piece.end).unwrap_or_default();
        if bytes.len() > MAX_LONG_BYTES {
            return self.encode_new(text, piece, scratch, ids, pulse);
        }
        if scratch.long.append(bytes, ids) {
            return Ok(());
        }
        let before = ids.len();
        self.encode_new(text, piece, scratch, ids, pulse)?;
        scratch.long.insert(bytes, ids.get(before..).unwrap_or_default());
        Ok(())
    }

    /// The ids of a piece by its segments: the parts between places that no token reaches across.
    fn encode_segments(
        &self,
        text: &[u8],
        piece: Span,
        characters: &str,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let Some(boundaries) = self.boundaries() else {
            return self.encode_segment(text, piece, scratch, ids, pulse);
        };
        let mut segment = piece;
        let mut before = None;
        for (offset, after) in characters.char_indices() {
            let at = piece.start + offset;
            if let Some(before) = before
                && !boundaries.is_crossed(before, after, text, at)
            {
                self.encode_segment(text, Span { end: at, ..segment }, scratch, ids, pulse)?;
                segment.start = at;
            }
            before = Some(after);
            pulse.beat(1)?;
        }
        self.encode_segment(text, segment, scratch, ids, pulse)
    }

    /// None while another thread makes them, for which nobody waits: in a forked process that thread is not there.
    fn boundaries(&self) -> Option<&Boundaries> {
        if let Some(boundaries) = self.boundaries.get() {
            return Some(boundaries);
        }
        let _making = self.making.try_lock().ok()?;
        Some(self.boundaries.get_or_init(|| Boundaries::new(self.vocabulary.iter().map(|(_, token)| token))))
    }

    /// A segment that is a token need not be one id: only a whole piece comes first. So it has keys of its own.
    fn encode_segment(
        &self,
        text: &[u8],
        segment: Span,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        const SEGMENT: u128 = 1 << 127;
        let key = key(text, segment.start, segment.end);
        if key == 0 {
            return self.merge(text, segment, scratch, ids, pulse);
        }
        if scratch.words.append(key | SEGMENT, ids) {
            return Ok(());
        }
        let before = ids.len();
        self.merge(text, segment, scratch, ids, pulse)?;
        scratch.words.insert(key | SEGMENT, ids.get(before..).unwrap_or_default());
        Ok(())
    }

    /// Appends what the merges make of `text[start..end]`.
    fn merge(
        &self,
        text: &[u8],
        Span { start, end }: Span,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let piece = text.get(start..end).unwrap_or_default();
        if piece.len() <= SCAN_LIMIT { self.scan(piece, scratch, ids) } else { self.heap(piece, scratch, ids, pulse) }
    }

    fn byte_id(&self, byte: u8) -> Result<u32> {
        match self.id_by_byte.get(byte as usize) {
            Some(&id) if id != NONE => Ok(id),
            _ => Err(Error::NoByteToken { byte }),
        }
    }

    /// Rank and merged id of two neighbours; `joined` are the bytes of both.
    fn pair(&self, left: u32, right: u32, joined: &[u8], memo: &mut PairMemo) -> (u32, u32) {
        if let &[left, right] = joined {
            let pair = self.byte_pairs.get(usize::from(left) << 8 | usize::from(right));
            return pair.copied().unwrap_or((NEVER, NONE));
        }
        memo.get_or_insert_with(left, right, || self.look_up_pair(left, right, joined))
    }

    fn look_up_pair(&self, left: u32, right: u32, joined: &[u8]) -> (u32, u32) {
        let found = match &self.semantics {
            Semantics::Merges { merges } => merges.get(&(left, right)).copied(),
            Semantics::Rank { ranks } => self.vocabulary.find(joined).map(|(place, id)| {
                (if ranks.is_empty() { place } else { ranks.get(place as usize).copied().unwrap_or(NEVER) }, id)
            }),
        };
        found.unwrap_or((NEVER, NONE))
    }

    fn scan(&self, piece: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>) -> Result<()> {
        let Scratch { symbols, pairs, .. } = scratch;
        symbols.clear();
        for (start, &byte) in piece.iter().enumerate() {
            symbols.push(Symbol { start: start as u32, id: self.byte_id(byte)?, rank: NEVER, merged: NONE });
        }
        for at in 0..symbols.len().saturating_sub(1) {
            self.rank_at(piece, symbols, at, pairs);
        }
        while let Some((at, merged)) = lowest(symbols) {
            if let Some(symbol) = symbols.get_mut(at) {
                symbol.id = merged;
            }
            symbols.remove(at + 1);
            self.rank_at(piece, symbols, at, pairs);
            if at > 0 {
                self.rank_at(piece, symbols, at - 1, pairs);
            }
        }
        ids.extend(symbols.iter().map(|symbol| symbol.id));
        Ok(())
    }

    /// Works out what the symbol at `at` would become with its right neighbour.
    fn rank_at(&self, piece: &[u8], symbols: &mut [Symbol], at: usize, memo: &mut PairMemo) {
        let end = symbols.get(at + 2).map_or(piece.len(), |symbol| symbol.start as usize);
        let right = symbols.get(at + 1).map(|symbol| symbol.id);
        let Some(symbol) = symbols.get_mut(at) else { return };
        (symbol.rank, symbol.merged) = match (right, piece.get(symbol.start as usize..end)) {
            (Some(right), Some(joined)) => self.pair(symbol.id, right, joined, memo),
            _ => (NEVER, NONE),
        };
    }

    fn heap(&self, piece: &[u8], scratch: &mut Scratch, ids: &mut Vec<u32>, pulse: &mut Pulse) -> Result<()> {
        let Scratch { links, heap, pairs, .. } = scratch;
        links.clear();
        heap.clear();
        if u32::try_from(piece.len()).is_err() {
            return Err(Error::Spec(format!("piece: expected at most {} bytes, found {}", u32::MAX, piece.len())));
        }
        for (at, &byte) in piece.iter().enumerate() {
            pulse.beat(1)?;
            let at = at as u32;
            let symbol = Symbol { start: at, id: self.byte_id(byte)?, rank: NEVER, merged: NONE };
            links.push(Link { symbol, end: at + 1, previous: at.wrapping_sub(1), next: at + 1 });
        }
        for at in 0..piece.len() as u32 {
            pulse.beat(4)?;
            self.push(piece, links, heap, at, pairs);
        }
        while let Some(Reverse((rank, at, merged))) = heap.pop() {
            pulse.beat(16)?;
            let Some(&link) = links.get(at as usize) else { continue };
            // An entry is stale where its symbol is gone or has another neighbour by now.
            if link.symbol.rank != rank || link.symbol.merged != merged {
                continue;
            }
            let Some(right) = links.get_mut(link.next as usize) else { continue };
            let (end, next) = (right.end, right.next);
            right.symbol.rank = NEVER;
            right.symbol.merged = NONE;
            if let Some(link) = links.get_mut(at as usize) {
                (link.symbol.id, link.end, link.next) = (merged, end, next);
            }
            if let Some(after) = links.get_mut(next as usize) {
                after.previous = at;
            }
            self.push(piece, links, heap, at, pairs);
            if link.previous != NONE {
                self.push(piece, links, heap, link.previous, pairs);
            }
        }
        let mut at = 0;
        while let Some(link) = links.get(at as usize) {
            ids.push(link.symbol.id);
            at = link.next;
        }
        Ok(())
    }

    /// Works out what the symbol at `at` would become with its right neighbour, and lines it up to do so.
    fn push(
        &self,
        piece: &[u8],
        links: &mut [Link],
        heap: &mut BinaryHeap<Reverse<(u32, u32, u32)>>,
        at: u32,
        memo: &mut PairMemo,
    ) {
        let Some(&left) = links.get(at as usize) else { return };
        let (rank, merged) = match links.get(left.next as usize) {
            Some(right) => {
                let joined = piece.get(left.symbol.start as usize..right.end as usize).unwrap_or_default();
                self.pair(left.symbol.id, right.symbol.id, joined, memo)
            }
            None => (NEVER, NONE),
        };
        if let Some(link) = links.get_mut(at as usize) {
            (link.symbol.rank, link.symbol.merged) = (rank, merged);
        }
        if rank != NEVER {
            heap.push(Reverse((rank, at, merged)));
        }
    }
}

/// Place and merged id of the leftmost symbol of lowest rank, where one has a rank.
fn lowest(symbols: &[Symbol]) -> Option<(usize, u32)> {
    let (at, symbol) = symbols.iter().enumerate().min_by_key(|(_, symbol)| symbol.rank)?;
    if symbol.rank == NEVER { None } else { Some((at, symbol.merged)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes, then the given tokens.
    fn vocabulary(tokens: &[&[u8]]) -> Vocabulary {
        let bytes: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).chain(tokens.iter().map(|t| t.to_vec())).collect();
        let mut end = 0;
        let ends = bytes.iter().map(|token| {
            end += token.len() as u32;
            end
        });
        Vocabulary::new(&bytes.concat(), ends.collect(), (0..bytes.len() as u32).collect()).expect("well formed")
    }

    fn encode(bpe: &Bpe, piece: &[u8]) -> Vec<u32> {
        let mut ids = Vec::new();
        bpe.encode_into(piece, &mut Scratch::default(), &mut ids, &mut Pulse::new(&mut || true))
            .expect("all bytes have tokens");
        ids
    }

    #[test]
    fn an_overlapping_run_merges_from_the_left() {
        let bpe = Bpe::by_rank(vocabulary(&[b"aa"]), vec![]).expect("no ranks");
        assert_eq!(encode(&bpe, b"aaa"), [256, 97]);
    }

    #[test]
    fn listed_pairs_alone_merge_under_merges() {
        let merges = [[98, 99], [97, 256]];
        let listed = Bpe::by_merges(vocabulary(&[b"bc", b"abc", b"ab"]), &merges, false).expect("ids exist");
        assert_eq!(encode(&listed, b"ab"), [97, 98]);
        assert_eq!(encode(&listed, b"abc"), [257]);
        let whole = Bpe::by_merges(vocabulary(&[b"bc", b"abc", b"ab"]), &merges, true).expect("ids exist");
        assert_eq!(encode(&whole, b"ab"), [258]);
    }

    #[test]
    fn scan_equals_heap() {
        let tokens: [&[u8]; 9] = [b"ab", b"ba", b"aba", b"aa", b"bb", b"abab", b"aaaa", b"bab", b"abba"];
        let ranked = Bpe::by_rank(vocabulary(&tokens), vec![]).expect("no ranks");
        let merges = [[97, 98], [256, 97], [98, 97], [97, 97], [259, 259], [256, 256], [97, 257]];
        let listed = Bpe::by_merges(vocabulary(&tokens), &merges, false).expect("ids exist");
        let mut state = 7u64;
        for length in (0..200).chain([1000, 5000]) {
            let piece: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if (state >> 40) % 5 < 3 { b'a' } else { b'b' }
                })
                .collect();
            for bpe in [&ranked, &listed] {
                let (mut scanned, mut heaped, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
                bpe.scan(&piece, &mut scratch, &mut scanned).expect("all bytes have tokens");
                bpe.heap(&piece, &mut scratch, &mut heaped, &mut Pulse::new(&mut || true))
                    .expect("all bytes have tokens");
                assert_eq!(scanned, heaped);
            }
        }
    }

    /// Pieces through the tables, twice, against the merges alone.
    #[test]
    fn segments_encode_as_the_whole() {
        let tokens = ["日本", "本日", "日本日", "a日", "é", "aé", "éa", "本a", "日日日日日", "aa", "\u{1F44B}"]
            .map(str::as_bytes);
        let torn: [&[u8]; 7] = [b"\xE6\x97", b"\xA5\xE6", b"\x97\xA5", b"\xE6\x9C", b"\xAC\xE6", b" \xE6", b"\xA5 "];
        let all: Vec<&[u8]> = torn.into_iter().chain(tokens).collect();
        let bpe = Bpe::by_rank(vocabulary(&all), vec![]).expect("no ranks");
        let (mut state, mut scratch) = (3u64, Scratch::default());
        for length in 1..400 {
            let text: String = (0..length % 40 + 1)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    ['日', '本', 'a', 'é', ' ', '\u{1F44B}'][(state >> 40) as usize % 6]
                })
                .collect();
            for _ in 0..2 {
                let mut ids = Vec::new();
                let piece = [Span { start: 0, end: text.len() }];
                bpe.encode_pieces_into(&text, &piece, &mut scratch, &mut ids, &mut Pulse::new(&mut || true))
                    .expect("all bytes have tokens");
                assert_eq!(ids, encode(&bpe, text.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn a_byte_without_a_token_is_an_error() {
        let bpe =
            Bpe::by_rank(Vocabulary::new(b"a", vec![1], vec![0]).expect("well formed"), vec![]).expect("no ranks");
        let result = bpe.encode_into(b"ab", &mut Scratch::default(), &mut Vec::new(), &mut Pulse::new(&mut || true));
        assert_eq!(result, Err(Error::NoByteToken { byte: b'b' }));
    }
}
