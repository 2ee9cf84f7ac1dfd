//! What two neighbours become: which pairs of tokens merge, and which of them first.
//!
//! Under `Rank` (tiktoken) any two tokens whose joined bytes are a token merge, by that token's rank; under `Merges`
//! (Hugging Face, minbpe) the listed pairs alone, by their place in the list.
//!
//! A look-up by joined bytes costs a hash of the bytes and two cache lines far away. But of all the ways to cut a token
//! in two, only one ever stands before its merge: no merge has reached across the ends of its bytes, so what stands
//! there is what merging these bytes alone has come to, and that passes through one pair at most. So a table of one pair
//! a token answers every question that merging asks: `the_table_answers_as_the_vocabulary`. It is made when enough
//! pieces were new to pay for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::merge::Merger;
use crate::error::{Error, Result};
use crate::memory::{filled, prefetch};
use crate::split::Span;
use crate::vocabulary::{MAX_ID, Vocabulary};

/// The rank of two tokens that do not merge; greater than all others.
pub const NEVER: u32 = 1 << PairTable::RANK_BITS;
pub const NONE: u32 = u32::MAX;

/// Look-ups by bytes that cost about as much as the table of pairs: some 50 ms for 100,000 tokens.
const LOOK_UPS_BEFORE_TABLE: u32 = 1 << 18;

/// What the rank of two neighbours is.
pub trait Ranks {
    /// `joined` gives the bytes of both.
    fn rank<'p>(&self, left: u32, right: u32, joined: impl FnOnce() -> &'p [u8]) -> u32;

    /// Says that `rank` will be asked soon.
    #[inline]
    fn expect(&self, _left: u32, _right: u32) {}
}

#[derive(Debug)]
pub struct Pairs {
    semantics: Semantics,
    /// The id that a merge of each rank makes; empty where the rank is the id.
    id_by_rank: Vec<u32>,
    id_by_byte: [u32; 256],
    no_id: u32,
    /// The rank of each pair of bytes: what a merge begins with, in memory that stays near.
    byte_pairs: Vec<u32>,
}

#[derive(Debug)]
enum Semantics {
    Rank {
        /// By place in the vocabulary; empty where the rank is the id.
        ranks: Vec<u32>,
        table: OnceLock<PairTable>,
        making: Mutex<()>,
        num_look_ups: AtomicU32,
    },
    Merges(PairTable),
}

impl Pairs {
    pub fn by_rank(vocabulary: &Vocabulary, ranks: &[u32]) -> Result<Self> {
        if !ranks.is_empty() && ranks.len() != vocabulary.len() {
            let (expected, found) = (vocabulary.len(), ranks.len());
            return Err(Error::Spec(format!("ranks: expected one a token, {expected}, found {found}")));
        }
        let ids: Vec<u32> = vocabulary.iter().map(|(id, _)| id).collect();
        let mut order: Vec<(u32, usize)> = ranks.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut id_by_rank = Vec::with_capacity(order.len());
        let mut rank_by_place = vec![0; order.len()];
        let mut last = None;
        for (rank, place) in order {
            if last == Some(rank) {
                return Err(Error::Spec(format!("ranks: expected each once, found {rank} twice")));
            }
            last = Some(rank);
            if let (Some(slot), Some(&id)) = (rank_by_place.get_mut(place), ids.get(place)) {
                *slot = id_by_rank.len() as u32;
                id_by_rank.push(id);
            }
        }
        if id_by_rank.is_sorted() {
            (id_by_rank, rank_by_place) = (Vec::new(), Vec::new());
        }
        let semantics = Semantics::Rank {
            ranks: rank_by_place,
            table: OnceLock::new(),
            making: Mutex::default(),
            num_look_ups: AtomicU32::default(),
        };
        Ok(Self::new(vocabulary, semantics, id_by_rank))
    }

