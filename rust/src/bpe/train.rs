//! BPE training: merge the most frequent pair of neighbours, `num_merges` times.
//!
//! The distinct pieces lie in one array of slots, a slot for each byte. A token of several bytes writes
//! its symbol into its first and its last slot, so both neighbours of a place are one step away at any
//! length of piece: no piece is ever scanned again, and one document of 2 MB trains as fast as words.
//! The first slot of a token also holds the number of the pair that it forms with the token after it,
//! so counts change without a lookup.
//!
//! All places of a pair come into being in the one merge that made its newer symbol; later they only
//! vanish. Hence its list of places is written once, and a place is alive if its slot still holds the
//! pair. Every pair that a merge makes has the new symbol on one side, so it is found by the symbol on
//! its other side, in two dense arrays.
//!
//! Cost: 8 bytes of memory for each byte of a distinct piece, 4 for each place, 24 for each pair. A
//! merge costs O(places of its pair). One thread: most merges take microseconds, too short to share.
//!
//! The symbols are bytes, or any others in `train_rows`: WordPiece's characters.
//!
//! Equal to counting everything anew at each step (`fast_equals_naive`), which is what rustbpe and
//! Hugging Face (`Ids`), minbpe (`First`), CS336 and subword-nmt (`LexMax`) do or simulate. The result
//! does not depend on the order in which pieces were added.
//!
//! No two merges give the same bytes, so a token needs no search for a twin, and Hugging Face's reuse
//! of ids for equal strings never comes into play. Take two places that end up as tokens of the same
//! bytes. No merge ever crossed their ends, and each merge applies wherever its pair occurs. So both
//! went through the same merges: at equal stages both hold the same symbols, a pair of different
//! symbols merges in both alike, and so does a run of one symbol, since a run is paired from its left
//! and no pairing crossed the start. Their last merges are thus one.

mod queue;
#[cfg(test)]
mod tests;
mod weights;

use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::count::{CountedPiece, PieceCounts, prefix};
use crate::error::{Error, Result};
use queue::{Entry, Queue};
use weights::Weights;

/// Which of the pairs with the highest count is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieBreak {
    /// The smallest (left symbol, right symbol).
    Ids,
    /// The one met first in the corpus as it now stands.
    First,
    /// The greatest (left bytes, right bytes).
    LexMax,
}

#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// Merges to learn; each makes a new token. Fewer come back where no pair is left.
    pub num_merges: usize,
    /// Symbol `s` below 256 stands for the byte `byte_order[s]`.
    pub byte_order: [u8; 256],
    pub tie_break: TieBreak,
    /// A pair that occurs less often is not merged; 0 means 1.
    pub min_frequency: u64,
    /// Longest token in bytes. Hugging Face's limit is one higher for the same result.
    pub max_token_length: Option<usize>,
    /// No token holds two spaces in a row: GPT-2's unwritten rule.
    pub never_merge_spaces: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Training {
    /// Left symbol, right symbol, resulting symbol. New symbols are numbered from 256 on.
    pub merges: Vec<(u32, u32, u32)>,
    /// The count of each merge when it was chosen.
    pub counts: Vec<u64>,
}

