//! The paper's rule: join the pair whose count is highest for the product of its parts' counts.
//!
//! A join changes the counts of its pair's parts, hence the score of every pair that has one of them. All pairs stand in
//! one heap that knows the place of each, so a score that changes moves up or down from there: O(log n) a change, and a
//! join costs the rows that hold its pair and the pairs that hold its parts. Scores are compared as fractions, exactly.
//! Equal to counting everything anew at each step: see `incremental_equals_plain`.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use crate::bpe::train::{Row, Tokens};
use crate::error::{Error, Result};

/// Counts stay below this, so that the product of three of them is a u128.
const MAX_COUNT: u64 = 1 << 42;

#[derive(Debug)]
struct Pair {
    left: u32,
    right: u32,
    count: u64,
    /// The rows that held it when they were looked at last.
    rows: Vec<u32>,
    /// Its count and the product of its parts', as of when it got its place in the heap.
    score: (u128, u128),
}

struct Trainer {
    rows: Vec<Row>,
    minimum: u64,
    pairs: Vec<Pair>,
    number_by_pair: HashMap<(u32, u32), u32, FixedState>,
    /// How often each symbol stands in the rows, and the pairs that hold it.
    counts: Vec<u64>,
    pairs_of: Vec<Vec<u32>>,
    /// Numbers of pairs, the one to join next first; and the place of each in it.
    heap: Vec<u32>,
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// (left, right, symbol of both) of each join.
pub fn train(
    rows: &[Row],
    mut tokens: Tokens,
    num_merges: usize,
    min_frequency: u64,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<(u32, u32, u32)>> {
    let num_tokens = tokens.len() + num_merges;
    let mut trainer = Trainer::new(rows, tokens.len(), min_frequency.max(1))?;
    let mut merges = Vec::new();
    while tokens.len() < num_tokens {
        let Some(&best) = trainer.heap.first() else { break };
        let Some(&Pair { left, right, .. }) = trainer.pairs.get(best as usize) else { break };
        let new = tokens.join(left, right);
        trainer.join(best, new, tokens.len());
        merges.push((left, right, new));
        if !progress(merges.len()) {
            return Err(Error::Interrupted);
        }
    }
    Ok(merges)
}

impl Trainer {
    fn new(rows: &[Row], num_symbols: usize, minimum: u64) -> Result<Self> {
        let sum = rows.iter().try_fold(0u64, |sum, (symbols, count)| {
            sum.checked_add(count.checked_mul(symbols.len() as u64)?).filter(|&sum| sum < MAX_COUNT)
        });
        if sum.is_none() {
            return Err(Error::Training("corpus: expected fewer than 2^42 characters, found more".into()));
        }
        let mut trainer = Self {
            rows: rows.to_vec(),
            minimum,
            pairs: Vec::new(),
            number_by_pair: HashMap::default(),
            counts: vec![0; num_symbols],
            pairs_of: vec![Vec::new(); num_symbols],
            heap: Vec::new(),
            places: Vec::new(),
        };
        let mut changed = HashSet::default();
        for row in 0..rows.len() as u32 {
            trainer.count_row(row, true, &mut changed);
        }
        for number in 0..trainer.pairs.len() as u32 {
            trainer.place_anew(number);
        }
        Ok(trainer)
    }

    /// Adds a row's symbols and pairs to the counts, or takes them away.
    fn count_row(&mut self, row: u32, is_added: bool, changed: &mut HashSet<u32, FixedState>) {
        let Some((symbols, count)) = self.rows.get_mut(row as usize) else { return };
        let (symbols, count) = (std::mem::take(symbols), *count);
        let change = |number: &mut u64| *number = if is_added { *number + count } else { *number - count };
        for &symbol in &symbols {
            if let Some(number) = self.counts.get_mut(symbol as usize) {
                change(number);
            }
        }
        for (&left, &right) in symbols.iter().zip(symbols.iter().skip(1)) {
            let number = self.number([left, right]);
            if let Some(pair) = self.pairs.get_mut(number as usize) {
                change(&mut pair.count);
                if is_added && pair.rows.last() != Some(&row) {
                    pair.rows.push(row);
                }
            }
            changed.insert(number);
        }
        if let Some((place, _)) = self.rows.get_mut(row as usize) {
            *place = symbols;
        }
    }

    fn number(&mut self, [left, right]: [u32; 2]) -> u32 {
        let next = self.pairs.len() as u32;
        let number = *self.number_by_pair.entry((left, right)).or_insert(next);
        if number == next {
            self.pairs.push(Pair { left, right, count: 0, rows: Vec::new(), score: (0, 1) });
            self.places.push(ABSENT);
            for symbol in [left, right] {
                if let Some(pairs) = self.pairs_of.get_mut(symbol as usize) {
                    pairs.push(next);
                }
            }
        }
        number
    }

    fn join(&mut self, number: u32, new: u32, num_symbols: usize) {
        self.counts.resize(num_symbols, 0);
        self.pairs_of.resize(num_symbols, Vec::new());
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let (left, right, rows) = (pair.left, pair.right, std::mem::take(&mut pair.rows));
        let mut changed = HashSet::default();
        let mut seen = HashSet::<u32, FixedState>::default();
        for row in rows.into_iter().filter(|&row| seen.insert(row)) {
            self.count_row(row, false, &mut changed);
            if let Some((symbols, _)) = self.rows.get_mut(row as usize) {
                replace(symbols, left, right, new);
            }
            self.count_row(row, true, &mut changed);
        }
        for symbol in [left, right] {
            let pairs = self.pairs_of.get_mut(symbol as usize).map(std::mem::take).unwrap_or_default();
            // Pairs that are gone stay gone until a row holds them again, which `changed` says.
            let alive = |number: &u32| self.pairs.get(*number as usize).is_some_and(|pair| pair.count > 0);
            let pairs: Vec<u32> = pairs.into_iter().filter(alive).collect();
            changed.extend(&pairs);
            if let Some(place) = self.pairs_of.get_mut(symbol as usize) {
                *place = pairs;
            }
        }
        for number in changed {
            self.place_anew(number);
        }
    }

    /// Moves a pair to where its score of now belongs, or out.
    fn place_anew(&mut self, number: u32) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let count = |symbol: u32| u128::from(self.counts.get(symbol as usize).copied().unwrap_or_default());
        // One score at a time, so that the others still are in order.
        pair.score = (u128::from(pair.count), count(pair.left) * count(pair.right));
        let is_due = pair.count >= self.minimum;
        let at = self.places.get(number as usize).copied().unwrap_or(ABSENT);
        match (is_due, at) {
            (false, ABSENT) => {}
            (true, ABSENT) => {
                self.heap.push(number);
                self.set(self.heap.len() - 1, number);
                self.rise(self.heap.len() - 1);
            }
            (true, at) => {
                self.rise(at as usize);
                let at = self.places.get(number as usize).copied().unwrap_or(ABSENT);
                self.sink(at as usize);
            }
            (false, at) => {
                let at = at as usize;
                let last = self.heap.pop().unwrap_or(ABSENT);
                if let Some(place) = self.places.get_mut(number as usize) {
                    *place = ABSENT;
                }
                if last != number {
                    self.set(at, last);
                    self.rise(at);
                    let at = self.places.get(last as usize).copied().unwrap_or(ABSENT);
                    self.sink(at as usize);
                }
            }
        }
    }

    fn set(&mut self, at: usize, number: u32) {
        if let Some(slot) = self.heap.get_mut(at) {
            *slot = number;
        }
        if let Some(place) = self.places.get_mut(number as usize) {
            *place = at as u32;
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_before(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let child = if right < self.heap.len() && self.is_before(right, left) { right } else { left };
            if child >= self.heap.len() || !self.is_before(child, at) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        if let (Some(&a), Some(&b)) = (self.heap.get(one), self.heap.get(other)) {
            self.set(one, b);
            self.set(other, a);
        }
    }

    /// Whether the pair at one place of the heap comes before that at another.
    fn is_before(&self, one: usize, other: usize) -> bool {
        let pair = |at: usize| self.heap.get(at).and_then(|&number| self.pairs.get(number as usize));
        let (Some(a), Some(b)) = (pair(one), pair(other)) else { return false };
        // Two fractions, without a division.
        let (of_a, of_b) = (a.score.0 * b.score.1, b.score.0 * a.score.1);
        (of_b, a.left, a.right) < (of_a, b.left, b.right)
    }
}

/// Puts `new` wherever `left` and `right` stand together, from the left.
fn replace(symbols: &mut Vec<u32>, left: u32, right: u32, new: u32) {
    let mut kept: Vec<u32> = Vec::with_capacity(symbols.len());
    let mut rest = symbols.as_slice();
    while let [first, tail @ ..] = rest {
        let is_pair = *first == left && tail.first() == Some(&right);
        kept.push(if is_pair { new } else { *first });
        rest = if is_pair { tail.get(1..).unwrap_or_default() } else { tail };
    }
    *symbols = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts everything anew at each step.
    fn plain(rows: &[Row], num_symbols: u32, num_merges: u32, minimum: u64) -> Vec<(u32, u32, u32)> {
        let (mut rows, mut merges) = (rows.to_vec(), Vec::new());
        for new in num_symbols..num_symbols + num_merges {
            let mut pairs = std::collections::BTreeMap::<(u32, u32), u64>::new();
            let mut counts = std::collections::BTreeMap::<u32, u64>::new();
            for (symbols, count) in &rows {
                symbols.iter().for_each(|&symbol| *counts.entry(symbol).or_default() += count);
                symbols.windows(2).for_each(|pair| *pairs.entry((pair[0], pair[1])).or_default() += count);
            }
            let mut best: Option<((u32, u32), u64)> = None;
            for (pair, count) in pairs.into_iter().filter(|&(_, count)| count >= minimum) {
                let product = |(left, right): (u32, u32)| u128::from(counts[&left]) * u128::from(counts[&right]);
                if best
                    .is_none_or(|(other, most)| u128::from(count) * product(other) > u128::from(most) * product(pair))
                {
                    best = Some((pair, count));
                }
            }
            let Some(((left, right), _)) = best else { break };
            rows.iter_mut().for_each(|(symbols, _)| replace(symbols, left, right, new));
            merges.push((left, right, new));
        }
        merges
    }

    #[test]
    fn incremental_equals_plain() {
        let mut state = 3u64;
        let mut roll = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        for round in 0..400 {
            let num_symbols = 1 + roll(6);
            let rows: Vec<Row> = (0..roll(25))
                .map(|_| ((0..roll(9)).map(|_| roll(num_symbols) as u32).collect(), 1 + roll(5)))
                .collect();
            let alphabet = (0..num_symbols).map(|symbol| vec![b'a' + symbol as u8]);
            let minimum = 1 + round % 3;
            let merges = train(&rows, Tokens::new(alphabet, ""), 40, minimum, &mut |_| true).expect("small counts");
            assert_eq!(merges, plain(&rows, num_symbols as u32, 40, minimum), "{rows:?}");
        }
    }
}
