//! Up to 15 bytes as one 16-byte number: compared at once, hashed in three instructions.

/// The most bytes that a key holds.
pub const MAX_KEY_BYTES: usize = 15;

/// The key of `text[start..end]`: its bytes, and its length in the top byte. 0 where that is nothing, or too long.
#[inline]
pub fn key(text: &[u8], start: usize, end: usize) -> u128 {
    let length = end - start;
    if length > MAX_KEY_BYTES {
        return 0;
    }
    let bytes = match text.get(start..).and_then(|rest| rest.first_chunk()) {
        // One load; the bytes behind the end are masked off below.
        Some(chunk) => u128::from_le_bytes(*chunk),
        None => {
            let mut padded = [0; 16];
            for (to, from) in padded.iter_mut().zip(text.get(start..end).unwrap_or_default()) {
                *to = *from;
            }
            u128::from_le_bytes(padded)
        }
    };
    cut(bytes, length)
}

/// The key of the first `length` of these bytes. 0 where that is nothing, or too long.
#[inline]
pub fn cut(bytes: u128, length: usize) -> u128 {
    MASKS.get(length).map_or(0, |mask| bytes & mask | (length as u128) << 120)
}

/// The bytes of a key of each length.
static MASKS: [u128; MAX_KEY_BYTES + 1] = {
    let mut masks = [0; MAX_KEY_BYTES + 1];
    let mut length = 1;
    while length <= MAX_KEY_BYTES {
        masks[length] = masks[length - 1] << 8 | 0xFF;
        length += 1;
    }
    masks
};

/// Both halves multiplied and folded: every bit of the key counts.
#[inline]
pub fn hash(key: u128) -> usize {
    let (low, high) = (key as u64, (key >> 64) as u64);
    let product = u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xD1B5_4A32_D192_ED03);
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_the_bytes_alone() {
        let text = b"abcabc and what stands behind it";
        assert_eq!(key(text, 0, 3), key(text, 3, 6));
        assert_eq!(key(text, 0, 3), key(b"abc", 0, 3));
        assert_ne!(key(b"a\0", 0, 1), key(b"a\0", 0, 2));
        assert_eq!(key(text, 10, 25), key(&text[10..25], 0, 15));
        assert_eq!(key(text, 10, 26), 0);
        assert_eq!(key(text, 10, 10), 0);
    }
}
