//! BPE training: merge the most frequent pair of neighbours, `num_merges` times.
//!
//! The distinct pieces lie in one array of slots, a slot for each byte. A token of several bytes writes
//! its symbol into its first and its last slot, so both neighbours of a place are one step away at any
//! length of piece: a piece is never scanned again, and a document of 2 MB costs what many words do.
//! The first slot of a token also holds the number of the pair that it forms with the token after it,
//! so counts change without a lookup.
//!
//! All places of a pair come into being in the one merge that made its newer symbol; later they only
//! vanish. Hence its list of places is written once, and a place is alive if its slot still holds the
//! pair. Every pair that a merge makes or unmakes has the new symbol or one of its halves on one side,
//! so new pairs are found by their other symbol in two dense arrays.
//!
//! Cost: O(bytes of distinct pieces) memory and set-up; a merge costs O(places of its pair), all merges
//! together at most O(n log n) with the queue. Equal to a recount of everything at each step
//! (`fast_equals_naive`), so to rustbpe (`Ids`), minbpe (`First`) and, with `shared_ids`, to CS336 and
//! subword-nmt (`LexMax`) and Hugging Face (`Ids`). The result does not depend on the order of the
//! adds to the counts. One thread: after the first hundred merges a merge takes microseconds.

mod queue;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::count::{CountedPiece, PieceCounts, prefix};
use crate::error::{Error, Result};
use queue::{Entry, Queue};

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
    /// How many new symbols to make. Without `shared_ids` each merge makes one.
    pub num_merges: usize,
    /// Symbol `s` below 256 stands for the byte `byte_order[s]`.
    pub byte_order: [u8; 256],
    pub tie_break: TieBreak,
    /// Pairs that occur less often are not merged; 0 means 1.
    pub min_frequency: u64,
    /// Longest token in bytes. Hugging Face's limit is one higher for the same result.
    pub max_token_length: Option<usize>,
    /// No token holds two spaces in a row: GPT-2's unwritten rule.
    pub never_merge_spaces: bool,
    /// Merges that give the same bytes give the same symbol. With `Ids` this also counts as Hugging
    /// Face does, who never takes a merged pair out of its own count: should that pair come up again,
    /// through a shared symbol, it still has the count of its first time.
    pub shared_ids: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Training {
    /// Left symbol, right symbol, resulting symbol. New symbols are numbered from 256 on.
    pub merges: Vec<(u32, u32, u32)>,
    /// The count of each merge when it was chosen.
    pub counts: Vec<u64>,
}

