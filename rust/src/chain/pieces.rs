//! The pieces of a text as pre-tokenizers make them: spans of one buffer, each with the original bytes behind it.
//!
//! A step that only cuts makes new spans; a step that changes text writes the buffer anew. Added tokens are pieces that
//! no step touches.

use serde::Deserialize;

use super::aligned::{Aligned, Origin, joined, push_characters, push_origins};
use crate::error::Result;
use crate::pulse::Pulse;

/// One piece: bytes of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub start: usize,
    pub end: usize,
    pub origin: Origin,
    /// The id of an added token, which the model does not see.
    pub added: Option<u32>,
}

#[derive(Debug, Default)]
pub struct Pieces {
    text: String,
    /// One a byte of the text; none where they are not tracked.
    origins: Vec<Origin>,
    tracks: bool,
    pieces: Vec<Piece>,
    work: Work,
}

/// Buffers that steps fill and hand back.
#[derive(Debug, Default)]
struct Work {
    text: String,
    origins: Vec<Origin>,
    pieces: Vec<Piece>,
    aligned: Aligned,
}

/// What becomes of the matches of a pattern that splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Behavior {
    Removed,
    Isolated,
    MergedWithPrevious,
    MergedWithNext,
    Contiguous,
}

impl Pieces {
    /// Starts anew.
    pub fn start(&mut self, tracks: bool) {
        self.text.clear();
        self.origins.clear();
        self.pieces.clear();
        self.tracks = tracks;
    }