    /// `pairs` are (left id, right id), the first merged first. Of a pair that stands twice the last counts, as in Hugging
    /// Face's map.
    pub fn by_merges(vocabulary: &Vocabulary, pairs: &[[u32; 2]]) -> Result<Self> {
        if pairs.len() > MAX_ID as usize {
            return Err(Error::Spec(format!("merges: expected at most {MAX_ID}, found {}", pairs.len())));
        }
        let mut merged = Vec::with_capacity(pairs.len());
        let mut joined = Vec::new();
        for (rank, &[left, right]) in pairs.iter().enumerate() {
            joined.clear();
            for id in [left, right] {
                let missing = || Error::Spec(format!("merge {rank}: expected an id of the vocabulary, found {id}"));
                joined.extend_from_slice(vocabulary.token(id).ok_or_else(missing)?);
            }
            let missing =
                || Error::Spec(format!("merge {rank}: expected a token of {left} and {right} joined, found none"));
            merged.push(vocabulary.find(&joined).ok_or_else(missing)?.1);
        }
        // Where later merges make greater ids, an id is as good an order as a place in the list.
        let is_ordered = merged.is_sorted_by(|a, b| a < b);
        let mut table = PairTable::new(vocabulary.max_id(), pairs.len());
        for ((rank, &[left, right]), &id) in (0..).zip(pairs).zip(&merged) {
            table.insert(left, right, if is_ordered { id } else { rank });
        }
        Ok(Self::new(vocabulary, Semantics::Merges(table), if is_ordered { Vec::new() } else { merged }))
    }

    fn new(vocabulary: &Vocabulary, semantics: Semantics, id_by_rank: Vec<u32>) -> Self {
        let id_by_byte = std::array::from_fn(|byte| vocabulary.find(&[byte as u8]).map_or(NONE, |(_, id)| id));
        let no_id = vocabulary.max_id() + 1;
        let mut pairs = Self { semantics, id_by_rank, id_by_byte, no_id, byte_pairs: vec![NEVER; 1 << 16] };
        for (_, token) in vocabulary.iter() {
            if let &[left, right] = token {
                let id = |byte: u8| id_by_byte.get(usize::from(byte)).copied().unwrap_or(NONE);
                let rank = pairs.look_up(vocabulary, id(left), id(right), token);
                if let Some(slot) = pairs.byte_pairs.get_mut(usize::from(left) << 8 | usize::from(right)) {
                    *slot = rank;
                }
            }
        }
        pairs
    }

    /// The token of one byte.
    #[inline]
    pub fn of_byte(&self, byte: u8) -> Result<u32> {
        match self.id_by_byte.get(usize::from(byte)) {
            Some(&id) if id != NONE => Ok(id),
            _ => Err(Error::NoByteToken { byte }),
        }
    }

    /// An id that no token has.
    #[inline]
    pub fn no_id(&self) -> u32 {
        self.no_id
    }

    /// The rank of the tokens of two bytes.
    #[inline]
    pub fn rank_of_bytes(&self, left: u8, right: u8) -> u32 {
        self.byte_pairs.get(usize::from(left) << 8 | usize::from(right)).copied().unwrap_or(NEVER)
    }

    /// The ranks of neighbours, as they are found at this moment.
    #[inline]
    pub fn ranks<'p>(&'p self, vocabulary: &'p Vocabulary) -> AllRanks<'p> {
        let table = match &self.semantics {
            Semantics::Merges(table) => Some(table),
            Semantics::Rank { table, .. } => table.get(),
        };
        AllRanks { table, pairs: self, vocabulary }
    }

    /// The id that a merge of this rank makes.
    #[inline]
    pub fn merged(&self, rank: u32) -> u32 {
        self.id_by_rank.get(rank as usize).copied().unwrap_or(rank)
    }

    #[cold]
    fn count_look_up(&self, vocabulary: &Vocabulary, left: u32, right: u32, joined: &[u8]) -> u32 {
        if let Semantics::Rank { num_look_ups, .. } = &self.semantics {
            num_look_ups.fetch_add(1, Ordering::Relaxed);
        }
        self.look_up(vocabulary, left, right, joined)
    }

    fn look_up(&self, vocabulary: &Vocabulary, left: u32, right: u32, joined: &[u8]) -> u32 {
        match &self.semantics {
            Semantics::Merges(table) => table.get(left, right),
            Semantics::Rank { ranks, .. } => vocabulary.find(joined).map_or(NEVER, |found| rank_of(ranks, found)),
        }
    }

    /// Makes the table of pairs, once there were enough look-ups to pay for it. Nobody waits for another thread that makes
    /// it: in a forked process that thread is not there.
    #[inline]
    pub fn prepare(&self, vocabulary: &Vocabulary) {
        if let Semantics::Rank { ranks, table, making, num_look_ups } = &self.semantics
            && num_look_ups.load(Ordering::Relaxed) > LOOK_UPS_BEFORE_TABLE
            && table.get().is_none()
            && let Ok(_making) = making.try_lock()
        {
            table.get_or_init(|| self.table(vocabulary, ranks));
        }
    }

