//! Text, and for each of its bytes the bytes of the original text that it came from.
//!
//! Every change says for each new character whether it replaces one, was put in, or stands for several: that is how the
//! origins follow. The rules are Hugging Face's NormalizedString (`tokenizers` 0.23), so that offsets are equal to its
//! own. Where nobody asks for offsets the origins are left out, and a change is only one of the text.
//!
//! A change that the pulse breaks off leaves text that is good for nothing: who calls it asks `Pulse::check`.

use std::ops::Range;

use crate::pulse::Pulse;

/// Bytes of the original text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    pub start: u32,
    pub end: u32,
}

impl Origin {
    fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Text under change.
#[derive(Debug, Default)]
pub struct Aligned {
    text: String,
    /// One a byte of the text; none where they are not tracked.
    origins: Vec<Origin>,
    tracks: bool,
    range: Origin,
    /// What the last change left behind, to be filled by the next.
    spare_text: String,
    spare_origins: Vec<Origin>,
}

impl Aligned {
    /// Starts anew with `text`, the original's bytes from `start` on.
    pub fn start(&mut self, text: &str, start: u32, tracks: bool, pulse: &mut Pulse) {
        self.text.clear();
        self.text.push_str(text);
        self.origins.clear();
        self.tracks = tracks;
        self.range = Origin { start, end: start + text.len() as u32 };
        if tracks {
            push_characters(text, start, &mut self.origins, pulse);
        }
    }