    pub fn tracks(&self) -> bool {
        self.tracks
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn text(&self, piece: &Piece) -> &str {
        self.text.get(piece.start..piece.end).unwrap_or_default()
    }

    /// The origins of each byte of a piece, where they are tracked.
    pub fn origins(&self, piece: &Piece) -> &[Origin] {
        self.origins.get(piece.start..piece.end).unwrap_or_default()
    }

    /// Appends an added token, found as `text` in the original from `start` on.
    pub fn push_added(&mut self, id: u32, text: &str, start: u32, pulse: &mut Pulse) {
        let begin = self.text.len();
        self.text.push_str(text);
        if self.tracks {
            push_characters(text, start, &mut self.origins, pulse);
        }
        let origin = Origin { start, end: start + text.len() as u32 };
        self.push_piece(Piece { start: begin, end: begin + text.len(), origin, added: Some(id) });
    }

    /// Appends parts of `text`, which may be added tokens.
    pub fn push_parts(
        &mut self,
        text: &Aligned,
        parts: impl Iterator<Item = (usize, usize, Option<u32>)>,
        pulse: &mut Pulse,
    ) {
        let begin = self.text.len();
        self.text.push_str(text.text());
        push_origins(text.origins(), &mut self.origins, pulse);
        for (start, end, added) in parts.filter(|(start, end, _)| start < end) {
            self.push_piece(Piece { start: begin + start, end: begin + end, origin: text.origin(start, end), added });
        }
    }

    fn push_piece(&mut self, piece: Piece) {
        if piece.start < piece.end {
            self.pieces.push(piece);
        }
    }

    /// Cuts each piece into the spans that `cut` appends for its text.
    pub fn split(
        &mut self,
        pulse: &mut Pulse,
        mut cut: impl FnMut(&str, &mut Vec<(usize, usize)>, &mut Pulse) -> Result<()>,
    ) -> Result<()> {
        let mut spans = Vec::new();
        self.work.pieces.clear();
        for piece in &self.pieces {
            if piece.added.is_some() {
                self.work.pieces.push(*piece);
                continue;
            }
            spans.clear();
            pulse.beat(1)?;
            cut(self.text.get(piece.start..piece.end).unwrap_or_default(), &mut spans, pulse)?;
            for &(start, end) in pulse.each(&spans).filter(|(start, end)| start < end) {
                let (start, end) = (piece.start + start, piece.start + end);
                let origin = if self.tracks { joined(&self.origins, start, end) } else { piece.origin };
                self.work.pieces.push(Piece { start, end, origin, added: None });
            }
        }
        std::mem::swap(&mut self.pieces, &mut self.work.pieces);
        pulse.check()
    }

    /// Changes the text of each piece.
    pub fn change(&mut self, pulse: &mut Pulse, change: impl Fn(&mut Aligned, &mut Pulse)) -> Result<()> {
        let work = &mut self.work;
        work.text.clear();
        work.origins.clear();
        work.pieces.clear();
        for piece in &self.pieces {
            pulse.beat(1)?;
            let start = work.text.len();
            let text = self.text.get(piece.start..piece.end).unwrap_or_default();
            let origins = self.origins.get(piece.start..piece.end).unwrap_or_default();
            if piece.added.is_some() {
                work.text.push_str(text);
                push_origins(origins, &mut work.origins, pulse);
            } else {
                work.aligned.resume(text, origins, piece.origin, self.tracks, pulse);
                change(&mut work.aligned, pulse);
                work.text.push_str(work.aligned.text());
                push_origins(work.aligned.origins(), &mut work.origins, pulse);
            }
            work.pieces.push(Piece { start, end: work.text.len(), ..*piece });
        }
        std::mem::swap(&mut self.text, &mut work.text);
        std::mem::swap(&mut self.origins, &mut work.origins);
        std::mem::swap(&mut self.pieces, &mut work.pieces);
        pulse.check()
    }
}

/// Appends the spans that are left of a text of `size` bytes when it is split at `matches`. With `invert` what lies
/// between the matches counts as match, and they do not.
pub fn split_at(
    size: usize,
    matches: &[(usize, usize)],
    invert: bool,
    behavior: Behavior,
    spans: &mut Vec<(usize, usize)>,
    pulse: &mut Pulse,
) -> Result<()> {
    let mut parts = Vec::with_capacity(matches.len() * 2 + 1);
    let mut done = 0;
    for &(start, end) in pulse.each(matches) {
        if done != start {
            parts.push((done, start, invert));
        }
        parts.push((start, end, !invert));
        done = end;
    }
    if done != size {
        parts.push((done, size, invert));
    }
    pulse.check()?;
    let begin = spans.len();
    let mut after_match = false;
    match behavior {
        Behavior::Removed => {
            spans.extend(pulse.each(parts).filter(|(.., is_match)| !is_match).map(|(start, end, _)| (start, end)));
        }
        Behavior::Isolated => spans.extend(pulse.each(parts).map(|(start, end, _)| (start, end))),
        Behavior::Contiguous | Behavior::MergedWithPrevious => {
            for (start, end, is_match) in pulse.each(parts) {
                let joins = match behavior {
                    Behavior::Contiguous => is_match == after_match,
                    _ => is_match && !after_match,
                };
                match spans.get_mut(begin..).and_then(|spans| spans.last_mut()) {
                    Some(last) if joins => last.1 = end,
                    _ => spans.push((start, end)),
                }
                after_match = is_match;
            }
        }
        Behavior::MergedWithNext => {
            for (start, end, is_match) in pulse.each(parts.into_iter().rev()) {
                match spans.get_mut(begin..).and_then(|spans| spans.last_mut()) {
                    Some(last) if is_match && !after_match => last.0 = start,
                    _ => spans.push((start, end)),
                }
                after_match = is_match;
            }
            if let Some(spans) = spans.get_mut(begin..) {
                spans.reverse();
            }
        }
    }
    pulse.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, behavior: Behavior, invert: bool) -> Vec<&str> {
        let matches: Vec<_> = text.match_indices('-').map(|(at, found)| (at, at + found.len())).collect();
        let mut spans = Vec::new();
        split_at(text.len(), &matches, invert, behavior, &mut spans, &mut Pulse::new(&mut || true))
            .expect("nobody stops it");
        spans.into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn each_behavior_keeps_its_part_of_the_matches() {
        let text = "the-final--countdown";
        assert_eq!(split(text, Behavior::Removed, false), ["the", "final", "countdown"]);
        assert_eq!(split(text, Behavior::Removed, true), ["-", "-", "-"]);
        assert_eq!(split(text, Behavior::Isolated, false), ["the", "-", "final", "-", "-", "countdown"]);
        assert_eq!(split(text, Behavior::MergedWithPrevious, false), ["the-", "final-", "-", "countdown"]);
        assert_eq!(split(text, Behavior::MergedWithNext, false), ["the", "-final", "-", "-countdown"]);
        assert_eq!(split(text, Behavior::Contiguous, false), ["the", "-", "final", "--", "countdown"]);
    }

    #[test]
    fn added_tokens_are_left_alone() {
        let mut pieces = Pieces::default();
        let mut go_on = || true;
        let mut pulse = Pulse::new(&mut go_on);
        pieces.start(true);
        let mut text = Aligned::default();
        text.start("ab", 0, true, &mut pulse);
        pieces.push_parts(&text, [(0, 2, None)].into_iter(), &mut pulse);
        pieces.push_added(7, "<x>", 2, &mut pulse);
        pieces.change(&mut pulse, |text, _| text.prepend("_")).expect("nobody stops it");
        pieces
            .split(&mut pulse, |text, spans, _| {
                spans.extend(text.char_indices().map(|(at, c)| (at, at + c.len_utf8())));
                Ok(())
            })
            .expect("the cut does not fail");
        let found: Vec<_> = pieces.pieces().iter().map(|p| (pieces.text(p), p.origin.start, p.origin.end)).collect();
        assert_eq!(found, [("_", 0, 1), ("a", 0, 1), ("b", 1, 2), ("<x>", 2, 5)]);
    }
}