    /// The pair that each token is merged from, the shorter tokens first: merging a token asks for shorter ones alone.
    /// Two bytes are asked for only where merging begins.
    fn table(&self, vocabulary: &Vocabulary, ranks: &[u32]) -> PairTable {
        let mut table = PairTable::new(vocabulary.max_id(), vocabulary.len());
        let mut end = 0;
        let mut tokens: Vec<Span> = Vec::with_capacity(vocabulary.len());
        for (_, token) in vocabulary.iter() {
            let start = end;
            end += token.len();
            // A byte without a token is in no text that is merged.
            if token.len() > 2 && token.iter().all(|&byte| self.of_byte(byte).is_ok()) {
                tokens.push(Span { start, end });
            }
        }
        tokens.sort_by_key(|token| token.end - token.start);
        let (mut merger, mut found) = (Merger::default(), Vec::new());
        for tokens in tokens.chunk_by(|a, b| a.end - a.start == b.end - b.start) {
            let merged = merger.merge_many(self, &table, vocabulary.data(), tokens, |number, ids| {
                if let (&[left, right], Some(token)) = (ids, tokens.get(number)) {
                    found.push((left, right, *token));
                }
            });
            if merged.is_err() {
                break;
            }
            for (left, right, token) in found.drain(..) {
                if let Some(found) = vocabulary.find_in(vocabulary.data(), token.start, token.end) {
                    table.insert(left, right, rank_of(ranks, found));
                }
            }
        }
        table
    }
}

/// Ranks by the table of pairs, or where that is not made yet by joined bytes.
#[derive(Debug)]
pub struct AllRanks<'p> {
    table: Option<&'p PairTable>,
    pairs: &'p Pairs,
    vocabulary: &'p Vocabulary,
}

impl Ranks for AllRanks<'_> {
    #[inline]
    fn rank<'p>(&self, left: u32, right: u32, joined: impl FnOnce() -> &'p [u8]) -> u32 {
        match self.table {
            Some(table) => table.get(left, right),
            None => self.pairs.count_look_up(self.vocabulary, left, right, joined()),
        }
    }

    #[inline]
    fn expect(&self, left: u32, right: u32) {
        if let Some(table) = self.table {
            table.expect(left, right);
        }
    }
}

impl Ranks for PairTable {
    #[inline]
    fn rank<'p>(&self, left: u32, right: u32, _joined: impl FnOnce() -> &'p [u8]) -> u32 {
        self.get(left, right)
    }

    #[inline]
    fn expect(&self, left: u32, right: u32) {
        if let Self::Packed { lines, shift } = self {
            prefetch(lines, Self::place(Self::key(left, right), *shift));
        }
    }
}

/// The rank of a token by its place in the vocabulary and its id.
fn rank_of(ranks: &[u32], (place, id): (u32, u32)) -> u32 {
    ranks.get(place as usize).copied().unwrap_or(id)
}

/// Ranks by pairs of ids.
#[derive(Debug)]
pub enum PairTable {
    /// Half full at most. One that finds its line taken goes to the next.
    Packed { lines: Vec<Line>, shift: u32 },
    /// For ids of more bits.
    Wide(HashMap<(u32, u32), u32, FixedState>),
}

/// Half a cache line. Left id, right id and rank of four pairs in 20, 20 and 24 bits; those that are free come last.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub struct Line([u64; 4]);

impl PairTable {
    const ID_BITS: u32 = 20;
    const RANK_BITS: u32 = 24;
    const FREE: u64 = u64::MAX;

    fn new(max_id: u32, num_pairs: usize) -> Self {
        // The id of all bits is left to `FREE`, and there must be one that no token has.
        if max_id >= (1 << Self::ID_BITS) - 2 {
            return Self::Wide(HashMap::with_capacity_and_hasher(num_pairs, FixedState::with_seed(0)));
        }
        let bits = (num_pairs / 2 + 2).next_power_of_two().trailing_zeros();
        Self::Packed { lines: filled(Line([Self::FREE; 4]), 1 << bits), shift: 64 - bits }
    }

    #[inline]
    fn key(left: u32, right: u32) -> u64 {
        u64::from(left) << Self::ID_BITS | u64::from(right)
    }

    /// The line where the search for a pair begins.
    #[inline]
    fn place(key: u64, shift: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
    }

