use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::count::Position;

type Merges = Vec<(u32, u32, u32)>;

/// A piece as symbols, with its count. Pieces stand in the order of the corpus.
type Words = Vec<(Vec<u32>, u64)>;

fn options(tie_break: TieBreak) -> TrainOptions {
    TrainOptions {
        num_merges: 20,
        byte_order: std::array::from_fn(|byte| byte as u8),
        tie_break,
        min_frequency: 0,
        max_token_length: None,
        never_merge_spaces: false,
    }
}

fn count(pieces: &[(&[u8], u64)]) -> PieceCounts {
    let mut counts = PieceCounts::new();
    for (offset, (piece, count)) in (0..).zip(pieces) {
        counts.add(piece, *count, Position { document: 0, offset }).expect("small counts");
    }
    counts
}

fn learn(pieces: &[(&[u8], u64)], options: &TrainOptions) -> Training {
    train(&count(pieces), options, &mut |_| true).expect("a corpus that trains")
}

fn learn_tokens(pieces: &[(&[u8], u64)], options: &TrainOptions) -> Vec<String> {
    tokens(&learn(pieces, options), options)
}

/// The bytes that each merge makes.
fn tokens(training: &Training, options: &TrainOptions) -> Vec<String> {
    let mut symbols: Vec<Vec<u8>> = options.byte_order.iter().map(|&byte| vec![byte]).collect();
    for &(left, right, _) in &training.merges {
        symbols.push([&symbols[left as usize][..], &symbols[right as usize]].concat());
    }
    symbols.split_off(256).into_iter().map(|bytes| String::from_utf8(bytes).expect("ASCII corpora")).collect()
}

/// The definition: count every pair anew at each step. Says also how many merges were ties.
struct Naive<'a> {
    options: &'a TrainOptions,
    symbols: Vec<Vec<u8>>,
    merges: Merges,
    num_ties: usize,
}

impl<'a> Naive<'a> {
    fn new(options: &'a TrainOptions) -> Self {
        let symbols = options.byte_order.iter().map(|&byte| vec![byte]).collect();
        Self { options, symbols, merges: Vec::new(), num_ties: 0 }
    }

    fn words(&self, pieces: &PieceCounts) -> Words {
        let symbol = |byte| self.options.byte_order.iter().position(|other| other == byte).expect("every byte") as u32;
        let pieces = pieces.sorted_by_first_seen();
        pieces.iter().map(|piece| (piece.bytes.iter().map(symbol).collect(), piece.count)).collect()
    }

    fn may_merge(&self, (left, right): (u32, u32)) -> bool {
        let joined = self.joined(left, right);
        let joins_spaces = joined.windows(2).any(|bytes| bytes == b"  ");
        self.options.max_token_length.is_none_or(|longest| joined.len() <= longest)
            && !(self.options.never_merge_spaces && joins_spaces)
    }

    fn joined(&self, left: u32, right: u32) -> Vec<u8> {
        [&self.symbols[left as usize][..], &self.symbols[right as usize]].concat()
    }

    fn train(mut self, pieces: &PieceCounts) -> (Merges, usize) {
        let mut words = self.words(pieces);
        while self.merges.len() < self.options.num_merges {
            // Pairs in the order in which they are met, which is minbpe's.
            let mut order = Vec::new();
            let mut counts = BTreeMap::new();
            for (word, count) in &words {
                for pair in word.windows(2).map(|pair| (pair[0], pair[1])).filter(|&pair| self.may_merge(pair)) {
                    *counts.entry(pair).or_insert_with(|| {
                        order.push(pair);
                        0
                    }) += count;
                }
            }
            let highest = counts.values().copied().max().unwrap_or(0);
            if highest < self.options.min_frequency.max(1) {
                break;
            }
            let best: Vec<_> = order.into_iter().filter(|pair| counts[pair] == highest).collect();
            self.num_ties += usize::from(best.len() > 1);
            let spelled = |&(left, right): &(u32, u32)| {
                (self.symbols[left as usize].clone(), self.symbols[right as usize].clone())
            };
            let pair = match self.options.tie_break {
                TieBreak::Ids => best.into_iter().min(),
                TieBreak::First => best.into_iter().next(),
                TieBreak::LexMax => best.into_iter().rev().max_by_key(spelled),
            };
            let (left, right) = pair.expect("one pair has the highest count");
            let new = self.symbols.len() as u32;
            self.symbols.push(self.joined(left, right));
            self.merges.push((left, right, new));
            for (word, _) in &mut words {
                *word = replace(word, left, right, new);
            }
        }
        (self.merges, self.num_ties)
    }
}

