//! Hard boundaries: places in a piece that no token of the vocabulary reaches across.
//!
//! No merge ever spans such a place, and merges on its two sides do not touch one another, so the ids of a piece are
//! those of its segments, whatever the ranks: `segments_encode_as_the_whole`. Text in scripts with thousands of
//! characters falls into segments of one to a few characters that repeat, where whole pieces hardly do.
//!
//! The table is a Bloom filter over the pairs of characters that stand inside some token, so a place is at times taken
//! for one that is reached across. That joins two segments, and is exact all the same.

/// Built once from the tokens, in time proportional to their bytes.
#[derive(Debug)]
pub struct Boundaries {
    /// Bits of pairs of characters that some token holds side by side.
    pairs: Bits<20>,
    /// Bits of characters that some token ends within right behind, or begins within right in front of.
    behind: Bits<16>,
    in_front: Bits<16>,
    /// Ends of one character and beginnings of the next that some token consists of.
    torn: Vec<(Vec<u8>, Vec<u8>)>,
    torn_bytes: Bits<16>,
}

#[derive(Debug)]
struct Bits<const LOG: u32>(Vec<u64>);

impl<const LOG: u32> Bits<LOG> {
    fn new() -> Self {
        Self(vec![0; 1 << (LOG - 6)])
    }

    fn set(&mut self, value: u64) {
        let place = Self::place(value);
        if let Some(word) = self.0.get_mut(place >> 6) {
            *word |= 1 << (place & 63);
        }
    }

    #[inline]
    fn has(&self, value: u64) -> bool {
        let place = Self::place(value);
        self.0.get(place >> 6).is_some_and(|word| word >> (place & 63) & 1 == 1)
    }

    #[inline]
    fn place(value: u64) -> usize {
        (value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LOG)) as usize
    }
}

/// What stands at one side of a place in a token.
enum Side<'t> {
    Whole(char),
    /// A part of a character that reaches to the end of the token.
    Part(&'t [u8]),
    /// Bytes that no text holds.
    Foreign,
}

impl Boundaries {
    pub fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut boundaries = Self {
            pairs: Bits::new(),
            behind: Bits::new(),
            in_front: Bits::new(),
            torn: Vec::new(),
            torn_bytes: Bits::new(),
        };
        for token in tokens {
            for place in 1..token.len() {
                boundaries.add(token, place);
            }
        }
        boundaries.torn.sort_unstable();
        boundaries.torn.dedup();
        boundaries
    }

    fn add(&mut self, token: &[u8], place: usize) {
        let (left, right) = token.split_at(place);
        if right.first().is_some_and(|&byte| is_continuation(byte)) {
            return;
        }
        match (last_character(left), first_character(right)) {
            (Side::Whole(before), Side::Whole(after)) => self.pairs.set(pair(before, after)),
            (Side::Whole(before), Side::Part(_)) => self.behind.set(before.into()),
            (Side::Part(_), Side::Whole(after)) => self.in_front.set(after.into()),
            (Side::Part(end), Side::Part(beginning)) => {
                if let (Some(&last), Some(&first)) = (end.last(), beginning.first()) {
                    self.torn_bytes.set(u64::from(last) << 8 | u64::from(first));
                    self.torn.push((end.to_vec(), beginning.to_vec()));
                }
            }
            (Side::Foreign, _) | (_, Side::Foreign) => {}
        }
    }

    /// Whether some token may reach across `text[..at]` and `text[at..]`, which end and begin with these characters.
    #[inline]
    pub fn is_crossed(&self, before: char, after: char, text: &[u8], at: usize) -> bool {
        self.pairs.has(pair(before, after))
            || self.behind.has(before.into())
            || self.in_front.has(after.into())
            || (!self.torn.is_empty() && self.is_torn(text, at))
    }

    fn is_torn(&self, text: &[u8], at: usize) -> bool {
        let (left, right) = text.split_at_checked(at).unwrap_or_default();
        let (Some(&last), Some(&first)) = (left.last(), right.first()) else { return false };
        self.torn_bytes.has(u64::from(last) << 8 | u64::from(first))
            && self.torn.iter().any(|(end, beginning)| left.ends_with(end) && right.starts_with(beginning))
    }
}

fn pair(before: char, after: char) -> u64 {
    u64::from(u32::from(before)) << 32 | u64::from(u32::from(after))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn last_character(left: &[u8]) -> Side<'_> {
    let Some(start) = left.iter().rposition(|&byte| !is_continuation(byte)) else {
        return if left.len() < 4 { Side::Part(left) } else { Side::Foreign };
    };
    left.get(start..).and_then(one_character).map_or(Side::Foreign, Side::Whole)
}

fn first_character(right: &[u8]) -> Side<'_> {
    let length = match right.first() {
        Some(..0x80) => 1,
        Some(0xC2..0xE0) => 2,
        Some(0xE0..0xF0) => 3,
        Some(0xF0..0xF5) => 4,
        _ => return Side::Foreign,
    };
    match right.get(..length) {
        Some(bytes) => one_character(bytes).map_or(Side::Foreign, Side::Whole),
        None if right.iter().skip(1).all(|&byte| is_continuation(byte)) => Side::Part(right),
        None => Side::Foreign,
    }
}

fn one_character(bytes: &[u8]) -> Option<char> {
    let mut characters = std::str::from_utf8(bytes).ok()?.chars();
    characters.next().filter(|_| characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossed(tokens: &[&[u8]], before: &str, after: &str) -> bool {
        let boundaries = Boundaries::new(tokens.iter().copied());
        let text = format!("{before}{after}");
        let (left, right) = (before.chars().next_back(), after.chars().next());
        boundaries.is_crossed(left.expect("not empty"), right.expect("not empty"), text.as_bytes(), before.len())
    }

    #[test]
    fn whole_characters_side_by_side_are_crossed() {
        assert!(crossed(&["日本".as_bytes()], "日", "本"));
        assert!(!crossed(&["日本".as_bytes()], "本", "日"));
        assert!(!crossed(&["日".as_bytes(), b"ab"], "日", "a"));
    }

    #[test]
    fn tokens_that_end_or_begin_within_a_character_count() {
        let space_and_half = [&b" \xE6\x97"[..]];
        assert!(crossed(&space_and_half, " ", "日"));
        let half_and_space = [&b"\x97\xA5 "[..]];
        assert!(crossed(&half_and_space, "日", " "));
        let two_halves = [&b"\x97\xA5\xE6"[..]];
        assert!(crossed(&two_halves, "日", "本"));
        assert!(!crossed(&two_halves, "本", "日"));
    }
}