/// Learns merges from `pieces`. Stops early when no pair is frequent enough. `progress` is called with
/// the number of merges so far, about every 20 ms once the pieces are sorted; `false` ends the training
/// with `Error::Interrupted`.
pub fn train(
    pieces: &PieceCounts,
    options: &TrainOptions,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<Training> {
    let symbol_of_byte = invert(&options.byte_order)?;
    // Frequent pieces first: what is read most lies together. For `First` the place of a pair is
    // its tie key, so there the order must be the corpus's.
    let pieces = match options.tie_break {
        TieBreak::First => pieces.sorted_by_first_seen(),
        _ => pieces.sorted_by_count(),
    };
    let row = |piece: CountedPiece| {
        (piece.bytes.iter().map(|&byte| symbol_of_byte[usize::from(byte)]).collect(), piece.count)
    };
    let rows: Vec<Row> = pieces.into_iter().filter(|piece| piece.bytes.len() > 1).map(row).collect();
    let tokens = Tokens::new(options.byte_order.iter().map(|&byte| vec![byte]), "");
    train_rows(&rows, tokens, options, progress)
}

/// Symbols, and how often they stand so.
pub(crate) type Row = (Vec<u32>, u64);

/// The same for rows of any symbols, the frequent ones best first; `byte_order` is not asked.
pub(crate) fn train_rows(
    rows: &[Row],
    tokens: Tokens,
    options: &TrainOptions,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<Training> {
    let mut pulse = Pulse { progress, last_beat: Instant::now(), num_merges: 0 };
    let num_tokens = tokens.len() + options.num_merges;
    let mut trainer = Trainer::new(rows, tokens, options, &mut pulse)?;
    let mut training = Training::default();
    while trainer.tokens.len() < num_tokens {
        let Some((pair, count)) = trainer.next_pair() else {
            break;
        };
        training.merges.push(trainer.merge(pair, &mut pulse)?);
        training.counts.push(count);
        pulse.num_merges += 1;
        pulse.beat()?;
    }
    Ok(training)
}

/// Symbol of the slot between two pieces.
const GAP: u32 = u32::MAX;
/// Pair of a slot that starts no pair that may be merged. It has a count as others do, which nobody
/// reads, so that the loops need not ask.
const NO_PAIR: u32 = 0;
/// A neighbour that the present merge has not met yet.
const NOT_MET: u32 = u32::MAX;
/// Start of the places of a pair that will never be merged.
const NOT_KEPT: u32 = u32::MAX;
/// Of so many first symbols, all pairs fit a table.
const MAX_DENSE: usize = 1 << 10;
/// Places whose slots are read at once.
const GROUP: usize = 32;
/// Places that are read between two looks at the clock, and the same in groups.
const BEAT: usize = 1 << 16;
const GROUPS_PER_BEAT: usize = BEAT / GROUP;

#[derive(Clone, Copy)]
struct Slot {
    /// Right in the first and the last slot of a token, stale between them.
    symbol: u32,
    /// The pair of this token and the next, in the first slot; else `NO_PAIR`.
    pair: u32,
}

/// Two symbols and the places where they meet, rising: `places[start..start + length]`.
#[derive(Clone, Copy)]
struct Pair {
    left: u32,
    right: u32,
    start: u32,
    length: u32,
}

struct Trainer<'a> {
    options: &'a TrainOptions,
    minimum: u64,
    slots: Vec<Slot>,
    weights: Weights,
    tokens: Tokens,
    pairs: Vec<Pair>,
    /// How often each pair occurs, apart because this is what a merge changes all over.
    counts: Vec<u64>,
    places: Vec<u32>,
    queue: Queue,
    /// For the merge at hand: the pair (symbol, new) and the pair (new, symbol) of each symbol.
    before_new: Vec<u32>,
    after_new: Vec<u32>,
    /// For the merge at hand: (pair, place), places rising.
    found: Vec<(u32, u32)>,
    met: Vec<u32>,
}

impl<'a> Trainer<'a> {
    fn new(rows: &[Row], tokens: Tokens, options: &'a TrainOptions, pulse: &mut Pulse) -> Result<Self> {
        let num_slots = check_sizes(rows)?;
        let mut slots = Vec::with_capacity(num_slots);
        let mut weights = Weights::new(num_slots);
        let gap = Slot { symbol: GAP, pair: NO_PAIR };
        slots.push(gap);
        for (symbols, count) in rows.iter().filter(|(symbols, count)| symbols.len() > 1 && *count > 0) {
            weights.push(slots.len(), *count);
            slots.extend(symbols.iter().map(|&symbol| Slot { symbol, pair: NO_PAIR }));
            slots.push(gap);
        }
        weights.finish(num_slots);
        let num_symbols = tokens.len();
        let mut trainer = Self {
            options,
            minimum: options.min_frequency.max(1),
            slots,
            weights,
            tokens,
            pairs: vec![Pair { left: GAP, right: GAP, start: NOT_KEPT, length: 0 }],
            counts: vec![0],
            places: Vec::new(),
            queue: Queue::new(),
            before_new: vec![NOT_MET; num_symbols],
            after_new: vec![NOT_MET; num_symbols],
            found: Vec::new(),
            met: Vec::new(),
        };
        trainer.count_pairs(pulse)?;
        Ok(trainer)
    }

    /// Finds the pairs of the first symbols.
    fn count_pairs(&mut self, pulse: &mut Pulse) -> Result<()> {
        let num_symbols = self.tokens.len();
        let is_dense = num_symbols <= MAX_DENSE;
        let mut dense = vec![NOT_MET; if is_dense { num_symbols * num_symbols } else { 0 }];
        let mut sparse: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
        for place in 0..self.slots.len() - 1 {
            if place % BEAT == 0 {
                pulse.beat()?;
            }
            let (left, right) = (self.slots[place].symbol, self.slots[place + 1].symbol);
            if left == GAP || right == GAP {
                continue;
            }
            let cell = match is_dense {
                true => &mut dense[left as usize * num_symbols + right as usize],
                false => sparse.entry((left, right)).or_insert(NOT_MET),
            };
            if *cell == NOT_MET {
                *cell = self.open(left, right);
            }
            self.count_at(*cell, place, self.weights.at(place));
        }
        self.keep_places(1);
        for place in 0..self.slots.len() {
            if place % BEAT == 0 {
                pulse.beat()?;
            }
            self.put_place(self.slots[place].pair, place as u32);
        }
        self.enqueue_from(1);
        Ok(())
    }

    /// The pair to merge next with its count, or none if no pair is frequent enough.
    fn next_pair(&mut self) -> Option<(u32, u64)> {
        loop {
            let order = Order { tie_break: self.options.tie_break, pairs: &self.pairs, tokens: &self.tokens };
            let Some(entry) = self.queue.pop(|a, b| order.is_before(a, b)) else {
                for pair in self.queue.next_pile()? {
                    self.enqueue(pair);
                }
                continue;
            };
            let count = self.counts[entry.pair as usize];
            let is_fresh = count == entry.count
                && (self.options.tie_break != TieBreak::First || self.tie(entry.pair) == entry.tie);
            if is_fresh {
                return Some((entry.pair, count));
            }
            self.enqueue(entry.pair);
        }
    }

    /// Merges a pair wherever it occurs.
    fn merge(&mut self, number: u32, pulse: &mut Pulse) -> Result<(u32, u32, u32)> {
        let Pair { left, right, start, length } = self.pairs[number as usize];
        let new = self.tokens.join(left, right);
        self.before_new.resize(self.tokens.len(), NOT_MET);
        self.after_new.resize(self.tokens.len(), NOT_MET);
        let first_new_pair = self.pairs.len();

        let places = std::mem::take(&mut self.places);
        for (group_number, group) in places[start as usize..(start + length) as usize].chunks(GROUP).enumerate() {
            if group_number % GROUPS_PER_BEAT == GROUPS_PER_BEAT - 1 {
                pulse.beat()?;
            }
            let is_alive = |slots: &[Slot], place: u32| slots[place as usize].pair == number;
            // Most slots are not in the cache. These reads wait for memory together; one by one in the
            // loop below they do not: 2.1 s became 1.4 s on 574,000 multilingual pieces.
            if group.iter().filter(|&&place| is_alive(&self.slots, place)).count() == 0 {
                continue;
            }
            for &place in group {
                // Asked again: the first "aa" of "aaa" takes the second one's half.
                if is_alive(&self.slots, place) {
                    self.merge_at(place as usize, left, new);
                }
            }
        }
        self.places = places;

        self.keep_places(first_new_pair);
        let mut found = std::mem::take(&mut self.found);
        for (pair, place) in found.drain(..) {
            self.put_place(pair, place);
        }
        self.found = found;
        for symbol in self.met.drain(..) {
            self.before_new[symbol as usize] = NOT_MET;
            self.after_new[symbol as usize] = NOT_MET;
        }
        self.enqueue_from(first_new_pair);
        Ok((left, right, new))
    }

    /// Puts the new symbol at `start`, and its pairs in place of those that it ends.
    fn merge_at(&mut self, start: usize, left: u32, new: u32) {
        let length = |symbol: u32| self.tokens.num_slots[symbol as usize] as usize;
        let weight = self.weights.at(start);
        let (middle, end) = (start + length(left), start + length(new));
        let (before, after) = (self.slots[start - 1].symbol, self.slots[end].symbol);
        let start_before = if before == GAP { start } else { start - length(before) };
        self.uncount_at(start, weight);
        self.uncount_at(middle, weight);
        self.slots[start].symbol = new;
        self.slots[end - 1].symbol = new;
        if before != GAP {
            self.uncount_at(start_before, weight);
            if self.before_new[before as usize] == NOT_MET {
                self.before_new[before as usize] = self.open(before, new);
                self.met.push(before);
            }
            self.find(self.before_new[before as usize], start_before, weight);
        }
        if after != GAP {
            if self.after_new[after as usize] == NOT_MET {
                self.after_new[after as usize] = self.open(new, after);
                self.met.push(after);
            }
            self.find(self.after_new[after as usize], start, weight);
        }
    }

    /// Counts a place of a new pair; it is written down when the number of its places is known.
    fn find(&mut self, pair: u32, place: usize, weight: u64) {
        self.found.push((pair, place as u32));
        self.count_at(pair, place, weight);
    }

    /// The number of a pair not met before; `NO_PAIR` if it may not be merged.
    fn open(&mut self, left: u32, right: u32) -> u32 {
        let length = |symbol: u32| self.tokens.bytes(symbol).len();
        let is_too_long = self.options.max_token_length.is_some_and(|longest| length(left) + length(right) > longest);
        // Neither half holds two spaces in a row, so only the seam can.
        let joins_spaces = || self.tokens.bytes(left).ends_with(b" ") && self.tokens.bytes(right).starts_with(b" ");
        if is_too_long || self.options.never_merge_spaces && joins_spaces() {
            return NO_PAIR;
        }
        self.pairs.push(Pair { left, right, start: NOT_KEPT, length: 0 });
        self.counts.push(0);
        self.pairs.len() as u32 - 1
    }

    fn count_at(&mut self, pair: u32, place: usize, weight: u64) {
        self.slots[place].pair = pair;
        self.pairs[pair as usize].length += 1;
        self.counts[pair as usize] = self.counts[pair as usize].wrapping_add(weight);
    }

    fn uncount_at(&mut self, place: usize, weight: u64) {
        let pair = std::mem::replace(&mut self.slots[place].pair, NO_PAIR) as usize;
        self.counts[pair] = self.counts[pair].wrapping_sub(weight);
    }

    /// Makes room for the places of each pair from `first` on, to be filled by `put_place`. A count
    /// never rises after the merge that made the pair, so a pair that is too rare now needs no room.
    fn keep_places(&mut self, first: usize) {
        let mut end = self.places.len();
        for (pair, &count) in self.pairs[first..].iter_mut().zip(&self.counts[first..]) {
            if count >= self.minimum {
                pair.start = end as u32;
                end += pair.length as usize;
            }
            pair.length = 0;
        }
        self.places.resize(end, 0);
    }

    fn put_place(&mut self, pair: u32, place: u32) {
        let pair = &mut self.pairs[pair as usize];
        if pair.start != NOT_KEPT {
            self.places[(pair.start + pair.length) as usize] = place;
            pair.length += 1;
        }
    }

    fn enqueue_from(&mut self, first: usize) {
        for pair in first as u32..self.pairs.len() as u32 {
            self.enqueue(pair);
        }
    }

    fn enqueue(&mut self, pair: u32) {
        let count = self.counts[pair as usize];
        if count < self.minimum {
            return;
        }
        if self.queue.is_due(count) {
            let entry = Entry { count, tie: self.tie(pair), pair };
            let order = Order { tie_break: self.options.tie_break, pairs: &self.pairs, tokens: &self.tokens };
            self.queue.push(entry, |a, b| order.is_before(a, b));
        } else {
            self.queue.put_aside(count, pair);
        }
    }

    /// What decides between pairs of one count, smallest first.
    fn tie(&mut self, number: u32) -> u64 {
        let pair = &mut self.pairs[number as usize];
        match self.options.tie_break {
            TieBreak::Ids => u64::from(pair.left) << 32 | u64::from(pair.right),
            // Only the start of the bytes: `Order` looks at the rest.
            TieBreak::LexMax => !prefix(self.tokens.bytes(pair.left)),
            TieBreak::First => {
                // Dead places stay dead, so each is passed over once.
                let places = &self.places[pair.start as usize..(pair.start + pair.length) as usize];
                let is_dead = |place: &&u32| self.slots[**place as usize].pair != number;
                let num_dead = places.iter().take_while(is_dead).count();
                pair.start += num_dead as u32;
                pair.length -= num_dead as u32;
                places.get(num_dead).map_or(u64::MAX, |&place| u64::from(place))
            }
        }
    }
}

struct Order<'a> {
    tie_break: TieBreak,
    pairs: &'a [Pair],
    tokens: &'a Tokens,
}