fn replace(word: &[u32], left: u32, right: u32, new: u32) -> Vec<u32> {
    let mut replaced = Vec::new();
    let mut rest = word;
    while let Some((&symbol, after)) = rest.split_first() {
        let is_pair = symbol == left && after.first() == Some(&right);
        replaced.push(if is_pair { new } else { symbol });
        rest = if is_pair { &after[1..] } else { after };
    }
    replaced
}

/// xorshift: the same corpora at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// Up to 40 pieces over two to four letters, one of which is the space.
    fn pieces(&mut self) -> Vec<(Vec<u8>, u64, Position)> {
        let num_letters = 2 + self.below(3);
        let longest = [4, 9, 30, 200][self.below(4) as usize];
        let num_pieces = 1 + self.below(if longest > 100 { 3 } else { 40 });
        let num_counts = [1, 1, 3, 100][self.below(4) as usize];
        (0..num_pieces)
            .map(|_| {
                let length = self.below(longest + 1);
                let piece = (0..length).map(|_| b" abc"[self.below(num_letters) as usize]).collect();
                let seen = Position { document: self.below(3), offset: self.below(1 << 40) };
                (piece, 1 + self.below(num_counts), seen)
            })
            .collect()
    }

    fn corpus(&mut self) -> PieceCounts {
        let mut counts = PieceCounts::new();
        for (piece, count, seen) in self.pieces() {
            counts.add(&piece, count, seen).expect("small counts");
        }
        counts
    }

    fn options(&mut self, tie_break: TieBreak) -> TrainOptions {
        let mut options = options(tie_break);
        options.num_merges = self.below(60) as usize;
        options.min_frequency = [0, 0, 1, 2, 5][self.below(5) as usize];
        options.max_token_length = [None, None, Some(1), Some(2), Some(5)][self.below(5) as usize];
        options.never_merge_spaces = self.below(4) == 0;
        if self.below(2) == 0 {
            options.byte_order.reverse();
        }
        options
    }
}

#[test]
fn fast_equals_naive() {
    for tie_break in [TieBreak::Ids, TieBreak::First, TieBreak::LexMax] {
        let mut random = Random(20_260_101);
        let (mut num_merges, mut num_ties) = (0, 0);
        for number in 0..1000 {
            let (corpus, options) = (random.corpus(), random.options(tie_break));
            let fast = train(&corpus, &options, &mut |_| true).expect("a corpus that trains").merges;
            let (naive, ties) = Naive::new(&options).train(&corpus);
            assert_eq!(fast, naive, "corpus {number}: {:?} {options:?}", corpus.iter().collect::<Vec<_>>());
            num_merges += naive.len();
            num_ties += ties;
        }
        assert!(num_ties * 2 > num_merges, "{tie_break:?}: {num_ties} of {num_merges} merges are ties");
    }
}

/// Why `shared_ids` is no option: see the module's header.
#[test]
fn no_two_merges_give_the_same_bytes() {
    let mut random = Random(7);
    for _ in 0..2000 {
        let (corpus, mut options) = (random.corpus(), random.options(TieBreak::Ids));
        options.num_merges = 200;
        let training = train(&corpus, &options, &mut |_| true).expect("a corpus that trains");
        let tokens = tokens(&training, &options);
        assert_eq!(tokens.iter().collect::<HashSet<_>>().len(), tokens.len());
    }
}

