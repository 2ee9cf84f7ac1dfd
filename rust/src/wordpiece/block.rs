//! Sixty-four bytes at once: which are letters, which are words of their own, which need more thought.
//!
//! Plain loops over arrays, which compilers turn into vector instructions. Equal to `char`'s own classes: see
//! `masks_are_the_classes_of_char`.

pub const BLOCK: usize = 64;

/// A bit a byte, the first byte in the lowest. What is in none of them is white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masks {
    /// ASCII letters and digits.
    pub letters: u64,
    /// ASCII punctuation.
    pub alone: u64,
    /// Not ASCII, or a control character other than tab and the line ends.
    pub others: u64,
}

/// The masks of `block`, which is copied to `copy`, its letters lowercased where that is asked for.
#[inline] // once every 64 bytes
pub fn classify(block: &[u8; BLOCK], lowercase: bool, copy: &mut [u8; BLOCK]) -> Masks {
    let (mut letters, mut alone, mut others) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
    let lowering = if lowercase { 0x20 } else { 0 };
    let marks = letters.iter_mut().zip(&mut alone).zip(&mut others);
    for ((&byte, copy), ((letter, alone), other)) in block.iter().zip(copy).zip(marks) {
        let alphabetic = u8::from((byte | 0x20).wrapping_sub(b'a') < 26);
        let printed = u8::from(byte.wrapping_sub(b'!') < 94);
        let space =
            u8::from(byte == b' ') | u8::from(byte == b'\t') | u8::from(byte == b'\n') | u8::from(byte == b'\r');
        *copy = byte | (alphabetic.wrapping_neg() & lowering);
        *letter = alphabetic | u8::from(byte.wrapping_sub(b'0') < 10);
        *alone = printed & !*letter;
        *other = (printed | space) ^ 1;
    }
    Masks { letters: bits(&letters), alone: bits(&alone), others: bits(&others) }
}

/// The lowest bit of each byte.
#[inline]
fn bits(marks: &[u8; BLOCK]) -> u64 {
    let parts = marks.as_chunks().0.iter().enumerate();
    // The product has the bit of byte i at 56 + i.
    parts.fold(0, |bits, (at, part)| {
        bits | (u64::from_le_bytes(*part).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_classes_of_char() {
        for byte in 0..=255u8 {
            for lowercase in [false, true] {
                let block: [u8; BLOCK] =
                    std::array::from_fn(|at| if at % 7 == 3 { byte } else { byte.wrapping_mul(at as u8) });
                let mut copy = [0; BLOCK];
                let masks = classify(&block, lowercase, &mut copy);
                for (at, byte) in block.into_iter().enumerate() {
                    let has = |mask: u64| mask >> at & 1 == 1;
                    let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                    assert_eq!(has(masks.letters), byte.is_ascii_alphanumeric());
                    assert_eq!(has(masks.alone), byte.is_ascii_punctuation());
                    assert_eq!(has(masks.others), !is_space && !byte.is_ascii_graphic());
                    assert_eq!(copy[at], if lowercase { byte.to_ascii_lowercase() } else { byte });
                }
            }
        }
    }
}
