//! Words → word counts, and where a text may be cut for that.

use super::bert::Bert;
use super::scan::{Words, for_each_batch};
use crate::count::{PieceCounts, Position};
use crate::error::{Error, Result};
use crate::special::Matcher;

/// The words of some texts and how often each occurs.
#[derive(Default)]
pub struct WordCounts {
    counts: PieceCounts,
    words: Words,
}

impl WordCounts {
    /// Adds the words of `text`; special tokens cut it and are not counted. `go_on` is asked every thousand words; when
    /// it says no, `Error::Interrupted`.
    pub fn add(&mut self, text: &str, bert: Bert, special: &Matcher, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
        let Self { counts, words } = self;
        let mut count = |text: &str| {
            for_each_batch(text, bert.actions(), words, &mut |buffer, places| {
                if !go_on() {
                    return Err(Error::Interrupted);
                }
                places.iter().try_for_each(|(start, end)| {
                    counts.add(buffer.get(start..end).unwrap_or_default(), 1, Position::default())
                })
            })
        };
        let mut end = 0;
        for found in special.find(text) {
            count(text.get(end..found.start).unwrap_or_default())?;
            end = found.end;
        }
        count(text.get(end..).unwrap_or_default())
    }

    pub fn into_counts(self) -> PieceCounts {
        self.counts
    }
}

/// `text` in parts of about `size` bytes whose words are together those of the whole: cut before white space, where no
/// token of `added` reaches across. One part where tokens depend on what stands beside them.
pub fn safe_parts<'t>(text: &'t str, added: &Matcher, size: usize) -> Vec<(usize, &'t str)> {
    let mut parts = Vec::new();
    let (mut start, mut from) = (0, size);
    if added.longest().is_some() {
        let mut found = added.find(text).peekable();
        let is_space = |&byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
        while let Some(space) = text.as_bytes().get(from..).and_then(|rest| rest.iter().position(is_space)) {
            let cut = from + space;
            while found.next_if(|found| found.end <= cut).is_some() {}
            match found.peek() {
                Some(found) if found.start < cut => from = found.end,
                _ => {
                    parts.push((start, text.get(start..cut).unwrap_or_default()));
                    (start, from) = (cut, cut + size);
                }
            }
        }
    }
    parts.push((start, text.get(start..).unwrap_or_default()));
    parts
}
