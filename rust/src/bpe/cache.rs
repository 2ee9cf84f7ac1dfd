//! What merging has found before: the ids of short pieces, and what two tokens become.
//!
//! A piece of up to 15 bytes is one 16-byte key, its length in the top byte. Up to three ids lie beside the key, more
//! in one shared list. Open addressing, at most three quarters full; at its budget the table is emptied and begins anew,
//! so memory is bounded whatever the text. It holds what the merges gave, so it never changes an id.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::packed::hash;
use crate::prefetch::prefetch;

const MIN_SLOTS: usize = 1 << 10;
/// 32 bytes each: at most 32 MB a table.
const MAX_SLOTS: usize = 1 << 20;
const INLINE: usize = 3;

/// A key of 0 is an empty slot: a piece has at least one byte, so its length is not 0.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
struct Slot {
    key: u128,
    /// The ids, or where in `long` they begin.
    ids: [u32; INLINE],
    num_ids: u32,
}

#[derive(Debug, Default)]
pub struct WordTable {
    slots: Vec<Slot>,
    num_used: usize,
    long: Vec<u32>,
}

impl WordTable {
    /// Says that `key` will be asked for soon.
    #[inline]
    pub fn expect(&self, key: u128) {
        prefetch(&self.slots, hash(key) & self.slots.len().wrapping_sub(1));
    }

    /// Up to three ids kept under `key`, and in the last place how many. None where there are none, or more.
    #[inline]
    pub fn few(&self, key: u128) -> Option<[u32; INLINE + 1]> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(key) & mask;
        loop {
            let slot = self.slots.get(at)?;
            if slot.key == key {
                let [first, second, third] = slot.ids;
                return Some([first, second, third, slot.num_ids]).filter(|_| slot.num_ids as usize <= INLINE);
            }
            if slot.key == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Appends the ids kept under `key` to `ids`; false where there are none.
    #[inline]
    pub fn append(&self, key: u128, ids: &mut Vec<u32>) -> bool {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(key) & mask;
        loop {
            let Some(slot) = self.slots.get(at) else { return false };
            if slot.key == key {
                let [first, ..] = slot.ids;
                // Nine in ten pieces are one token.
                if slot.num_ids == 1 {
                    ids.push(first);
                } else {
                    ids.extend_from_slice(self.several(slot));
                }
                return true;
            }
            if slot.key == 0 {
                return false;
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

    /// Keeps `ids` under `key`, which is not in the table.
    pub fn insert(&mut self, key: u128, ids: &[u32]) {
        if self.num_used >= self.slots.len() / 4 * 3 {
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
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(slot.key) & mask;
        while let Some(found) = self.slots.get_mut(at) {
            if found.key == 0 {
                *found = slot;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn make_room(&mut self) {
        let size = (self.slots.len() * 2).clamp(MIN_SLOTS, MAX_SLOTS);
        let is_full = self.slots.len() >= MAX_SLOTS;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        if is_full {
            self.num_used = 0;
            self.long.clear();
        } else {
            slots.into_iter().filter(|slot| slot.key != 0).for_each(|slot| self.place(slot));
        }
    }
}

/// What pairs of tokens become, as far as it was asked lately: a pair has one place, where the last one asked for stays.
#[derive(Debug, Default)]
pub struct PairMemo(Vec<Pair>);

#[derive(Debug, Clone, Copy)]
struct Pair {
    ids: u64,
    rank: u32,
    merged: u32,
}

impl PairMemo {
    const BITS: u32 = 16;

    #[inline]
    pub fn get_or_insert_with(&mut self, left: u32, right: u32, find: impl FnOnce() -> (u32, u32)) -> (u32, u32) {
        let ids = u64::from(left) << 32 | u64::from(right);
        if self.0.is_empty() {
            // No id is so great: `MAX_ID`.
            self.0 = vec![Pair { ids: u64::MAX, rank: 0, merged: 0 }; 1 << Self::BITS];
        }
        let place = (ids.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Self::BITS)) as usize;
        let Some(pair) = self.0.get_mut(place) else { return find() };
        if pair.ids != ids {
            let (rank, merged) = find();
            *pair = Pair { ids, rank, merged };
        }
        (pair.rank, pair.merged)
    }
}

/// The ids of pieces that are too long for a key, up to `MAX_LONG_BYTES`.
#[derive(Debug, Default)]
pub struct LongTable {
    entries: HashTable<Long>,
    hasher: RandomState,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

/// Where a piece and its ids stand in the two lists.
#[derive(Debug, Clone, Copy)]
struct Long {
    piece: (u32, u32),
    ids: (u32, u32),
}

/// Longer pieces hardly come twice.
pub const MAX_LONG_BYTES: usize = 256;
/// When the pieces together pass this, the table is emptied.
const LONG_BUDGET_BYTES: usize = 8 << 20;

impl LongTable {
    /// Appends the ids of `piece` to `ids`; false where they are not known.
    pub fn append(&self, piece: &[u8], ids: &mut Vec<u32>) -> bool {
        let hash = self.hasher.hash_one(piece);
        let Some(long) = self.entries.find(hash, |long| within(&self.bytes, long.piece) == piece) else { return false };
        ids.extend_from_slice(within(&self.ids, long.ids));
        true
    }

    /// Keeps `ids` for `piece`, which is not in the table.
    pub fn insert(&mut self, piece: &[u8], ids: &[u32]) {
        if self.bytes.len() > LONG_BUDGET_BYTES {
            self.entries.clear();
            self.bytes.clear();
            self.ids.clear();
        }
        let (piece_start, ids_start) = (self.bytes.len() as u32, self.ids.len() as u32);
        self.bytes.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        let long = Long { piece: (piece_start, self.bytes.len() as u32), ids: (ids_start, self.ids.len() as u32) };
        let (bytes, hasher) = (&self.bytes, &self.hasher);
        self.entries.insert_unique(hasher.hash_one(piece), long, |long| hasher.hash_one(within(bytes, long.piece)));
    }
}

fn within<T>(list: &[T], (start, end): (u32, u32)) -> &[T] {
    list.get(start as usize..end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::key;

    fn get(table: &WordTable, key: u128) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        table.append(key, &mut ids).then_some(ids)
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
            table.insert(word, &ids);
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
        assert!(table.slots.len() <= MAX_SLOTS && table.long.len() < 6 * MAX_SLOTS);
    }
}