impl Order<'_> {
    fn is_before(&self, a: &Entry, b: &Entry) -> bool {
        if a.count != b.count || a.tie != b.tie || self.tie_break != TieBreak::LexMax {
            return (b.count, a.tie) < (a.count, b.tie);
        }
        let bytes = |entry: &Entry| {
            let Pair { left, right, .. } = self.pairs[entry.pair as usize];
            (self.tokens.bytes(left), self.tokens.bytes(right))
        };
        bytes(a) > bytes(b)
    }
}

/// The bytes of each symbol, and the number of slots that it takes.
pub(crate) struct Tokens {
    bytes: Vec<u8>,
    starts: Vec<(usize, usize)>,
    num_slots: Vec<u32>,
    /// What goes from the right one of two symbols that are joined.
    prefix: Vec<u8>,
    /// Symbols of these bytes that are in no row: what is joined to such bytes is that symbol.
    named: HashMap<Vec<u8>, u32, FixedState>,
}

impl Tokens {
    /// Symbols of one slot each.
    pub fn new(alphabet: impl Iterator<Item = Vec<u8>>, prefix: &str) -> Self {
        let mut tokens = Self {
            bytes: Vec::new(),
            starts: Vec::new(),
            num_slots: Vec::new(),
            prefix: prefix.into(),
            named: HashMap::default(),
        };
        for symbol in alphabet {
            tokens.starts.push((tokens.bytes.len(), tokens.bytes.len() + symbol.len()));
            tokens.bytes.extend(symbol);
            tokens.num_slots.push(1);
        }
        tokens
    }