#[test]
fn the_order_of_the_adds_does_not_matter() {
    let mut random = Random(99);
    for _ in 0..300 {
        let pieces = random.pieces();
        for tie_break in [TieBreak::Ids, TieBreak::First, TieBreak::LexMax] {
            let [forwards, backwards] = [false, true].map(|backwards| {
                let mut counts = PieceCounts::new();
                let mut order: Vec<_> = pieces.iter().collect();
                if backwards {
                    order.reverse();
                }
                for (piece, count, seen) in order {
                    counts.add(piece, *count, *seen).expect("small counts");
                }
                train(&counts, &options(tie_break), &mut |_| true).expect("a corpus that trains")
            });
            assert_eq!(forwards, backwards);
        }
    }
}

#[test]
fn the_space_pair_of_thirty_million_lines_comes_first() {
    let spaces = [b' '; 80];
    let pieces: [(&[u8], u64); 3] = [(b"hello", 1 << 31), (&spaces, 30_000_000), (b"the", 5)];
    let training = learn(&pieces, &options(TieBreak::Ids));
    assert_eq!((training.merges[0], training.counts[0]), ((32, 32, 256), 79 * 30_000_000));
}

#[test]
fn counts_near_the_limit_are_exact() {
    let training = learn(&[(b"ab", (1 << 63) - 1), (b"bc", 1 << 63)], &options(TieBreak::Ids));
    assert_eq!(training.counts, [1 << 63, (1 << 63) - 1]);
}

#[test]
fn counts_past_the_limit_are_an_error() {
    let corpus = count(&[(b"ab", 1 << 63), (b"abc", 1 << 62)]);
    let fault = train(&corpus, &options(TieBreak::Ids), &mut |_| true).expect_err("2^64 pairs").to_string();
    assert_eq!(fault, "corpus: expected fewer than 2^64 pairs of neighbours, found more");
}

#[test]
fn the_first_tie_break_follows_the_corpus() {
    let first = options(TieBreak::First);
    assert_eq!(learn_tokens(&[(b"bbbaaaddddcccc", 1)], &first)[..2], ["dd", "cc"]);
    assert_eq!(learn_tokens(&[(b"aaabbbccccdddd", 1)], &first)[..2], ["cc", "dd"]);
    assert_eq!(learn_tokens(&[(b"aaabdaaabac", 1)], &first)[..3], ["aa", "aaa", "aaab"]);
}

#[test]
fn ties_follow_their_rule() {
    let pieces: [(&[u8], u64); 3] = [(b"yx", 1), (b"az", 1), (b"zza", 1)];
    assert_eq!(learn_tokens(&pieces, &options(TieBreak::Ids))[0], "az");
    assert_eq!(learn_tokens(&pieces, &options(TieBreak::First))[0], "yx");
    assert_eq!(learn_tokens(&pieces, &options(TieBreak::LexMax))[0], "zz");
}

#[test]
fn degenerate_corpora_give_no_merges() {
    for pieces in [&[][..], &[(&b""[..], 9)], &[(b"a", 9)], &[(b"ab", 0)]] {
        assert_eq!(learn(pieces, &options(TieBreak::Ids)), Training::default());
    }
}

#[test]
fn a_token_length_of_one_leaves_the_alphabet() {
    let options = TrainOptions { max_token_length: Some(1), ..options(TieBreak::Ids) };
    assert_eq!(learn(&[(b"hello", 9)], &options), Training::default());
}

#[test]
fn training_stops_when_all_is_merged() {
    assert_eq!(learn_tokens(&[(b"\0ab", 3)], &options(TieBreak::Ids)), ["\0a", "\0ab"]);
}

#[test]
fn a_repeated_byte_in_the_byte_order_is_an_error() {
    let mut options = options(TieBreak::Ids);
    options.byte_order[7] = 9;
    let fault = train(&PieceCounts::new(), &options, &mut |_| true).expect_err("0x09 twice").to_string();
    assert_eq!(fault, "byte_order: expected each byte once, found 0x09 twice");
}

#[test]
fn progress_may_stop_a_long_training() {
    let mut random = Random(3);
    let document: Vec<u8> = (0..2_000_000).map(|_| random.below(256) as u8).collect();
    let fault = train(&count(&[(&document, 1)]), &options(TieBreak::Ids), &mut |_| false);
    assert_eq!(fault, Err(Error::Interrupted));
}
