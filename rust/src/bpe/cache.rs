//! What merging has found before: the ids of short pieces, and what two tokens become.
//!
//! The word table is one cache line a look-up.
//!
//! A piece of up to 15 bytes is one 16-byte key, its length in the top byte. Up to three ids lie beside the key, more
//! in one shared list. Open addressing, at most three quarters full; at its budget the table is emptied and begins anew,
//! so memory is bounded whatever the text. It holds what the merges gave, so it never changes an id.

use crate::prefetch::prefetch;

/// The longest piece that has a key.
const MAX_KEY_BYTES: usize = 15;

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

/// The key of `text[start..end]`, or 0 where it is not a piece of 1 to 15 bytes.
#[inline]
pub fn key(text: &[u8], start: usize, end: usize) -> u128 {
    let length = end - start;
    if length > MAX_KEY_BYTES {
        return 0;
    }
    let bytes = match text.get(start..start + 16) {
        // One load, and the bytes behind the piece masked off.
        Some(&[b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15]) => {
            u128::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15])
        }
        _ => {
            let mut padded = [0; 16];
            for (to, from) in padded.iter_mut().zip(text.get(start..end).unwrap_or_default()) {
                *to = *from;
            }
            u128::from_le_bytes(padded)
        }
    };
    (bytes & ((1 << (8 * length)) - 1)) | (length as u128) << 120
}

impl WordTable {
    /// Says that `key` will be asked for soon.
    #[inline]
    pub fn expect(&self, key: u128) {
        prefetch(&self.slots, hash(key) & self.slots.len().wrapping_sub(1));
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

/// Both halves multiplied and folded: three instructions, and every bit of the key counts.
#[inline]
fn hash(key: u128) -> usize {
    let (low, high) = (key as u64, (key >> 64) as u64);
    let product = u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xD1B5_4A32_D192_ED03);
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_the_piece_alone() {
        let text = b"abcabc and what stands behind it";
        assert_eq!(key(text, 0, 3), key(text, 3, 6));
        assert_eq!(key(text, 0, 3), key(b"abc", 0, 3));
        assert_ne!(key(b"a\0", 0, 1), key(b"a\0", 0, 2));
        assert_eq!(key(text, 10, 25), key(&text[10..25], 0, 15));
    }

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
            let key = key(&text, 0, 8);
            assert_eq!(get(&table, key), None);
            let ids: Vec<u32> = (0..n as u32 % 6).collect();
            table.insert(key, &ids);
            assert_eq!(get(&table, key), Some(ids));
            if n > 1000 && n % 97 == 0 {
                let old = (n - 1000).to_le_bytes();
                let ids: Vec<u32> = (0..(n - 1000) as u32 % 6).collect();
                match get(&table, super::key(&old, 0, 8)) {
                    Some(found) => assert_eq!(found, ids),
                    None => num_lost += 1,
                }
            }
        }
        assert!((1..50).contains(&num_lost), "{num_lost}");
        assert!(table.slots.len() <= MAX_SLOTS && table.long.len() < 6 * MAX_SLOTS);
    }
}