/// Learns merges from `pieces`. Stops early when no pair is frequent enough. `progress` is called with
/// the number of merges so far, about every 20 ms; `false` ends the training with `Error::Interrupted`.
pub fn train(
    pieces: &PieceCounts,
    options: &TrainOptions,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<Training> {
    let mut pulse = Pulse { progress, last_beat: Instant::now(), num_merges: 0 };
    let mut trainer = Trainer::new(pieces, options, &mut pulse)?;
    let mut training = Training::default();
    let mut num_symbols = 256;
    while num_symbols - 256 < options.num_merges {
        let Some((job, count)) = trainer.next_job() else {
            break;
        };
        let merge = trainer.merge(job, &mut pulse)?;
        num_symbols = trainer.tokens.lengths.len();
        training.merges.push(merge);
        training.counts.push(count);
        pulse.num_merges += 1;
        pulse.beat()?;
    }
    if options.shared_ids {
        training.keep_last_of_each_pair();
    }
    Ok(training)
}

impl Training {
    /// A pair that was merged twice has the rank of its last time, as in the originals' tables.
    fn keep_last_of_each_pair(&mut self) {
        let last: HashMap<_, _> = self.merges.iter().enumerate().map(|(rank, merge)| (*merge, rank)).collect();
        let is_last: Vec<_> = self.merges.iter().enumerate().map(|(rank, merge)| last[merge] == rank).collect();
        let mut kept = is_last.iter();
        self.merges.retain(|_| kept.next() == Some(&true));
        let mut kept = is_last.iter();
        self.counts.retain(|_| kept.next() == Some(&true));
    }
}

/// Symbol of the slot between two pieces.
const GAP: u32 = u32::MAX;
/// Pair of a slot that starts no pair that may be merged. It has a count as others do, which nobody
/// reads, so that the loops need not ask.
const NO_PAIR: u32 = 0;
/// Job of the pairs that may not be merged.
const NO_JOB: u32 = 0;
/// A neighbour that the present merge has not met yet.
const NOT_MET: u32 = u32::MAX;
/// Start of the places of a job that will never be done.
const NOT_KEPT: u32 = u32::MAX;
/// Places that are read between two looks at the clock.
const BEAT: usize = 1 << 16;

#[derive(Clone, Copy)]
struct Slot {
    /// Right in the first and the last slot of a token, stale between them.
    symbol: u32,
    /// The pair of this token and the next, in the first slot; else `NO_PAIR`.
    pair: u32,
}

#[derive(Clone, Copy)]
struct Pair {
    left: u32,
    right: u32,
    count: u64,
}

/// Places of one pair that one merge made, rising: `places[start..start + length]`. A pair has a second
/// job only when its symbols are shared.
#[derive(Clone, Copy)]
struct Job {
    pair: u32,
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
    jobs: Vec<Job>,
    places: Vec<u32>,
    queue: Queue,
    shared: Option<Shared>,
    /// For the merge at hand: the job of the pair (symbol, new) and of the pair (new, symbol).
    before_new: Vec<u32>,
    after_new: Vec<u32>,
    /// For the merge at hand: (job, place) in rising order of places.
    found: Vec<(u32, u32)>,
    met: Vec<u32>,
}

impl<'a> Trainer<'a> {
    fn new(pieces: &PieceCounts, options: &'a TrainOptions, pulse: &mut Pulse) -> Result<Self> {
        if options.shared_ids && options.tie_break == TieBreak::First {
            return Err(Error::Training(
                "shared_ids: expected the tie break `ids` or `lex_max`, found `first`, which never shares".into(),
            ));
        }
        let symbol_of_byte = invert(&options.byte_order)?;
        // Frequent pieces first: what is read most lies together. For `First` the place of a pair is
        // its tie key, so there the order must be the corpus's.
        let pieces = match options.tie_break {
            TieBreak::First => pieces.sorted_by_first_seen(),
            _ => pieces.sorted_by_count(),
        };
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| piece.bytes.len() > 1 && piece.count > 0).collect();
        check_sizes(&pieces)?;
        let num_slots = 1 + pieces.iter().map(|piece| piece.bytes.len() + 1).sum::<usize>();
        let mut slots = Vec::with_capacity(num_slots);
        let mut weights = Weights::new(num_slots);
        let gap = Slot { symbol: GAP, pair: NO_PAIR };
        slots.push(gap);
        for piece in &pieces {
            weights.push(slots.len(), piece.count);
            slots.extend(
                piece.bytes.iter().map(|&byte| Slot { symbol: symbol_of_byte[usize::from(byte)], pair: NO_PAIR }),
            );
            slots.push(gap);
        }
        weights.finish(num_slots);
        let mut trainer = Self {
            options,
            minimum: options.min_frequency.max(1),
            slots,
            weights,
            tokens: Tokens::new(&options.byte_order),
            pairs: vec![Pair { left: GAP, right: GAP, count: 0 }],
            jobs: vec![Job { pair: NO_PAIR, start: 0, length: 0 }],
            places: Vec::new(),
            queue: Queue::new(),
            shared: options.shared_ids.then(|| Shared::new(&options.byte_order)),
            before_new: vec![NOT_MET; 256],
            after_new: vec![NOT_MET; 256],
            found: Vec::new(),
            met: Vec::new(),
        };
        trainer.count_pairs(pulse)?;
        Ok(trainer)
    }

    /// Finds the pairs of single bytes.
    fn count_pairs(&mut self, pulse: &mut Pulse) -> Result<()> {
        let mut job_of_bytes = vec![NOT_MET; 256 * 256];
        for place in 0..self.slots.len() - 1 {
            if place % BEAT == 0 {
                pulse.beat()?;
            }
            let (left, right) = (self.slots[place].symbol, self.slots[place + 1].symbol);
            if left == GAP || right == GAP {
                continue;
            }
            let index = (left * 256 + right) as usize;
            if job_of_bytes[index] == NOT_MET {
                job_of_bytes[index] = self.open(left, right);
            }
            if job_of_bytes[index] != NO_JOB {
                let job = &mut self.jobs[job_of_bytes[index] as usize];
                job.length += 1;
                self.pairs[job.pair as usize].count += self.weights.at(place);
                self.slots[place].pair = job.pair;
            }
        }
        self.allot_places(1);
        for place in 0..self.slots.len() {
            if place % BEAT == 0 {
                pulse.beat()?;
            }
            // Up to here each pair has one job, of the same number.
            let job = self.slots[place].pair;
            if job != NO_JOB {
                self.put_place(job, place as u32);
            }
        }
        self.enqueue_from(1);
        Ok(())
    }

    /// The job to do next with its count, or none if no pair is frequent enough.
    fn next_job(&mut self) -> Option<(u32, u64)> {
        loop {
            let order =
                Order { tie_break: self.options.tie_break, jobs: &self.jobs, pairs: &self.pairs, tokens: &self.tokens };
            let Some(entry) = self.queue.pop(|a, b| order.is_before(a, b)) else {
                for (count, job) in self.queue.next_pile()? {
                    let count = count.min(self.count(job));
                    self.enqueue(job, count);
                }
                continue;
            };
            let count = self.count(entry.job);
            let is_fresh =
                count == entry.count && (self.options.tie_break != TieBreak::First || self.tie(entry.job) == entry.tie);
            if !is_fresh {
                self.enqueue(entry.job, count);
            } else if count < self.minimum {
                return None;
            } else {
                return Some((entry.job, count));
            }
        }
    }

    /// Merges the places of a job.
    fn merge(&mut self, job: u32, pulse: &mut Pulse) -> Result<(u32, u32, u32)> {
        let pair_number = self.jobs[job as usize].pair;
        let Pair { left, right, .. } = self.pairs[pair_number as usize];
        let left_length = self.tokens.lengths[left as usize] as usize;
        let new_length = left_length + self.tokens.lengths[right as usize] as usize;
        let new = self.symbol_for(left, right);
        let keeps_own_count = self.options.shared_ids && self.options.tie_break == TieBreak::Ids;
        let first_job = self.jobs.len();

        let again = self.places_again(job);
        let written = std::mem::take(&mut self.places);
        let Job { start, length, .. } = self.jobs[job as usize];
        let places = again.as_deref().unwrap_or(&written[start as usize..(start + length) as usize]);
        for (number, &place) in places.iter().enumerate() {
            if number % BEAT == BEAT - 1 {
                pulse.beat()?;
            }
            let start = place as usize;
            if self.slots[start].pair != pair_number {
                continue;
            }
            let weight = self.weights.at(start);
            let end = start + new_length;
            let before = self.slots[start - 1].symbol;
            let after = self.slots[end].symbol;
            let middle = start + left_length;
            self.uncount(middle, weight);
            if !keeps_own_count {
                self.uncount(start, weight);
            }
            self.slots[middle].pair = NO_PAIR;
            self.slots[start].symbol = new;
            self.slots[end - 1].symbol = new;
            if before != GAP {
                let start_before = start - self.tokens.lengths[before as usize] as usize;
                self.uncount(start_before, weight);
                self.slots[start_before].pair = self.count_new(before, new, new, start_before, weight);
            }
            self.slots[start].pair =
                if after == GAP { NO_PAIR } else { self.count_new(new, after, new, start, weight) };
        }
        self.places = written;

        self.allot_places(first_job);
        let mut found = std::mem::take(&mut self.found);
        for (job, place) in found.drain(..) {
            self.put_place(job, place);
        }
        self.found = found;
        for symbol in self.met.drain(..) {
            self.before_new[symbol as usize] = NOT_MET;
            self.after_new[symbol as usize] = NOT_MET;
        }
        self.enqueue_from(first_job);
        Ok((left, right, new))
    }

    fn uncount(&mut self, place: usize, weight: u64) {
        let count = &mut self.pairs[self.slots[place].pair as usize].count;
        // Wraps for `NO_PAIR` alone.
        *count = count.wrapping_sub(weight);
    }

    /// Counts the pair at `place`, which has the new symbol on one side, and gives back its number.
    fn count_new(&mut self, left: u32, right: u32, new: u32, place: usize, weight: u64) -> u32 {
        // The new symbol may meet itself from both sides: that is one pair, so one cell.
        let (cell, symbol) = match right == new {
            true => (&mut self.before_new[left as usize], left),
            false => (&mut self.after_new[right as usize], right),
        };
        let mut job = *cell;
        if job == NOT_MET {
            self.met.push(symbol);
            job = self.open(left, right);
            match right == new {
                true => self.before_new[left as usize] = job,
                false => self.after_new[right as usize] = job,
            }
        }
        if job == NO_JOB {
            return NO_PAIR;
        }
        let Job { pair, length, .. } = &mut self.jobs[job as usize];
        *length += 1;
        self.pairs[*pair as usize].count += weight;
        self.found.push((job, place as u32));
        *pair
    }

    /// Makes a job for a pair, and the pair unless it is known.
    fn open(&mut self, left: u32, right: u32) -> u32 {
        if !self.may_merge(left, right) {
            return NO_JOB;
        }
        let job = self.jobs.len() as u32;
        let mut pair = self.pairs.len() as u32;
        if let Some(shared) = &mut self.shared {
            let first_job = *shared.job_of_pair.entry((left, right)).or_insert(job);
            if first_job != job {
                pair = self.jobs[first_job as usize].pair;
                shared.jobs_of_pair.entry(pair).or_insert_with(|| vec![first_job]).push(job);
            }
        }
        if pair as usize == self.pairs.len() {
            self.pairs.push(Pair { left, right, count: 0 });
        }
        self.jobs.push(Job { pair, start: 0, length: 0 });
        job
    }

    fn may_merge(&self, left: u32, right: u32) -> bool {
        let length = |symbol: u32| self.tokens.lengths[symbol as usize] as usize;
        let fits = self.options.max_token_length.is_none_or(|longest| length(left) + length(right) <= longest);
        // Neither half holds two spaces, so only the seam can.
        let joins_spaces = || self.tokens.bytes(left).ends_with(b" ") && self.tokens.bytes(right).starts_with(b" ");
        fits && !(self.options.never_merge_spaces && joins_spaces())
    }

    /// The symbol of two joined ones, new unless shared.
    fn symbol_for(&mut self, left: u32, right: u32) -> u32 {
        let new = self.tokens.lengths.len() as u32;
        if let Some(shared) = &mut self.shared {
            let joined = [self.tokens.bytes(left), self.tokens.bytes(right)].concat();
            let symbol = *shared.symbol_of_bytes.entry(joined).or_insert(new);
            if symbol != new {
                return symbol;
            }
        }
        self.tokens.push_joined(left, right);
        self.before_new.push(NOT_MET);
        self.after_new.push(NOT_MET);
        new
    }

    /// The places to look at where a pair has come up more than once; none where the job's own will do.
    fn places_again(&self, job: u32) -> Option<Vec<u32>> {
        let pair = self.jobs[job as usize].pair;
        let jobs = self.shared.as_ref()?.jobs_of_pair.get(&pair)?;
        if self.options.tie_break == TieBreak::Ids {
            return Some(self.places_in_pieces_of(job));
        }
        let mut places: Vec<_> = jobs.iter().flat_map(|&job| self.places_of(job)).copied().collect();
        places.sort_unstable();
        Some(places)
    }

    /// Hugging Face keeps words, not places: a job merges every occurrence in its words, and leaves
    /// those in the words of the pair's other jobs.
    fn places_in_pieces_of(&self, job: u32) -> Vec<u32> {
        let pair = self.jobs[job as usize].pair;
        let mut places = Vec::new();
        let mut done = 0;
        for &place in self.places_of(job) {
            let mut start = place as usize;
            if start < done {
                continue;
            }
            while self.slots[start - 1].symbol != GAP {
                start -= 1;
            }
            while self.slots[start].symbol != GAP {
                if self.slots[start].pair == pair {
                    places.push(start as u32);
                }
                start += self.tokens.lengths[self.slots[start].symbol as usize] as usize;
            }
            done = start;
        }
        places
    }

    fn places_of(&self, job: u32) -> &[u32] {
        let Job { start, length, .. } = self.jobs[job as usize];
        &self.places[start as usize..(start + length) as usize]
    }

    fn count(&self, job: u32) -> u64 {
        self.pairs[self.jobs[job as usize].pair as usize].count
    }

    /// A count never rises unless symbols are shared, so a rare pair stays rare.
    fn is_of_use(&self, job: u32) -> bool {
        self.count(job) >= if self.options.shared_ids { 1 } else { self.minimum }
    }

    /// Gives each job from `first` on its part of `places`, to be filled by `put_place`.
    fn allot_places(&mut self, first: usize) {
        let mut end = self.places.len();
        for number in first..self.jobs.len() {
            let is_of_use = self.is_of_use(number as u32);
            let job = &mut self.jobs[number];
            let length = std::mem::take(&mut job.length);
            job.start = NOT_KEPT;
            if is_of_use {
                job.start = end as u32;
                end += length as usize;
            }
        }
        self.places.resize(end, 0);
    }

    fn put_place(&mut self, job: u32, place: u32) {
        let job = &mut self.jobs[job as usize];
        if job.start != NOT_KEPT {
            self.places[(job.start + job.length) as usize] = place;
            job.length += 1;
        }
    }

    fn enqueue_from(&mut self, first: usize) {
        for job in first as u32..self.jobs.len() as u32 {
            let count = self.count(job);
            self.enqueue(job, count);
        }
    }

    fn enqueue(&mut self, job: u32, count: u64) {
        if !self.is_of_use(job) {
            return;
        }
        if self.queue.is_due(count) {
            let entry = Entry { count, tie: self.tie(job), job };
            let order =
                Order { tie_break: self.options.tie_break, jobs: &self.jobs, pairs: &self.pairs, tokens: &self.tokens };
            self.queue.push(entry, |a, b| order.is_before(a, b));
        } else {
            self.queue.put_aside(count, job);
        }
    }

    /// What decides between jobs of one count, smallest first.
    fn tie(&mut self, job: u32) -> u64 {
        let Job { pair, start, length } = self.jobs[job as usize];
        let Pair { left, right, .. } = self.pairs[pair as usize];
        match self.options.tie_break {
            TieBreak::Ids => u64::from(left) << 32 | u64::from(right),
            // Only the start of the bytes: `Order` looks at the rest.
            TieBreak::LexMax => !prefix(self.tokens.bytes(left)),
            TieBreak::First => {
                // Dead places stay dead, so each is passed over once.
                let places = &self.places[start as usize..(start + length) as usize];
                let is_alive = |place: &&u32| self.slots[**place as usize].pair == pair;
                let num_dead = places.iter().take_while(|place| !is_alive(place)).count() as u32;
                let tie = places.get(num_dead as usize).map_or(u64::MAX, |&place| u64::from(place));
                self.jobs[job as usize] = Job { pair, start: start + num_dead, length: length - num_dead };
                tie
            }
        }
    }
}