    /// Says that `symbol` is in no row.
    pub fn name(&mut self, symbol: u32) {
        self.named.insert(self.bytes(symbol).to_vec(), symbol);
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn bytes(&self, symbol: u32) -> &[u8] {
        let (start, end) = self.starts[symbol as usize];
        &self.bytes[start..end]
    }

    /// The symbol of two that are joined: a new one, or one that waits for these bytes.
    pub fn join(&mut self, left: u32, right: u32) -> u32 {
        let (left_bytes, right_bytes) = (self.bytes(left), self.bytes(right));
        let joined = [left_bytes, right_bytes.strip_prefix(self.prefix.as_slice()).unwrap_or(right_bytes)].concat();
        let num_slots = self.num_slots[left as usize] + self.num_slots[right as usize];
        if let Some(&symbol) = self.named.get(&joined) {
            self.num_slots[symbol as usize] = num_slots;
            return symbol;
        }
        self.starts.push((self.bytes.len(), self.bytes.len() + joined.len()));
        self.bytes.extend(joined);
        self.num_slots.push(num_slots);
        self.len() as u32 - 1
    }
}

/// Tells the caller how far the training is, and hears whether to go on.
struct Pulse<'a> {
    progress: &'a mut dyn FnMut(usize) -> bool,
    last_beat: Instant,
    num_merges: usize,
}

