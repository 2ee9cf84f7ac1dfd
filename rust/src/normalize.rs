//! Normalization: the Unicode forms NFC, NFD, NFKC and NFKD, and which original bytes each normalized byte came from.
//!
//! Text already in form is borrowed, found so by the quick check in one pass. The tables are `unicode-normalization`'s, cut
//! down to the Unicode version of Hugging Face's crate, whose normal forms these are: see `unicode`.

use std::borrow::Cow;
use std::str::FromStr;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use crate::error::Error;
use crate::unicode::{self, Form};

/// The version of Unicode that is normalized: later characters stay as they are.
pub const UNICODE_VERSION: (u8, u8, u8) = (9, 0, 0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalizer {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl FromStr for Normalizer {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "NFC" => Ok(Self::Nfc),
            "NFD" => Ok(Self::Nfd),
            "NFKC" => Ok(Self::Nfkc),
            "NFKD" => Ok(Self::Nfkd),
            _ => Err(Error::Spec(format!("expected a normalizer NFC, NFD, NFKC or NFKD, found {name:?}"))),
        }
    }
}

impl Normalizer {
    /// `text` in this form.
    pub fn apply<'t>(self, text: &'t str) -> Cow<'t, str> {
        // Text in form by newer tables is in form by older ones, which know fewer characters that join or move.
        if text.is_ascii() || self.quick_check(text) == IsNormalized::Yes {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.collect(text))
    }

    fn quick_check(self, text: &str) -> IsNormalized {
        match self {
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        }
    }

    fn collect(self, text: &str) -> String {
        if !text.chars().all(unicode::is_normalized) {
            let is_compatible = matches!(self, Self::Nfkc | Self::Nfkd);
            let form = Form { is_compatible, is_composed: matches!(self, Self::Nfc | Self::Nfkc) };
            return form.of(text).into_iter().map(|(character, _)| character).collect();
        }
        match self {
            Self::Nfc => text.nfc().collect(),
            Self::Nfd => text.nfd().collect(),
            Self::Nfkc => text.nfkc().collect(),
            Self::Nfkd => text.nfkd().collect(),
        }
    }

    /// Whether `c` neither joins with what stands before it nor is reordered: text may be cut in front of it.
    fn starts_afresh(self, c: char) -> bool {
        canonical_combining_class(c) == 0 && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
    }
}

/// Which original bytes a range of normalized bytes came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// End in the normalized text, start and end in the original; one entry a stretch that changed or did not as a whole.
    stretches: Vec<Stretch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    normalized_end: usize,
    original_start: usize,
    original_end: usize,
}

impl Alignment {
    /// The alignment of `original` with the text that `normalizer` makes of it.
    pub fn new(normalizer: Normalizer, original: &str) -> Self {
        let mut stretches = Vec::new();
        let (mut start, mut normalized_end) = (0, 0);
        let mut close = |start: usize, end: usize| {
            if let Some(stretch) = original.get(start..end).filter(|stretch| !stretch.is_empty()) {
                normalized_end += normalizer.apply(stretch).len();
                stretches.push(Stretch { normalized_end, original_start: start, original_end: end });
            }
        };
        for (at, c) in original.char_indices() {
            if normalizer.starts_afresh(c) {
                close(start, at);
                start = at;
            }
        }
        close(start, original.len());
        Self { stretches }
    }

    /// The original bytes that the normalized bytes `start..end` came from: whole stretches, so whole characters.
    pub fn original(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.stretches.partition_point(|stretch| stretch.normalized_end <= start);
        let last = self.stretches.partition_point(|stretch| stretch.normalized_end < end.max(start + 1));
        let original_start = self.stretches.get(first).map_or(0, |stretch| stretch.original_start);
        let original_end = self.stretches.get(last).or(self.stretches.last()).map_or(0, |stretch| stretch.original_end);
        (original_start, original_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_form_is_borrowed() {
        assert!(matches!(Normalizer::Nfc.apply("plain é"), Cow::Borrowed(_)));
        assert_eq!(Normalizer::Nfc.apply("e\u{301}"), "é");
    }

    #[test]
    fn characters_after_unicode_9_stay_as_they_are() {
        // U+A7F2 is a letter C of Unicode 14, U+1DFA a mark of class 218 of Unicode 14.
        assert_eq!(Normalizer::Nfkc.apply("\u{A7F2}e\u{301}"), "\u{A7F2}é");
        assert_eq!(Normalizer::Nfc.apply("e\u{1DFA}\u{301}"), "e\u{1DFA}\u{301}");
    }

    #[test]
    fn stretches_together_normalize_to_the_whole() {
        for text in ["e\u{301}x\u{323}\u{307}가\u{11A8}", "\u{1100}\u{1161}\u{11A8}ﬁ½", "\u{0F73}\u{0344}a\u{0F71}"]
        {
            for form in [Normalizer::Nfc, Normalizer::Nfd, Normalizer::Nfkc, Normalizer::Nfkd] {
                let alignment = Alignment::new(form, text);
                let joined: String =
                    alignment.stretches.iter().map(|s| form.apply(&text[s.original_start..s.original_end])).collect();
                assert_eq!(joined, form.apply(text), "{form:?} {text:?}");
            }
        }
    }

    #[test]
    fn a_composed_character_comes_from_all_its_parts() {
        let alignment = Alignment::new(Normalizer::Nfc, "ae\u{301}b");
        assert_eq!(alignment.original(1, 3), (1, 4));
        assert_eq!(alignment.original(3, 4), (4, 5));
    }
}
