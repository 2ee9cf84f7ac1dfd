//! Characters as Hugging Face's crates know them, whose tables are of other Unicode versions than ours.
//!
//! `unicode-normalization-alignments` 0.1.12 knows Unicode 9: a later character is one without decomposition and of
//! class 0. `unicode_categories` 0.1.1 knows Unicode 8, with the few deviations that the patterns below spell out.
//! `tests/test_chain.py` compares every code point. Lower case, white space and numbers are those of Rust itself.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical, decompose_compatible};

/// A set of characters: a bit each.
pub struct Characters(Vec<u64>);

impl Characters {
    /// The characters of a pattern that is one class. Empty for any other pattern.
    fn of(class: &str) -> Self {
        let mut bits = vec![0; (char::MAX as usize + 1).div_ceil(64)];
        if let Ok(hir) = regex_syntax::parse(class)
            && let HirKind::Class(Class::Unicode(class)) = hir.kind()
        {
            for character in class.ranges().iter().flat_map(|range| range.start()..=range.end()) {
                if let Some(word) = bits.get_mut(character as usize / 64) {
                    *word |= 1 << (character as usize % 64);
                }
            }
        }
        Self(bits)
    }

    pub fn contains(&self, character: char) -> bool {
        let code = character as usize;
        self.0.get(code / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }
}

static PUNCTUATION: LazyLock<Characters> =
    LazyLock::new(|| Characters::of(r"[[\p{P}&&\p{age:8.0}]\x{166D}\x{111C9}!-/:-@\[-`{-~]"));
static CONTROL: LazyLock<Characters> = LazyLock::new(|| Characters::of(r"[[\p{Cc}\p{Cf}\p{Co}]&&\p{age:8.0}]"));
static NONSPACING: LazyLock<Characters> =
    LazyLock::new(|| Characters::of(r"[[\p{Mn}&&\p{age:8.0}]\x{1734}\x{1171E}--[\x{1885}\x{1886}\x{A9BD}\x{111C9}]]"));
static COMBINING: LazyLock<Characters> =
    LazyLock::new(|| Characters::of(r"[[\p{M}&&\p{age:9.0}]\x{1CF2}\x{1CF3}--[\x{111C9}]]"));
static NORMALIZED: LazyLock<Characters> = LazyLock::new(|| Characters::of(r"\p{age:9.0}"));

/// ASCII punctuation, which holds signs such as `$` and `+`, and the categories P.
pub fn is_punctuation(character: char) -> bool {
    PUNCTUATION.contains(character)
}

/// Categories Cc, Cf and Co, with neither unassigned characters nor, here, line breaks and tabs.
pub fn is_control(character: char) -> bool {
    !matches!(character, '\t' | '\n' | '\r') && CONTROL.contains(character)
}

/// Category Mn.
pub fn is_nonspacing(character: char) -> bool {
    NONSPACING.contains(character)
}

/// Categories M.
pub fn is_combining(character: char) -> bool {
    COMBINING.contains(character)
}

/// Whether normal forms know the character; the others stay as they are.
pub fn is_normalized(character: char) -> bool {
    NORMALIZED.contains(character)
}

/// A normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub is_compatible: bool,
    pub is_composed: bool,
}

impl Form {
    /// `text` in this form, each character with its change: see `Aligned::transform`.
    pub fn of(self, text: &str) -> Vec<(char, isize)> {
        self.changes(self.decomposed(text.chars()))
    }

    /// The first half of `of`: the characters taken apart, in order.
    pub fn decomposed(self, characters: impl Iterator<Item = char>) -> Vec<Decomposed> {
        let mut result = Vec::with_capacity(characters.size_hint().1.unwrap_or_default());
        // Where the characters begin that the next one of class 0 puts in order.
        let mut unordered = 0;
        for character in characters {
            let mut change = 0;
            let mut push = |part: char| {
                let class = class(part);
                if class == 0 {
                    order(&mut result, &mut unordered);
                }
                result.push((class, part, change));
                change = 1;
            };
            match (character.is_ascii() || !NORMALIZED.contains(character), self.is_compatible) {
                (true, _) => push(character),
                (false, true) => decompose_compatible(character, push),
                (false, false) => decompose_canonical(character, push),
            }
        }
        order(&mut result, &mut unordered);
        result
    }