impl Pulse<'_> {
    fn beat(&mut self) -> Result<()> {
        if self.last_beat.elapsed() < Duration::from_millis(20) {
            return Ok(());
        }
        self.last_beat = Instant::now();
        if (self.progress)(self.num_merges) { Ok(()) } else { Err(Error::Interrupted) }
    }
}

fn invert(byte_order: &[u8; 256]) -> Result<[u32; 256]> {
    let mut symbol_of_byte = [GAP; 256];
    for (symbol, &byte) in (0..).zip(byte_order) {
        let place = &mut symbol_of_byte[usize::from(byte)];
        if *place != GAP {
            return Err(Error::Training(format!("byte_order: expected each byte once, found 0x{byte:02X} twice")));
        }
        *place = symbol;
    }
    Ok(symbol_of_byte)
}

/// The number of slots. Makes sure that nothing overflows: a place fits into 30 bits; the lists of places
/// hold each at most three times, so 32 bits do; and the count of one pair is at most that of all pairs.
fn check_sizes(rows: &[Row]) -> Result<usize> {
    let rows = rows.iter().filter(|(symbols, count)| symbols.len() > 1 && *count > 0);
    let num_slots = 1 + rows.clone().map(|(symbols, _)| symbols.len() + 1).sum::<usize>();
    if num_slots >= 1 << 30 {
        return Err(Error::Training(format!(
            "corpus: expected distinct pieces of less than 1 GiB in all, found {num_slots} bytes"
        )));
    }
    let num_pairs = rows
        .clone()
        .try_fold(0u64, |sum, (symbols, count)| sum.checked_add(count.checked_mul(symbols.len() as u64 - 1)?));
    match num_pairs {
        Some(_) => Ok(num_slots),
        None => Err(Error::Training("corpus: expected fewer than 2^64 pairs of neighbours, found more".into())),
    }
}
