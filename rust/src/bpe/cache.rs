//! What encoding has found before: the ids of pieces, or of words.
//!
//! A piece of up to 15 bytes is one 16-byte key; up to four ids lie beside it, more in one shared list. Two keys share a
//! cache line and are told apart without a branch; one that finds both places taken goes to the next line. At its
//! budget the table is emptied and begins anew, so memory is bounded whatever the text. It holds what the model gave, so
//! it never changes an id.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

use crate::memory::{filled, prefetch};
use crate::packed::{cut, hash, key};

const MIN_LINES: usize = 1 << 9;
/// 64 bytes each: at most 32 MB a table.
const MAX_LINES: usize = 1 << 19;
/// The ids that lie beside a key.
pub const FEW: usize = 4;
/// In place of the number of ids: the first is where they begin in `many`, the second how many they are.
const MANY: usize = FEW + 1;
/// The number of ids stands above the length, which is 15 at most, in the top byte, and above `OF_SEGMENT`.
const NUM_IDS: u32 = 61;
const OF_SEGMENT: u64 = 1 << 60;

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

/// Key and hash of a piece, or of none: its high half is 0 then, and its low half not, so it is no free place's.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    low: u64,
    high: u64,
    pub hash: usize,
}

/// The ids of a piece: the first `num_ids` where these are `FEW` at most, else ask `WordTable::ids`.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub ids: [u32; FEW],
    pub num_ids: usize,
}

impl Key {
    /// The key of `text[start..end]`. None's where that is nothing, or too long.
    #[inline]
    pub fn new(text: &[u8], start: usize, end: usize) -> Self {
        Self::of(key(text, start, end))
    }

    /// The same of a buffer that goes on 15 bytes behind the start of any word.
    #[inline]
    pub fn of_word(buffer: &[u8], start: usize, end: usize) -> Self {
        let chunk = buffer.get(start..).and_then(|rest| rest.first_chunk());
        Self::of(chunk.map_or(0, |chunk| cut(u128::from_le_bytes(*chunk), end - start)))
    }

    #[inline]
    fn of(key: u128) -> Self {
        Self { low: key as u64 | u64::from(key == 0), high: (key >> 64) as u64, hash: hash(key) }
    }

    /// Of no piece that the table takes.
    pub fn of_none(hash: usize) -> Self {
        Self { low: 1, high: 0, hash }
    }

    #[inline]
    pub fn is_of_none(self) -> bool {
        self.high == 0
    }

    /// The key of the same bytes as a segment. One that is a token need not be one id, since only a whole piece comes first.
    pub fn of_segment(self) -> Self {
        if self.is_of_none() {
            return self;
        }
        let high = self.high | OF_SEGMENT;
        Self { high, hash: hash(u128::from(high) << 64 | u128::from(self.low)), ..self }
    }
}

impl Default for Key {
    fn default() -> Self {
        Self::of_none(0)
    }
}

impl Slot {
    #[inline]
    fn is_of(&self, key: Key) -> bool {
        (self.low ^ key.low) | (self.high ^ key.high) << (u64::BITS - NUM_IDS) == 0
    }

    #[inline]
    fn num_ids(&self) -> usize {
        (self.high >> NUM_IDS) as usize
    }

    fn hash(&self) -> usize {
        let shift = u64::BITS - NUM_IDS;
        hash(u128::from(self.high << shift >> shift) << 64 | u128::from(self.low))
    }
}

#[derive(Debug, Default)]
pub struct WordTable {
    lines: Vec<Line>,
    num_used: usize,
    many: Vec<u32>,
}

impl WordTable {
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
    #[inline]
    pub fn find(&self, key: Key) -> Option<Known> {
        self.slot(key).map(|slot| Known { ids: slot.ids, num_ids: slot.num_ids() })
    }

    #[inline] // once a piece
    fn slot(&self, key: Key) -> Option<&Slot> {
        let mut at = key.hash & self.mask();
        loop {
            let Line(slots) = self.lines.get(at)?;
            let [first, second] = slots;
            // Chosen by arithmetic: which of the two it is cannot be foreseen.
            let slot = slots.get(usize::from(second.is_of(key)))?;
            if slot.is_of(key) {
                return Some(slot);
            }
            if first.high == 0 || second.high == 0 {
                return None;
            }
            at = (at + 1) & self.mask();
        }
    }