struct Order<'a> {
    tie_break: TieBreak,
    jobs: &'a [Job],
    pairs: &'a [Pair],
    tokens: &'a Tokens,
}

impl Order<'_> {
    fn is_before(&self, a: &Entry, b: &Entry) -> bool {
        if (a.count, b.tie) != (b.count, a.tie) {
            return (b.count, a.tie) < (a.count, b.tie);
        }
        if self.tie_break == TieBreak::LexMax {
            let bytes = |entry: &Entry| {
                let Pair { left, right, .. } = self.pairs[self.jobs[entry.job as usize].pair as usize];
                (self.tokens.bytes(left), self.tokens.bytes(right))
            };
            let (of_a, of_b) = (bytes(a), bytes(b));
            if of_a != of_b {
                return of_a > of_b;
            }
        }
        // Only jobs of one pair, or of pairs that are spelled alike, come here.
        a.job < b.job
    }
}

/// What `shared_ids` needs to find what is there already.
struct Shared {
    symbol_of_bytes: HashMap<Vec<u8>, u32>,
    /// The first job of each pair.
    job_of_pair: HashMap<(u32, u32), u32>,
    /// All jobs of the pairs that have more than one.
    jobs_of_pair: HashMap<u32, Vec<u32>>,
}

impl Shared {
    fn new(byte_order: &[u8; 256]) -> Self {
        Self {
            symbol_of_bytes: (0..).zip(byte_order).map(|(symbol, &byte)| (vec![byte], symbol)).collect(),
            job_of_pair: HashMap::new(),
            jobs_of_pair: HashMap::new(),
        }
    }
}