    /// The rank of a pair; `NEVER` where it does not merge.
    #[inline]
    fn get(&self, left: u32, right: u32) -> u32 {
        match self {
            Self::Packed { lines, shift } => {
                let key = Self::key(left, right);
                let mut at = Self::place(key, *shift);
                loop {
                    let Some(Line(slots)) = lines.get(at) else { return NEVER };
                    // Of equal ids nothing is left but the rank.
                    let [a, b, c, d] = slots.map(|slot| slot ^ key << Self::RANK_BITS);
                    let rank = a.min(b).min(c.min(d)).min(u64::from(NEVER)) as u32;
                    if rank != NEVER || slots.last() == Some(&Self::FREE) {
                        return rank;
                    }
                    at = (at + 1) & (lines.len() - 1);
                }
            }
            Self::Wide(ranks) => ranks.get(&(left, right)).copied().unwrap_or(NEVER),
        }
    }

    /// Of a pair that is there already, the new rank counts.
    fn insert(&mut self, left: u32, right: u32, rank: u32) {
        match self {
            Self::Packed { lines, shift } => {
                let key = Self::key(left, right);
                let mut at = Self::place(key, *shift);
                let mask = lines.len() - 1;
                while let Some(Line(slots)) = lines.get_mut(at) {
                    let is_its = |slot: &&mut u64| **slot == Self::FREE || **slot >> Self::RANK_BITS == key;
                    if let Some(slot) = slots.iter_mut().find(is_its) {
                        *slot = key << Self::RANK_BITS | u64::from(rank);
                        return;
                    }
                    at = (at + 1) & mask;
                }
            }
            Self::Wide(ranks) => {
                ranks.insert((left, right), rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pulse::Pulse;

    struct ByBytes<'p> {
        pairs: &'p Pairs,
        vocabulary: &'p Vocabulary,
        table: &'p PairTable,
    }

    impl Ranks for ByBytes<'_> {
        fn rank<'p>(&self, left: u32, right: u32, joined: impl FnOnce() -> &'p [u8]) -> u32 {
            let rank = self.pairs.look_up(self.vocabulary, left, right, joined());
            assert_eq!(rank, self.table.get(left, right));
            rank
        }
    }

    /// Vocabularies of random tokens over two letters, so that tokens can be cut in many ways and some are out of reach.
    #[test]
    fn the_table_answers_as_the_vocabulary() {
        let mut state = 11u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % bound) as usize
        };
        for _ in 0..300 {
            let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
            for _ in 0..30 {
                let token: Vec<u8> = (0..2 + below(6)).map(|_| b"ab"[below(2)]).collect();
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            let ends = tokens.iter().scan(0, |end, token| {
                *end += token.len() as u32;
                Some(*end)
            });
            let vocabulary = Vocabulary::new(&tokens.concat(), ends.collect(), (0..tokens.len() as u32).collect());
            let vocabulary = vocabulary.expect("well formed");
            let pairs = Pairs::by_rank(&vocabulary, &[]).expect("no ranks");
            let table = pairs.table(&vocabulary, &[]);
            let mut merger = Merger::default();
            for length in 1..40 {
                let piece: Vec<u8> = (0..length).map(|_| b"ab"[below(2)]).collect();
                let by_bytes = ByBytes { pairs: &pairs, vocabulary: &vocabulary, table: &table };
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                merger
                    .merge_long(&pairs, &by_bytes, &piece, 8, &mut expected, &mut Pulse::new(&mut || true))
                    .expect("all have tokens");
                merger
                    .merge_long(&pairs, &table, &piece, 8, &mut found, &mut Pulse::new(&mut || true))
                    .expect("all have tokens");
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn ranks_that_stand_twice_are_refused() {
        let vocabulary = Vocabulary::new(b"ab", vec![1, 2], vec![0, 1]).expect("well formed");
        assert!(Pairs::by_rank(&vocabulary, &[1, 1]).is_err());
        assert!(Pairs::by_rank(&vocabulary, &[1]).is_err());
        assert!(Pairs::by_rank(&vocabulary, &[5, 1]).is_ok());
    }

    #[test]
    fn both_kinds_of_table_keep_the_last_rank_of_a_pair() {
        for max_id in [9, 1 << 21] {
            let mut table = PairTable::new(max_id, 4);
            for (left, right, rank) in [(1, 2, 3), (2, 1, 4), (1, 2, 5), (9, 9, (1 << 24) - 1)] {
                table.insert(left, right, rank);
            }
            assert_eq!(
                [table.get(1, 2), table.get(2, 1), table.get(9, 9), table.get(2, 2)],
                [5, 4, (1 << 24) - 1, NEVER]
            );
        }
    }
}