    /// Writes the ids of pieces to `ids` until there is one with more than `FEW`, or one that is not here; says how many
    /// pieces and how many ids that were. The numbers behind those mean nothing.
    #[inline(never)] // A loop of its own keeps all it needs in registers.
    pub fn find_few(&self, keys: &[Key], ids: &mut [u32]) -> (usize, usize) {
        let mut num_ids = 0;
        for (at, &key) in keys.iter().enumerate() {
            // As many numbers are written for each piece, whether it has one token or four: no branch to foresee.
            match (self.slot(key), ids.get_mut(num_ids..num_ids + FEW)) {
                (Some(slot), Some(room)) if slot.num_ids() <= FEW => {
                    room.copy_from_slice(&slot.ids);
                    num_ids += slot.num_ids();
                }
                _ => return (at, num_ids),
            }
        }
        (keys.len(), num_ids)
    }

    /// All ids of a piece that is here.
    pub fn ids<'t>(&'t self, known: &'t Known) -> &'t [u32] {
        let &Known { ids: [start, num_many, ..], num_ids } = known;
        let many = || self.many.get(start as usize..)?.get(..num_many as usize);
        known.ids.get(..num_ids).or_else(many).unwrap_or_default()
    }

    /// Appends the ids kept under `key` to `ids`; false where there are none.
    pub fn append(&self, key: Key, ids: &mut Vec<u32>) -> bool {
        let known = self.find(key);
        known.is_some_and(|known| {
            append(ids, self.ids(&known));
            true
        })
    }

    /// Keeps `ids` under `key`, which is of a piece. What is there already stays.
    pub fn insert(&mut self, key: Key, ids: &[u32]) {
        if self.find(key).is_some() {
            return;
        }
        // Half full at most.
        if self.num_used >= self.lines.len() {
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
        let lines = std::mem::replace(&mut self.lines, filled(Line::default(), size));
        let slots = lines.into_iter().flat_map(|Line(slots)| slots);
        slots.filter(|slot| slot.high != 0).for_each(|slot| self.place(slot));
    }
}

/// The ids of pieces that are too long for a key, up to `MAX_LONG_BYTES`.
#[derive(Debug, Default)]
pub struct LongTable {
    entries: Vec<Long>,
    num_used: usize,
    hasher: RandomState,
    /// The bytes of each piece, then its ids.
    data: Vec<u8>,
}

/// A piece whose bytes hash to this; 0 is free.
#[derive(Debug, Clone, Copy, Default)]
struct Long {
    hash: usize,
    start: u32,
    num_bytes: u16,
    num_ids: u16,
}

const MIN_ENTRIES: usize = 1 << 10;
/// Longer pieces hardly come twice.
pub const MAX_LONG_BYTES: usize = 256;
/// When the pieces and their ids together pass this, the table is emptied.
const LONG_BUDGET_BYTES: usize = 16 << 20;

impl LongTable {
    pub fn hash(&self, piece: &[u8]) -> usize {
        self.hasher.hash_one(piece) as usize | 1
    }

    /// Says that a piece with this hash will be asked for.
    #[inline]
    pub fn expect(&self, hash: usize) {
        prefetch(&self.entries, self.place(hash));
    }

    /// Says that a piece with this hash will be asked for soon.
    #[inline]
    pub fn expect_data(&self, hash: usize) {
        if let Some(entry) = self.entries.get(self.place(hash)).filter(|entry| entry.hash == hash) {
            prefetch(&self.data, entry.start as usize);
            prefetch(&self.data, entry.start as usize + usize::from(entry.num_bytes));
        }
    }

    #[inline]
    fn place(&self, hash: usize) -> usize {
        hash >> 1 & self.entries.len().wrapping_sub(1)
    }