    /// The second half of `of`: the characters as they are, or joined.
    pub fn changes(self, decomposed: impl IntoIterator<Item = Decomposed>) -> Vec<(char, isize)> {
        let decomposed = decomposed.into_iter();
        if self.is_composed { composed(decomposed) } else { decomposed.map(|(_, c, change)| (c, change)).collect() }
    }
}

/// Combining class, character, change.
pub type Decomposed = (u8, char, isize);

/// The combining class.
pub fn class(character: char) -> u8 {
    if character.is_ascii() || !NORMALIZED.contains(character) { 0 } else { canonical_combining_class(character) }
}

fn order(decomposed: &mut [Decomposed], unordered: &mut usize) {
    if let Some(tail) = decomposed.get_mut(*unordered..) {
        tail.sort_by_key(|&(class, ..)| class);
    }
    *unordered = decomposed.len();
}

/// Joins each character of class 0 with those behind it that compose with it and that no other one blocks.
fn composed(decomposed: impl Iterator<Item = Decomposed>) -> Vec<(char, isize)> {
    let mut result: Vec<(char, isize)> = Vec::with_capacity(decomposed.size_hint().1.unwrap_or_default());
    // Where the last character of class 0 stands in the result, and the class of what was kept behind it.
    let (mut starter, mut kept_class) = (None, None);
    for (class, character, change) in decomposed {
        let joined = starter.filter(|_| kept_class.is_none_or(|kept| kept < class)).and_then(|at: usize| {
            let target = result.get_mut(at)?;
            // Both must be old enough; what they make then is, too.
            let known = NORMALIZED.contains(target.0) && NORMALIZED.contains(character);
            target.0 = compose(target.0, character).filter(|_| known)?;
            target.1 += change - 1;
            Some(())
        });
        if joined.is_some() {
            continue;
        }
        if class == 0 {
            (starter, kept_class) = (Some(result.len()), None);
        } else if starter.is_some() {
            kept_class = Some(class);
        }
        result.push((character, change));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFC: Form = Form { is_compatible: false, is_composed: true };
    const NFD: Form = Form { is_compatible: false, is_composed: false };
    const NFKC: Form = Form { is_compatible: true, is_composed: true };

    #[test]
    fn a_composed_character_stands_for_all_its_parts() {
        assert_eq!(NFC.of("e\u{301}x"), [('é', -1), ('x', 0)]);
        assert_eq!(NFD.of("é"), [('e', 0), ('\u{301}', 1)]);
        assert_eq!(NFKC.of("ﬁ"), [('f', 0), ('i', 1)]);
        assert_eq!(NFC.of("\u{1100}\u{1161}\u{11A8}"), [('각', -2)]);
    }

    #[test]
    fn the_forms_are_those_of_unicode_where_no_later_character_stands() {
        use unicode_normalization::UnicodeNormalization;
        let text = "a\u{323}\u{307}\u{301} \u{307}\u{323}e 가\u{11A8} ﷺ \u{0344}\u{0F73}q\u{0F71}";
        let plain = |changes: Vec<(char, isize)>| changes.into_iter().map(|(c, _)| c).collect::<String>();
        assert_eq!(plain(NFC.of(text)), text.nfc().collect::<String>());
        assert_eq!(plain(NFD.of(text)), text.nfd().collect::<String>());
        assert_eq!(plain(NFKC.of(text)), text.nfkc().collect::<String>());
    }

    #[test]
    fn the_classes_are_those_of_older_tables() {
        assert!(is_punctuation('\u{166D}') && is_punctuation('$') && !is_punctuation('\u{2E43}'));
        assert!(!is_nonspacing('\u{1885}') && is_nonspacing('\u{1734}') && is_combining('\u{1CF2}'));
        assert!(is_control('\u{AD}') && !is_control('\t') && !is_control('\u{378}'));
    }
}
