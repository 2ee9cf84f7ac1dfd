//! What merging has found before: the ids of pieces.
//!
//! A piece of up to 15 bytes is one 16-byte key, its length in the top byte. Up to three ids lie beside the key, more
//! in one shared list. Two keys share a cache line and are compared without a branch; a full line passes keys on to the
//! next. At most half full; at its budget the table is emptied and begins anew, so memory is bounded whatever the
//! text. It holds what the merges gave, so it never changes an id.

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

use crate::memory::{filled, prefetch};
use crate::packed::hash;

const MIN_SLOTS: usize = 1 << 10;
/// 64 bytes each: at most 32 MB a table.
const MAX_LINES: usize = 1 << 19;
const INLINE: usize = 3;

/// A key of 0 is an empty slot: a piece has at least one byte, so its length is not 0.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Slot {
    key: u128,
    /// The ids, or where in `long` they begin.
    ids: [u32; INLINE],
    num_ids: u32,
}

/// A cache line. The first slot is taken first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([Slot; 2]);

#[derive(Debug, Default)]
pub struct WordTable {
    lines: Vec<Line>,
    num_used: usize,
    long: Vec<u32>,
}

impl WordTable {
    /// Says that a key with this hash will be asked for soon.
    #[inline]
    pub fn expect(&self, hash: usize) {
        prefetch(&self.lines, hash & self.lines.len().wrapping_sub(1));
    }

    /// The ids kept under `key` where they are few: the first so many of four.
    #[inline]
    pub fn find(&self, key: u128, hash: usize) -> Option<([u32; INLINE + 1], usize)> {
        let slot = self.slot(key, hash)?;
        let [first, second, third] = slot.ids;
        let num_ids = slot.num_ids as usize;
        (num_ids <= INLINE).then_some(([first, second, third, 0], num_ids))
    }

    /// Appends the ids kept under `key` to `ids`; false where there are none.
    pub fn append(&self, key: u128, hash: usize, ids: &mut Vec<u32>) -> bool {
        let slot = self.slot(key, hash);
        slot.is_some_and(|slot| {
            append(ids, self.several(slot));
            true
        })
    }

    #[inline]
    fn slot(&self, key: u128, hash: usize) -> Option<&Slot> {
        let mask = self.lines.len().wrapping_sub(1);
        let mut at = hash & mask;
        loop {
            let Line(slots) = self.lines.get(at)?;
            let [is_first, is_second] = slots.each_ref().map(|slot| slot.key == key);
            // A piece that has no key is not here.
            if (is_first | is_second) & (key != 0) {
                // By a place and not by a branch, which would guess wrong half the time.
                return slots.get(usize::from(is_second));
            }
            if slots.last().is_none_or(|slot| slot.key == 0) {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    fn several<'t>(&'t self, slot: &'t Slot) -> &'t [u32] {
        let num_ids = slot.num_ids as usize;
        let [first, ..] = slot.ids;
        let (list, start) =
            if num_ids <= INLINE { (slot.ids.as_slice(), 0) } else { (self.long.as_slice(), first as usize) };
        list.get(start..start + num_ids).unwrap_or_default()
    }

    /// Keeps `ids` under `key`. What is there already stays.
    pub fn insert(&mut self, key: u128, hash: usize, ids: &[u32]) {
        if self.slot(key, hash).is_some() {
            return;
        }
        if self.num_used >= self.lines.len() {
            self.make_room();
        }
        let mut slot = Slot { key, ids: [0; INLINE], num_ids: ids.len() as u32 };
        match slot.ids.get_mut(..ids.len()) {
            Some(inline) => inline.copy_from_slice(ids),
            None => {
                slot.ids = [self.long.len() as u32; INLINE];
                self.long.extend_from_slice(ids);
            }
        }
        self.place(slot);
        self.num_used += 1;
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.lines.len().wrapping_sub(1);
        let mut at = hash(slot.key) & mask;
        while let Some(Line(slots)) = self.lines.get_mut(at) {
            if let Some(free) = slots.iter_mut().find(|slot| slot.key == 0) {
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
            self.long.clear();
            self.num_used = 0;
            return;
        }
        let size = (self.lines.len() * 2).max(MIN_SLOTS / 2);
        let lines = std::mem::replace(&mut self.lines, filled(size));
        let slots = lines.into_iter().flat_map(|Line(slots)| slots);
        slots.filter(|slot| slot.key != 0).for_each(|slot| self.place(slot));
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
            let size = (self.entries.len() * 2).max(MIN_SLOTS);
            let entries = std::mem::replace(&mut self.entries, filled(size));
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
    use crate::packed::key;

    fn get(table: &WordTable, key: u128) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        table.append(key, hash(key), &mut ids).then_some(ids)
    }

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

    #[test]
    fn what_is_kept_comes_back_while_the_table_grows_and_is_emptied() {
        let mut table = WordTable::default();
        let (mut num_lost, last) = (0, 1_500_000u64);
        for n in 0..last {
            let text = n.to_le_bytes();
            let word = key(&text, 0, 8);
            assert_eq!(get(&table, word), None);
            let ids: Vec<u32> = (0..n as u32 % 6).collect();
            table.insert(word, hash(word), &ids);
            assert_eq!(get(&table, word), Some(ids));
            if n > 1000 && n % 97 == 0 {
                let old = (n - 1000).to_le_bytes();
                let ids: Vec<u32> = (0..(n - 1000) as u32 % 6).collect();
                match get(&table, key(&old, 0, 8)) {
                    Some(found) => assert_eq!(found, ids),
                    None => num_lost += 1,
                }
            }
        }
        assert!((1..50).contains(&num_lost), "{num_lost}");
        assert!(table.lines.len() <= MAX_LINES && table.long.len() < 12 * MAX_LINES);
    }
}
