//! Words met before and their ids, found by one cache line.
//!
//! A word of up to 15 bytes is one 16-byte key; up to four ids lie beside it, more in one shared list. Two words share a
//! line; one that finds both places taken goes to the next line. At its budget the table is emptied and begins anew, so
//! memory is bounded whatever the text. It holds what matching gave, so it never changes an id.

use crate::memory::{filled, prefetch};
use crate::packed::{cut, hash};

const MIN_LINES: usize = 1 << 9;
/// 64 bytes each: at most 32 MB a table.
const MAX_LINES: usize = 1 << 19;
/// The ids that lie beside a key.
pub const FEW: usize = 4;
/// In place of the number of ids: the first is where they begin in `many`, the second how many they are.
const MANY: usize = FEW + 1;
/// The number of ids stands above the length, which is 15 at most, in the top byte.
const NUM_IDS: u32 = 60;

/// A length of 0 is a free place.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    low: u64,
    high: u64,
    ids: [u32; FEW],
}

/// The second place is free as long as the first is.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([Slot; 2]);

/// Key and hash of a word.
#[derive(Debug, Clone, Copy, Default)]
pub struct Key {
    low: u64,
    high: u64,
    pub hash: usize,
}

/// The ids of a word: the first `num_ids` where these are `FEW` at most, else ask `Table::many`.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub ids: [u32; FEW],
    pub num_ids: usize,
}

impl Key {
    /// The key of `buffer[start..end]`. None's where the word is too long, or has no 15 bytes behind its first.
    #[inline]
    pub fn new(buffer: &[u8], start: usize, end: usize) -> Self {
        let chunk = buffer.get(start..).and_then(|rest| rest.first_chunk());
        Self::of(chunk.map_or(0, |chunk| cut(u128::from_le_bytes(*chunk), end - start)))
    }

    #[inline]
    fn of(key: u128) -> Self {
        Self { low: key as u64, high: (key >> 64) as u64, hash: hash(key) }
    }

    /// Of no word: what its bytes are is not said.
    pub fn of_none(hash: usize) -> Self {
        Self { low: 1, high: 0, hash }
    }

    #[inline]
    pub fn is_of_none(self) -> bool {
        self.high == 0
    }
}

impl Slot {
    #[inline]
    fn is_of(&self, key: Key) -> bool {
        (self.low ^ key.low) | (self.high ^ key.high) << (u64::BITS - NUM_IDS) == 0
    }

    fn hash(&self) -> usize {
        let shift = u64::BITS - NUM_IDS;
        hash(u128::from(self.high << shift >> shift) << 64 | u128::from(self.low))
    }
}

#[derive(Debug, Default)]
pub struct Table {
    lines: Vec<Line>,
    num_used: usize,
    many: Vec<u32>,
}

impl Table {
    #[inline]
    fn mask(&self) -> usize {
        self.lines.len().wrapping_sub(1)
    }

    /// Says that a key with this hash will be asked for soon.
    #[inline]
    pub fn expect(&self, hash: usize) {
        prefetch(&self.lines, hash & self.mask());
    }

    /// What is kept under `key`.
    #[inline] // once a word
    pub fn find(&self, key: Key) -> Option<Known> {
        let mut at = key.hash & self.mask();
        loop {
            let Line(slots) = self.lines.get(at)?;
            let [first, second] = slots;
            // Chosen by arithmetic: which of the two it is cannot be foreseen.
            let slot = slots.get(usize::from(second.is_of(key)))?;
            if slot.is_of(key) {
                return Some(Known { ids: slot.ids, num_ids: (slot.high >> NUM_IDS) as usize });
            }
            if first.high == 0 || second.high == 0 {
                return None;
            }
            at = (at + 1) & self.mask();
        }
    }

    /// Writes the ids of words to `ids` until there is one with more than `FEW`, or one that is not here; says how many
    /// words and how many ids that were. The numbers behind those mean nothing.
    #[inline(never)] // A loop of its own keeps all it needs in registers.
    pub fn find_few(&self, keys: &[Key], ids: &mut [u32]) -> (usize, usize) {
        let mut num_ids = 0;
        for (at, &key) in keys.iter().enumerate() {
            // As many numbers are written for each word, whether it has one token or four: no branch to foresee.
            match (self.find(key), ids.get_mut(num_ids..num_ids + FEW)) {
                (Some(known), Some(room)) if known.num_ids <= FEW => {
                    room.copy_from_slice(&known.ids);
                    num_ids += known.num_ids;
                }
                _ => return (at, num_ids),
            }
        }
        (keys.len(), num_ids)
    }

    /// The ids of a word that has more than `FEW`.
    pub fn many(&self, Known { ids: [start, num_ids, ..], .. }: Known) -> &[u32] {
        self.many.get(start as usize..).and_then(|rest| rest.get(..num_ids as usize)).unwrap_or_default()
    }

    /// Keeps `ids` under `key`, which is of a word and not there yet.
    pub fn insert(&mut self, key: Key, ids: &[u32]) {
        // Three quarters full at most.
        if self.num_used >= self.lines.len() / 2 * 3 {
            self.make_room();
        }
        let mut slot = Slot { low: key.low, high: key.high, ids: [0; FEW] };
        let num_ids = match slot.ids.get_mut(..ids.len()) {
            Some(few) => {
                few.copy_from_slice(ids);
                ids.len()
            }
            None => {
                slot.ids = [self.many.len() as u32, ids.len() as u32, 0, 0];
                self.many.extend_from_slice(ids);
                MANY
            }
        };
        slot.high |= (num_ids as u64) << NUM_IDS;
        self.place(slot);
        self.num_used += 1;
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.mask();
        let mut at = slot.hash() & mask;
        while let Some(Line(slots)) = self.lines.get_mut(at) {
            if let Some(free) = slots.iter_mut().find(|slot| slot.high == 0) {
                *free = slot;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn make_room(&mut self) {
        if self.lines.len() >= MAX_LINES {
            self.lines.fill(Line::default());
            self.many.clear();
            self.num_used = 0;
            return;
        }
        let size = (self.lines.len() * 2).max(MIN_LINES);
        let lines = std::mem::replace(&mut self.lines, filled(size));
        let slots = lines.into_iter().flat_map(|Line(slots)| slots);
        slots.filter(|slot| slot.high != 0).for_each(|slot| self.place(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::key;

    fn get(table: &Table, key: Key) -> Option<Vec<u32>> {
        let known = table.find(key)?;
        let few = known.ids.get(..known.num_ids);
        Some(few.unwrap_or_else(|| table.many(known)).to_vec())
    }

    #[test]
    fn what_is_kept_comes_back_while_the_table_grows_and_is_emptied() {
        let mut table = Table::default();
        let (mut num_lost, last) = (0, 1_500_000u64);
        let word = |n: u64| Key::of(key(&[n.to_le_bytes(), n.to_be_bytes()].concat(), 0, 8 + n as usize % 8));
        let ids = |n: u64| (0..n as u32 % 7).map(|id| u32::MAX - id).collect::<Vec<_>>();
        for n in 0..last {
            assert_eq!(get(&table, word(n)), None);
            table.insert(word(n), &ids(n));
            assert_eq!(get(&table, word(n)), Some(ids(n)));
            if n > 1000 && n % 97 == 0 {
                match get(&table, word(n - 1000)) {
                    Some(found) => assert_eq!(found, ids(n - 1000)),
                    None => num_lost += 1,
                }
            }
        }
        assert!((1..50).contains(&num_lost), "{num_lost}");
        assert!(table.lines.len() <= MAX_LINES && table.many.len() < 7 * 2 * MAX_LINES);
    }
}
