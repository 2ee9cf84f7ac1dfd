//! Merges one piece: the leftmost pair of lowest rank, until no pair has one.
//!
//! Pieces of fewer than 64 bytes are scanned, see `scan.rs`; longer ones take a heap, O(n log n); those far longer go
//! through in windows, O(n), so that what is under work stays near. All give the same ids.
//!
//! Windows are exact because of two facts about merging, which hold for every vocabulary. What a piece has become, cut
//! at the ends of its tokens, is what its parts become alone: no merge reached across. And two parts that share a token
//! join there: a merge across the end of a token would be the first such in one of the two parts, and that part, merged
//! alone, had none. So a window that begins within the last one is joined at a token which both have; where they have
//! none, windows are made greater. See `windows_equal_one_heap`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::pairs::{NEVER, NONE, Pairs, Ranks};
use super::scan::Scans;
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::split::Span;

/// Pieces of fewer than this many bytes are merged by scanning.
pub const SCAN_LIMIT: usize = 64;
/// Of which most are shorter than this.
const SHORT: usize = 16;

/// At least eight times the longest token: a window reaches back into the last one by an eighth.
const WINDOW: usize = 1024;

/// Buffers that outlive a piece, and the tokens of the last one.
#[derive(Debug)]
pub struct Merger {
    scans: Box<(Scans<SHORT>, Scans<SCAN_LIMIT>)>,
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<u64>>,
    ids: Vec<u32>,
    window: Vec<Token>,
    next_window: Vec<Token>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    id: u32,
    rank: u32,
    previous: u32,
    next: u32,
}

/// A token and where it begins in the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token {
    start: usize,
    id: u32,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            scans: Box::new((Scans::new(), Scans::new())),
            links: Vec::new(),
            heap: BinaryHeap::new(),
            ids: Vec::new(),
            window: Vec::new(),
            next_window: Vec::new(),
        }
    }
}

impl Merger {
    /// Merges a piece of moderate length.
    #[inline]
    fn merge(&mut self, pairs: &Pairs, ranks: &impl Ranks, piece: &[u8]) -> Result<()> {
        if piece.len() < SCAN_LIMIT { self.scan(pairs, ranks, piece) } else { self.heap(pairs, ranks, piece) }
    }