/// The bytes of each symbol.
struct Tokens {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    lengths: Vec<u32>,
}

impl Tokens {
    fn new(byte_order: &[u8; 256]) -> Self {
        Self { bytes: byte_order.to_vec(), starts: (0..256).collect(), lengths: vec![1; 256] }
    }

    fn bytes(&self, symbol: u32) -> &[u8] {
        let start = self.starts[symbol as usize];
        &self.bytes[start..start + self.lengths[symbol as usize] as usize]
    }

    fn push_joined(&mut self, left: u32, right: u32) {
        self.starts.push(self.bytes.len());
        self.lengths.push(self.lengths[left as usize] + self.lengths[right as usize]);
        for symbol in [left, right] {
            let start = self.starts[symbol as usize];
            self.bytes.extend_from_within(start..start + self.lengths[symbol as usize] as usize);
        }
    }
}

/// The count of the piece at a place: runs of pieces of one count, found through a table of pages.
struct Weights {
    starts: Vec<u32>,
    counts: Vec<u64>,
    /// The run at the first place of each page.
    pages: Vec<u32>,
}

const PAGE: usize = 256;

impl Weights {
    fn new(num_slots: usize) -> Self {
        Self { starts: vec![0], counts: vec![0], pages: Vec::with_capacity(num_slots / PAGE + 2) }
    }