    /// Appends the ids of `piece` to `ids`; false where they are not known.
    pub fn append(&self, piece: &[u8], hash: usize, ids: &mut Vec<u32>) -> bool {
        let found = self.find(piece, hash);
        ids.extend(found.unwrap_or_default().as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        found.is_some()
    }

    fn find(&self, piece: &[u8], hash: usize) -> Option<&[u8]> {
        let mut at = self.place(hash);
        loop {
            let entry = self.entries.get(at).filter(|entry| entry.hash != 0)?;
            if entry.hash == hash {
                let (bytes, ids) = self.data.get(entry.start as usize..)?.split_at_checked(entry.num_bytes.into())?;
                if bytes == piece {
                    return ids.get(..4 * usize::from(entry.num_ids));
                }
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
    }

    /// Keeps `ids` for `piece`. What is there already stays.
    pub fn insert(&mut self, piece: &[u8], hash: usize, ids: &[u32]) {
        let (Ok(num_bytes), Ok(num_ids)) = (piece.len().try_into(), ids.len().try_into()) else { return };
        if self.find(piece, hash).is_some() {
            return;
        }
        if self.data.len() > LONG_BUDGET_BYTES {
            self.data.clear();
            self.entries.fill(Long::default());
            self.num_used = 0;
        }
        if self.num_used >= self.entries.len() / 2 {
            let size = (self.entries.len() * 2).max(MIN_ENTRIES);
            let entries = std::mem::replace(&mut self.entries, filled(Long::default(), size));
            entries.into_iter().filter(|entry| entry.hash != 0).for_each(|entry| self.put(entry));
        }
        self.put(Long { hash, start: self.data.len() as u32, num_bytes, num_ids });
        self.num_used += 1;
        self.data.extend_from_slice(piece);
        self.data.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    fn put(&mut self, entry: Long) {
        let mask = self.entries.len().wrapping_sub(1);
        let mut at = self.place(entry.hash);
        while let Some(slot) = self.entries.get_mut(at) {
            if slot.hash == 0 {
                *slot = entry;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Appends a few ids: nine times in ten it is one, for which a copy of any length costs too much.
#[inline]
pub fn append(ids: &mut Vec<u32>, few: &[u32]) {
    if let &[one] = few { ids.push(one) } else { ids.extend_from_slice(few) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pieces_come_back_while_the_table_grows_and_is_emptied() {
        let mut table = LongTable::default();
        let mut num_lost = 0;
        for n in 0..300_000u32 {
            let piece = |n: u32| n.to_le_bytes().repeat(4 + n as usize % 60);
            let ids = |n: u32| vec![n; n as usize % 9];
            let mut found = Vec::new();
            assert!(!table.append(&piece(n), table.hash(&piece(n)), &mut found));
            table.insert(&piece(n), table.hash(&piece(n)), &ids(n));
            assert!(table.append(&piece(n), table.hash(&piece(n)), &mut found));
            assert_eq!(found, ids(n));
            if n > 1000 && n % 97 == 0 {
                let old = n - 1000;
                found.clear();
                match table.append(&piece(old), table.hash(&piece(old)), &mut found) {
                    true => assert_eq!(found, ids(old)),
                    false => num_lost += 1,
                }
            }
        }
        assert!((1..50).contains(&num_lost), "{num_lost}");
        assert!(table.data.len() <= LONG_BUDGET_BYTES + 1000);
    }

    fn get(table: &WordTable, key: Key) -> Option<Vec<u32>> {
        let known = table.find(key)?;
        Some(table.ids(&known).to_vec())
    }

    #[test]
    fn what_is_kept_comes_back_while_the_table_grows_and_is_emptied() {
        let mut table = WordTable::default();
        let (mut num_lost, last) = (0, 1_500_000u64);
        let word = |n: u64| Key::new(&[n.to_le_bytes(), n.to_be_bytes()].concat(), 0, 8 + n as usize % 8);
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

    #[test]
    fn what_has_no_key_is_not_there_and_a_segment_is_not_the_piece() {
        let mut table = WordTable::default();
        let piece = Key::new(b"a piece", 0, 7);
        table.insert(piece, &[1]);
        table.insert(piece.of_segment(), &[2, 3]);
        table.insert(piece, &[4]);
        assert_eq!([piece, piece.of_segment()].map(|key| get(&table, key)), [Some(vec![1]), Some(vec![2, 3])]);
        let long = Key::new(b"longer than fifteen bytes", 0, 25);
        assert!(long.is_of_none() && long.of_segment().is_of_none() && get(&table, long).is_none());
    }
}
