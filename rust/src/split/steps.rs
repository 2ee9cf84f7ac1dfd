//! Splits one after another where there is no machine for all: each of every piece of the one before.
//!
//! Most pieces are a few bytes, so a step takes little room on the stack and none on the heap.

use super::{BATCH, Cursor, Engine, Span, Splitter, Unmatched, unmatched};
use crate::error::{Error, Result};

/// Matches asked for at a time: of most pieces the next step makes one.
const FEW: usize = 8;

/// Calls `batch` with the pieces that the last of `steps` makes of `text`, in order, up to a few hundred at a time.
pub(super) fn for_each_batch(
    steps: &[Splitter],
    text: &str,
    batch: &mut dyn FnMut(&[Span]) -> Result<()>,
) -> Result<()> {
    let mut pieces = [Span::default(); BATCH];
    let mut count = 0;
    through(steps, text, 0, &mut |piece| {
        pieces[count] = piece;
        count += 1;
        if count < BATCH {
            return Ok(());
        }
        count = 0;
        batch(&pieces)
    })?;
    batch(&pieces[..count])
}

/// `text` begins at the byte `offset` of the text that pieces are counted in.
fn through(steps: &[Splitter], text: &str, offset: usize, piece: &mut dyn FnMut(Span) -> Result<()>) -> Result<()> {
    let Some((first, rest)) = steps.split_first() else {
        return piece(Span { start: offset, end: offset + text.len() });
    };
    first.for_each(text, &mut |span| {
        let inner = text.get(span.start..span.end).unwrap_or_default();
        through(rest, inner, offset + span.start, piece).map_err(|error| moved(error, span.start))
    })
}

/// An error about a piece as one about the text that the piece begins in at the byte `by`.
fn moved(error: Error, by: usize) -> Error {
    match error {
        Error::Unmatched { offset, found } => Error::Unmatched { offset: offset + by, found },
        Error::PatternLimit { offset, reason } => Error::PatternLimit { offset: offset + by, reason },
        error => error,
    }
}

impl Splitter {
    /// Calls `piece` with the pieces of `text`, in order.
    fn for_each(&self, text: &str, piece: &mut dyn FnMut(Span) -> Result<()>) -> Result<()> {
        let mut end = 0;
        let mut up_to = |start: usize, found: Option<Span>| {
            let gap = Span { start: std::mem::replace(&mut end, found.map_or(start, |found| found.end)), end: start };
            if gap.start < gap.end {
                match self.unmatched {
                    Unmatched::Keep => piece(gap)?,
                    Unmatched::Drop => {}
                    Unmatched::Error => return Err(unmatched(text, gap)),
                }
            }
            found.map_or(Ok(()), &mut *piece)
        };
        match &self.engine {
            Engine::Machine(machine) => {
                let (mut cursor, mut spans) = (Cursor::default(), [Span::default(); FEW]);
                while !cursor.is_done() {
                    let count = machine.fill(text, &mut cursor, &mut spans);
                    spans.iter().take(count).try_for_each(|span| up_to(span.start, Some(*span)))?;
                }
            }
            Engine::Regex(regex, _) => regex.for_each(text, |start, end| up_to(start, Some(Span { start, end })))?,
            Engine::Steps(steps, _) => through(steps, text, 0, &mut |span| up_to(span.start, Some(span)))?,
        }
        up_to(text.len(), None)
    }
}