    /// Starts anew with text that has changed before: `origins` are of its bytes, `range` is of the whole.
    pub fn resume(&mut self, text: &str, origins: &[Origin], range: Origin, tracks: bool, pulse: &mut Pulse) {
        self.text.clear();
        self.text.push_str(text);
        self.origins.clear();
        push_origins(origins, &mut self.origins, pulse);
        self.tracks = tracks;
        self.range = range;
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// The original bytes that this is made of.
    pub fn range(&self) -> Origin {
        self.range
    }

    /// The original bytes behind `start..end`, which is not empty. Where they are not tracked that is so only for text
    /// that has not changed.
    pub fn origin(&self, start: usize, end: usize) -> Origin {
        if self.tracks {
            return joined(&self.origins, start, end);
        }
        Origin { start: self.range.start + start as u32, end: self.range.start + end as u32 }
    }

    /// Makes `characters` the text. Beside each stands what it is: 0 for one that replaces the next old character, 1 for
    /// one put in, which has the origin of what stands before it, and -n for one that also takes the place of the n old
    /// characters behind. Old ones at the very start that have no successor are the first `num_removed`.
    pub fn transform(
        &mut self,
        characters: impl IntoIterator<Item = (char, isize)>,
        num_removed: usize,
        pulse: &mut Pulse,
    ) {
        self.spare_text.clear();
        if !self.tracks {
            self.spare_text.extend(pulse.each(characters).map(|(character, _)| character));
            std::mem::swap(&mut self.text, &mut self.spare_text);
            return;
        }
        let Some(changed) = self.changed_range() else { return };
        self.spare_origins.clear();
        self.spare_text.push_str(self.text.get(..changed.start).unwrap_or_default());
        push_origins(self.origins.get(..changed.start).unwrap_or_default(), &mut self.spare_origins, pulse);
        let mut old = self.text.get(changed.clone()).unwrap_or_default().chars().map(char::len_utf8);
        let mut at = changed.start + old.by_ref().take(num_removed).sum::<usize>();
        for (character, change) in pulse.each(characters) {
            let of_this = if change <= 0 { at } else { at.wrapping_sub(1) };
            let nowhere = Origin { start: self.range.start, end: self.range.start };
            let origin = self.origins.get(of_this).or(self.origins.last().filter(|_| at > 0));
            let num_replaced = if change <= 0 { 1 + change.unsigned_abs() } else { 0 };
            push(&mut self.spare_text, &mut self.spare_origins, character, origin.copied().unwrap_or(nowhere));
            at += old.by_ref().take(num_replaced).sum::<usize>();
        }
        self.spare_text.push_str(self.text.get(changed.end..).unwrap_or_default());
        push_origins(self.origins.get(changed.end..).unwrap_or_default(), &mut self.spare_origins, pulse);
        self.swap();
    }

    /// The bytes that a change of the whole concerns: those that came from the original text, from the first on.
    fn changed_range(&self) -> Option<Range<usize>> {
        if self.range.is_empty() {
            return Some(0..0);
        }
        let end = self.origins.len();
        let first = self.origins.iter().position(|origin| !origin.is_empty());
        if end == 0 { None } else { Some(first.unwrap_or(end)..end) }
    }

    /// Whether a change that changes nothing leaves this as it is: all of it came from the original text, or nobody
    /// asks. Otherwise Hugging Face puts the text in once more.
    pub fn is_attached(&self) -> bool {
        self.origins.first().is_none_or(|origin| !origin.is_empty()) && !(self.tracks && self.range.is_empty())
    }

    /// Keeps the characters that `keep` wants.
    pub fn filter(&mut self, keep: impl Fn(char) -> bool, pulse: &mut Pulse) {
        if self.is_attached() && pulse.each(self.text.chars()).all(&keep) {
            return;
        }
        if !self.tracks {
            self.spare_text.clear();
            self.spare_text.extend(pulse.each(self.text.chars()).filter(|&character| keep(character)));
            std::mem::swap(&mut self.text, &mut self.spare_text);
            return;
        }
        let mut changes: Vec<(char, isize)> = Vec::new();
        let mut num_removed = 0;
        for character in pulse.each(self.text.chars()) {
            if keep(character) {
                changes.push((character, 0));
            } else if let Some((_, change)) = changes.last_mut() {
                *change -= 1;
            } else {
                num_removed += 1;
            }
        }
        self.transform(changes, num_removed, pulse);
    }

    /// Puts `change` of it in the place of each character.
    pub fn map(&mut self, change: impl Fn(char) -> char, pulse: &mut Pulse) {
        if self.is_attached() && pulse.each(self.text.chars()).all(|c| change(c) == c) {
            return;
        }
        let text = self.text.clone();
        self.transform(text.chars().map(|c| (change(c), 0)), 0, pulse);
    }

    /// Puts the characters of `change` in the place of each character.
    pub fn flat_map<I: Iterator<Item = char>>(&mut self, change: impl Fn(char) -> I, pulse: &mut Pulse) {
        let text = self.text.clone();
        let changes = text.chars().flat_map(|c| change(c).enumerate().map(|(at, c)| (c, isize::from(at > 0))));
        self.transform(changes, 0, pulse);
    }

    /// Puts `content` in the place of each of `matches`. It has the origin of the last character that it replaces.
    pub fn replace(&mut self, matches: &[(usize, usize)], content: &str, pulse: &mut Pulse) {
        if matches.is_empty() {
            return;
        }
        self.spare_text.clear();
        self.spare_origins.clear();
        let mut done = 0;
        let nowhere = Origin { start: self.range.start, end: self.range.start };
        for &(start, end) in pulse.each(matches) {
            self.spare_text.push_str(self.text.get(done..start).unwrap_or_default());
            self.spare_text.push_str(content);
            if self.tracks {
                self.spare_origins.extend_from_slice(self.origins.get(done..start).unwrap_or_default());
                let origin = self.origins.get(end.wrapping_sub(1)).copied().unwrap_or(nowhere);
                self.spare_origins.extend(std::iter::repeat_n(origin, content.len()));
            }
            done = end;
        }
        self.spare_text.push_str(self.text.get(done..).unwrap_or_default());
        if self.tracks {
            push_origins(self.origins.get(done..).unwrap_or_default(), &mut self.spare_origins, pulse);
        }
        self.swap();
    }

    /// Puts `content` in front of text that is not empty. It has the origin of the first character.
    pub fn prepend(&mut self, content: &str) {
        let Some(first) = self.text.chars().next() else { return };
        self.text.insert_str(0, content);
        if !self.tracks {
            return;
        }
        if content.is_empty() {
            let nowhere = Origin { start: self.range.start, end: self.range.start };
            self.origins.iter_mut().take(first.len_utf8()).for_each(|origin| *origin = nowhere);
        } else if let Some(&origin) = self.origins.first() {
            self.origins.splice(0..0, std::iter::repeat_n(origin, content.len()));
        }
    }

    fn swap(&mut self) {
        std::mem::swap(&mut self.text, &mut self.spare_text);
        std::mem::swap(&mut self.origins, &mut self.spare_origins);
    }
}

/// The original bytes behind `start..end` of what has these origins.
pub fn joined(origins: &[Origin], start: usize, end: usize) -> Origin {
    let first = origins.get(start).copied().unwrap_or_default();
    let last = end.checked_sub(1).and_then(|last| origins.get(last)).copied().unwrap_or(first);
    Origin { start: first.start, end: last.end }
}

/// Appends the origins of `text` as it stands in the original from `start` on.
pub fn push_characters(text: &str, start: u32, origins: &mut Vec<Origin>, pulse: &mut Pulse) {
    origins.reserve(text.len());
    for (at, character) in pulse.each(text.char_indices()) {
        let (start, size) = (start + at as u32, character.len_utf8());
        origins.extend(std::iter::repeat_n(Origin { start, end: start + size as u32 }, size));
    }
}

/// Appends `origins` of text that stays as it is.
pub fn push_origins(origins: &[Origin], to: &mut Vec<Origin>, pulse: &mut Pulse) {
    to.reserve(origins.len());
    for part in origins.chunks(1 << 14) {
        if pulse.beat(part.len()).is_err() {
            return;
        }
        to.extend_from_slice(part);
    }
}

fn push(text: &mut String, origins: &mut Vec<Origin>, character: char, origin: Origin) {
    text.push(character);
    origins.extend(std::iter::repeat_n(origin, character.len_utf8()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(text: &str) -> Aligned {
        let mut aligned = Aligned::default();
        aligned.start(text, 0, true, &mut Pulse::new(&mut || true));
        aligned
    }

    fn pairs(aligned: &Aligned) -> Vec<(u32, u32)> {
        aligned.origins().iter().map(|origin| (origin.start, origin.end)).collect()
    }

    #[test]
    fn a_removed_character_leaves_a_gap() {
        let mut text = aligned("xaxb");
        text.filter(|c| c != 'x', &mut Pulse::new(&mut || true));
        assert_eq!(text.text(), "ab");
        assert_eq!(pairs(&text), [(1, 2), (3, 4)]);
        assert_eq!(text.origin(0, 2), Origin { start: 1, end: 4 });
    }

    #[test]
    fn what_is_put_in_has_the_origin_of_its_neighbour() {
        let mut text = aligned("éa");
        text.prepend("_");
        assert_eq!(pairs(&text), [(0, 2), (0, 2), (0, 2), (2, 3)]);
        text.replace(&[(1, 3)], "ee", &mut Pulse::new(&mut || true));
        assert_eq!((text.text(), pairs(&text)), ("_eea", vec![(0, 2), (0, 2), (0, 2), (2, 3)]));
    }

    #[test]
    fn untracked_text_changes_alike() {
        for tracks in [false, true] {
            let mut text = Aligned::default();
            let mut go_on = || true;
            let mut pulse = Pulse::new(&mut go_on);
            text.start("İX", 0, tracks, &mut pulse);
            text.flat_map(char::to_lowercase, &mut pulse);
            text.map(|c| if c == 'x' { 'y' } else { c }, &mut pulse);
            text.filter(|c| c != 'i', &mut pulse);
            assert_eq!(text.text(), "\u{307}y");
        }
    }
}