    /// Says that a piece starts at `place`; places rise.
    fn push(&mut self, place: usize, count: u64) {
        if self.counts.last() != Some(&count) {
            self.close_pages(place);
            self.starts.push(place as u32);
            self.counts.push(count);
        }
    }

    /// Says that there are no places from `end` on.
    fn finish(&mut self, end: usize) {
        self.close_pages(end + PAGE);
    }

    /// Pages that begin before `end` begin in the run that is open now.
    fn close_pages(&mut self, end: usize) {
        self.pages.resize(end.div_ceil(PAGE), self.counts.len() as u32 - 1);
    }

    fn at(&self, place: usize) -> u64 {
        let first = self.pages[place / PAGE] as usize;
        let last = self.pages[place / PAGE + 1] as usize;
        let later = self.starts[first + 1..=last].partition_point(|&start| start as usize <= place);
        self.counts[first + later]
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

/// Makes sure that no number below can overflow: places fit into 30 bits, and their lists, which hold
/// each place at most three times, into 32; the count of a pair is at most that of all pairs.
fn check_sizes(pieces: &[CountedPiece]) -> Result<()> {
    let num_slots = pieces.iter().map(|piece| piece.bytes.len() + 1).sum::<usize>();
    if num_slots >= 1 << 30 {
        return Err(Error::Training(format!(
            "corpus: expected distinct pieces of less than 1 GiB in all, found {num_slots} bytes"
        )));
    }
    let num_pairs = pieces
        .iter()
        .try_fold(0u64, |sum, piece| sum.checked_add(piece.count.checked_mul(piece.bytes.len() as u64 - 1)?));
    match num_pairs {
        Some(_) => Ok(()),
        None => Err(Error::Training("corpus: expected fewer than 2^64 pairs of neighbours, found more".into())),
    }
}