    /// Merges a piece of any length and appends its tokens to `ids`. `pulse` beats once a window.
    pub fn merge_long(
        &mut self,
        pairs: &Pairs,
        ranks: &impl Ranks,
        piece: &[u8],
        longest: usize,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<()> {
        let mut size = WINDOW.max(longest * 8);
        let before = ids.len();
        while piece.len() > size {
            if self.windows(pairs, ranks, piece, size, ids, pulse)? {
                return Ok(());
            }
            ids.truncate(before);
            size *= 2;
        }
        self.merge(pairs, ranks, piece)?;
        ids.extend_from_slice(&self.ids);
        Ok(())
    }

    /// Merges a piece in windows of `size` bytes; false where two of them have no token in common.
    fn windows(
        &mut self,
        pairs: &Pairs,
        ranks: &impl Ranks,
        piece: &[u8],
        size: usize,
        ids: &mut Vec<u32>,
        pulse: &mut Pulse,
    ) -> Result<bool> {
        let overlap = size / 8;
        self.heap(pairs, ranks, piece.get(..size).unwrap_or_default())?;
        self.tokens(0);
        let mut end = size;
        while end < piece.len() {
            pulse.beat(8 * size)?;
            std::mem::swap(&mut self.window, &mut self.next_window);
            let first = self.next_window.partition_point(|token| token.start + overlap < end);
            let Some(start) = self.next_window.get(first).map(|token| token.start) else { return Ok(false) };
            end = (start + size).min(piece.len());
            self.heap(pairs, ranks, piece.get(start..end).unwrap_or_default())?;
            self.tokens(start);
            let (Some(common), last) = (self.common(first), &self.next_window) else { return Ok(false) };
            ids.extend(last.iter().take_while(|token| **token != common).map(|token| token.id));
            let place = self.window.partition_point(|token| token.start < common.start);
            self.window.drain(..place);
        }
        ids.extend(self.window.iter().map(|token| token.id));
        Ok(true)
    }

    /// The first token that the last window, from its token `first` on, and this one have in common.
    fn common(&self, first: usize) -> Option<Token> {
        let mut this = self.window.iter().peekable();
        self.next_window.iter().skip(first).copied().find(|token| {
            while this.next_if(|other| other.start < token.start).is_some() {}
            this.peek() == Some(&token)
        })
    }

    /// Fills `window` with the tokens that the heap has come to, in a part of the piece that begins at `start`.
    fn tokens(&mut self, start: usize) {
        self.window.clear();
        let mut at = 0;
        while let Some(link) = self.links.get(at as usize) {
            self.window.push(Token { start: start + at as usize, id: link.id });
            at = link.next;
        }
    }

    /// Merges the pieces of `text` at `spans`, of moderate length, and gives number and tokens of each to `done`, in any
    /// order.
    pub fn merge_many(
        &mut self,
        pairs: &Pairs,
        ranks: &impl Ranks,
        text: &[u8],
        spans: &[Span],
        mut done: impl FnMut(usize, &[u32]),
    ) -> Result<()> {
        let piece = |span: &Span| text.get(span.start..span.end).unwrap_or_default();
        let of = |sizes: Range<usize>| {
            spans.iter().map(piece).enumerate().filter(move |(_, piece)| sizes.contains(&piece.len()))
        };
        let (short, long) = &mut *self.scans;
        short.merge(pairs, ranks, of(0..SHORT), &mut self.ids, &mut done)?;
        long.merge(pairs, ranks, of(SHORT..SCAN_LIMIT), &mut self.ids, &mut done)?;
        for (number, piece) in of(SCAN_LIMIT..usize::MAX) {
            self.heap(pairs, ranks, piece)?;
            done(number, &self.ids);
        }
        Ok(())
    }

    fn scan(&mut self, pairs: &Pairs, ranks: &impl Ranks, piece: &[u8]) -> Result<()> {
        self.merge_many(pairs, ranks, piece, &[Span { start: 0, end: piece.len() }], |_, _| {})
    }

    fn heap(&mut self, pairs: &Pairs, ranks: &impl Ranks, piece: &[u8]) -> Result<()> {
        let Self { links, heap, ids, .. } = self;
        if u32::try_from(piece.len()).is_err() {
            return Err(Error::Spec(format!("piece: expected at most {} bytes, found {}", u32::MAX, piece.len())));
        }
        links.clear();
        for (at, &byte) in piece.iter().enumerate() {
            let rank = piece.get(at + 1).map_or(NEVER, |&right| pairs.rank_of_bytes(byte, right));
            let at = at as u32;
            links.push(Link { id: pairs.of_byte(byte)?, rank, previous: at.wrapping_sub(1), next: at + 1 });
        }
        let first = links.iter().zip(0..).filter(|(link, _)| link.rank != NEVER).map(|(link, at)| entry(link.rank, at));
        let mut entries = std::mem::take(heap).into_vec();
        entries.clear();
        entries.extend(first);
        *heap = BinaryHeap::from(entries);
        while let Some(Reverse(entry)) = heap.pop() {
            let (rank_then, at) = ((entry >> 32) as u32, entry as u32);
            // An entry is stale where its token is gone or has another neighbour by now.
            let Some(&link) = links.get(at as usize).filter(|link| link.rank == rank_then) else { continue };
            let Some(gone) = links.get_mut(link.next as usize) else { continue };
            gone.rank = NEVER;
            let next = gone.next;
            if let Some(link) = links.get_mut(at as usize) {
                (link.id, link.next) = (pairs.merged(rank_then), next);
            }
            if let Some(after) = links.get_mut(next as usize) {
                after.previous = at;
            }
            line_up(ranks, piece, links, heap, at);
            if link.previous != NONE {
                line_up(ranks, piece, links, heap, link.previous);
            }
        }
        ids.clear();
        let mut at = 0;
        while let Some(link) = links.get(at as usize) {
            ids.push(link.id);
            at = link.next;
        }
        Ok(())
    }
}

/// Lower ranks come first, then places further left.
#[inline]
fn entry(rank: u32, at: u32) -> Reverse<u64> {
    Reverse(u64::from(rank) << 32 | u64::from(at))
}

/// Works out what the token at `at` would become with its right neighbour, and lines it up to do so.
#[inline]
fn line_up(ranks: &impl Ranks, piece: &[u8], links: &mut [Link], heap: &mut BinaryHeap<Reverse<u64>>, at: u32) {
    let Some(&left) = links.get(at as usize) else { return };
    let found = links.get(left.next as usize).map_or(NEVER, |right| {
        ranks.rank(left.id, right.id, || piece.get(at as usize..right.next as usize).unwrap_or_default())
    });
    if let Some(link) = links.get_mut(at as usize) {
        link.rank = found;
    }
    if found != NEVER {
        heap.push(entry(found, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Vocabulary;

    const TOKENS: [&[u8]; 9] = [b"ab", b"ba", b"aba", b"aa", b"bb", b"abab", b"aaaa", b"bab", b"abba"];

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % bound
        }

        fn piece(&mut self, length: usize, letters: &[u8]) -> Vec<u8> {
            (0..length).map(|_| letters[self.below(letters.len() as u64) as usize]).collect()
        }
    }

    /// By rank and by merges, in an order of ids and in none.
    fn models() -> Vec<(Vocabulary, Pairs)> {
        let merges = [[97, 98], [256, 97], [98, 97], [97, 97], [259, 259], [256, 256], [97, 257]];
        let ordered = [[97, 98], [98, 97], [256, 97], [97, 97], [98, 98], [256, 256], [259, 259]];
        let ranks: Vec<u32> = (0..265).map(|place| (place * 7 + 3) % 265).collect();
        let of = |make: &dyn Fn(&Vocabulary) -> Result<Pairs>| {
            let vocabulary = Vocabulary::of_bytes_and(&TOKENS);
            let pairs = make(&vocabulary).expect("well formed");
            (vocabulary, pairs)
        };
        vec![
            of(&|vocabulary| Pairs::by_rank(vocabulary, &[])),
            of(&|vocabulary| Pairs::by_rank(vocabulary, &ranks)),
            of(&|vocabulary| Pairs::by_merges(vocabulary, &merges)),
            of(&|vocabulary| Pairs::by_merges(vocabulary, &ordered)),
        ]
    }

    #[test]
    fn scan_equals_heap() {
        let mut random = Random(7);
        for (vocabulary, pairs) in models() {
            let ranks = pairs.ranks(&vocabulary);
            for length in (0..SCAN_LIMIT).chain(1..SCAN_LIMIT) {
                let piece = random.piece(length, b"aaabb");
                let mut merger = Merger::default();
                merger.scan(&pairs, &ranks, &piece).expect("all bytes have tokens");
                let scanned = merger.ids.clone();
                merger.heap(&pairs, &ranks, &piece).expect("all bytes have tokens");
                assert_eq!(scanned, merger.ids);
            }
        }
    }

    #[test]
    fn windows_equal_one_heap() {
        let mut random = Random(9);
        let mut num_joined = 0;
        for (vocabulary, pairs) in models() {
            let ranks = pairs.ranks(&vocabulary);
            for letters in [&b"aaabb"[..], b"a", b"ab", b"abcd"] {
                for size in [32, 48, 64, 256] {
                    let piece = random.piece(2000, letters);
                    let mut merger = Merger::default();
                    merger.heap(&pairs, &ranks, &piece).expect("all bytes have tokens");
                    let whole = merger.ids.clone();
                    let mut ids = Vec::new();
                    if merger
                        .windows(&pairs, &ranks, &piece, size, &mut ids, &mut Pulse::new(&mut || true))
                        .expect("as above")
                    {
                        assert_eq!(ids, whole);
                        num_joined += 1;
                    }
                    ids.clear();
                    merger
                        .merge_long(&pairs, &ranks, &piece, 0, &mut ids, &mut Pulse::new(&mut || true))
                        .expect("as above");
                    assert_eq!(ids, whole);
                }
            }
        }
        assert!(num_joined > 20, "{num_joined}");
    }

    #[test]
    fn a_window_asks_whether_to_go_on() {
        let (vocabulary, pairs) = models().remove(0);
        let ranks = pairs.ranks(&vocabulary);
        let piece = vec![b'a'; 100 * WINDOW];
        let result =
            Merger::default().merge_long(&pairs, &ranks, &piece, 4, &mut Vec::new(), &mut Pulse::new(&mut || false));
        assert_eq!(result, Err(Error::Interrupted));
    }
}
