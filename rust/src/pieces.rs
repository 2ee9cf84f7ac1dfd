//! The front half of encoding, once for every model: cut out added tokens → normalize → split into pieces.
//!
//! The order is Hugging Face's: tokens that match in the original text are cut out first, then the rest is normalized,
//! then the tokens that match in normalized text are cut out. Without normalizers that is tiktoken's order too.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::normalize::{Alignment, Normalizer};
use crate::special::{AddedToken, Matcher};
use crate::split::{Span, Splitter};

/// One step of the split, applied to every piece of the step before it.
#[derive(Debug, Clone)]
pub enum Step {
    Split(Splitter),
    /// A space in front of text that does not begin with one. Only as the first step.
    PrefixSpace,
}

/// The added tokens to look for: those that match in the original text, and those that match in the normalized.
#[derive(Debug, Clone)]
pub struct Added {
    original: Matcher,
    normalized: Matcher,
}

impl Added {
    pub fn is_empty(&self) -> bool {
        self.original.is_empty() && self.normalized.is_empty()
    }
}

#[derive(Debug, Clone)]
pub struct Pipeline {
    normalizers: Vec<Normalizer>,
    prefix_space: bool,
    /// None leaves text in one piece.
    splitter: Option<Splitter>,
}

/// What the pipeline finds, in the order of the text.
#[derive(Debug, Clone, Copy)]
pub enum Part<'t> {
    Added {
        id: u32,
        start: usize,
        end: usize,
    },
    /// Some pieces, as the bytes of `run.text()` they are.
    Pieces {
        run: &'t Run<'t>,
        pieces: &'t [Span],
    },
}

/// What the pipeline cuts a text into before it splits.
#[derive(Debug)]
pub enum Cut<'t> {
    Added { id: u32, start: usize, end: usize },
    Run(Run<'t>),
}

impl Part<'_> {
    /// The bytes it covers.
    pub fn length(&self) -> usize {
        match self {
            Self::Added { start, end, .. } => end - start,
            Self::Pieces { pieces, .. } => match (pieces.first(), pieces.last()) {
                (Some(first), Some(last)) => last.end - first.start,
                _ => 0,
            },
        }
    }
}

/// A stretch of text between two added tokens, after normalization.
#[derive(Debug)]
pub struct Run<'t> {
    original: &'t str,
    original_start: usize,
    text: Cow<'t, str>,
    /// Where the normalized text begins in `text`: 1 after a prefix space.
    added_prefix: usize,
}

impl Run<'_> {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A map from bytes of this run to bytes of the original text. Costs a pass over the run where that was changed.
    pub fn origin(&self, pipeline: &Pipeline) -> Origin {
        let alignments = match self.text {
            Cow::Borrowed(_) => Vec::new(),
            Cow::Owned(_) => pipeline.alignments(self.original),
        };
        Origin { start: self.original_start, added_prefix: self.added_prefix, length: self.original.len(), alignments }
    }

    /// Where the run's byte `at` stands in the original text; near it where normalization changed the run.
    pub fn offset(&self, at: usize) -> u64 {
        (self.original_start + at) as u64
    }

    pub fn is_whole_original(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }
}

/// Where the bytes of a run stand in the original text.
#[derive(Debug)]
pub struct Origin {
    start: usize,
    added_prefix: usize,
    length: usize,
    alignments: Vec<Alignment>,
}

impl Origin {
    /// The original bytes behind the run's bytes `start..end`.
    pub fn range(&self, start: usize, end: usize) -> (usize, usize) {
        let clip = |at: usize| at.saturating_sub(self.added_prefix);
        let (mut from, mut to) = (clip(start), clip(end));
        if from < to {
            for alignment in self.alignments.iter().rev() {
                (from, to) = alignment.original(from, to);
            }
        } else if !self.alignments.is_empty() {
            (from, to) = (0, 0);
        }
        (self.start + from.min(self.length), self.start + to.min(self.length))
    }
}

impl Pipeline {
    pub fn new(normalizers: Vec<Normalizer>, steps: Vec<Step>) -> Result<Self> {
        let mut prefix_space = false;
        let mut splitters = Vec::new();
        for (place, step) in steps.into_iter().enumerate() {
            match step {
                Step::PrefixSpace if place == 0 => prefix_space = true,
                Step::PrefixSpace => {
                    return Err(Error::Spec(format!("split {place}: expected a prefix space only as the first step")));
                }
                Step::Split(splitter) => splitters.push(splitter),
            }
        }
        let splitter = if splitters.len() > 1 { Some(Splitter::sequence(splitters)) } else { splitters.pop() };
        Ok(Self { normalizers, prefix_space, splitter })
    }

    /// How each step of the split is run.
    pub fn certificate(&self) -> Vec<String> {
        self.splitter.as_ref().map(Splitter::certificate).unwrap_or_default()
    }

    /// Whether threads and streams can cut a text without changing its ids.
    pub fn can_cut(&self) -> bool {
        let is_plain = self.normalizers.is_empty() && !self.prefix_space;
        is_plain && self.splitter.as_ref().is_some_and(Splitter::can_cut)
    }

    /// Prepares `tokens` to be looked for.
    pub fn added(&self, tokens: &[AddedToken]) -> Result<Added> {
        let (mut normalized, original): (Vec<_>, Vec<_>) = tokens.iter().cloned().partition(|token| token.normalized);
        for token in &mut normalized {
            token.content = self.normalize(&token.content).into_owned();
        }
        Ok(Added { original: Matcher::new(&original)?, normalized: Matcher::new(&normalized)? })
    }

    /// `text` in parts of about `size` bytes, with where they begin: their pieces and added tokens are those of the whole.
    /// One part where no places to cut are known.
    pub fn safe_parts<'t>(&self, text: &'t str, added: &Added, size: usize) -> Vec<(usize, &'t str)> {
        let mut cuts = vec![0];
        if let Some(splitter) = self.cuttable(added).filter(|_| text.len() > size && added.original.longest().is_some())
        {
            let mut found = added.original.find(text).peekable();
            let mut from = size;
            while let Some(cut) = splitter.next_safe_cut(text, from) {
                while found.next_if(|found| found.end <= cut).is_some() {}
                match found.peek() {
                    Some(found) if found.start < cut => from = found.end,
                    _ => {
                        cuts.push(cut);
                        from = cut + size;
                    }
                }
            }
        }
        let ends = cuts.iter().skip(1).copied().chain([text.len()]);
        cuts.iter().zip(ends).map(|(&start, end)| (start, text.get(start..end).unwrap_or_default())).collect()
    }

    /// The splitter, where it alone decides what a cut changes.
    fn cuttable(&self, added: &Added) -> Option<&Splitter> {
        let is_plain = self.normalizers.is_empty() && !self.prefix_space && added.normalized.is_empty();
        self.splitter.as_ref().filter(|_| is_plain)
    }

    /// The last place where `text` may be cut: the pieces and added tokens of both parts are those of the whole, whatever
    /// text follows. None where no such place is known.
    pub fn last_safe_cut(&self, text: &str, added: &Added) -> Option<usize> {
        let splitter = self.cuttable(added)?;
        // A token that begins before the cut must end within `text`, and then must not reach across it.
        let mut limit = text.len().checked_sub(added.original.longest()?)?;
        loop {
            let cut = splitter.last_safe_cut(text, limit)?;
            match added.original.find(text).find(|found| found.start < cut && cut < found.end) {
                None => return Some(cut),
                Some(found) => limit = found.start + 1,
            }
        }
    }

    /// Calls `sink` for every added token and every piece of `text`, in order.
    pub fn for_each(&self, text: &str, added: &Added, sink: &mut impl FnMut(Part<'_>) -> Result<()>) -> Result<()> {
        self.for_each_run(text, added, &mut |cut| match cut {
            Cut::Added { id, start, end } => sink(Part::Added { id, start, end }),
            Cut::Run(run) => self.split(run, &mut |run, pieces| sink(Part::Pieces { run, pieces })),
        })
    }

    /// Calls `sink` for every added token and every run between them, in order.
    pub fn for_each_run(&self, text: &str, added: &Added, sink: &mut impl FnMut(Cut<'_>) -> Result<()>) -> Result<()> {
        let mut end = 0;
        for found in added.original.find(text) {
            self.gap(text, end, found.start, added, sink)?;
            sink(Cut::Added { id: found.id, start: found.start, end: found.end })?;
            end = found.end;
        }
        self.gap(text, end, text.len(), added, sink)
    }

    /// Text between tokens that match in the original: normalize it, cut out those that match in the normalized.
    fn gap(
        &self,
        text: &str,
        start: usize,
        end: usize,
        added: &Added,
        sink: &mut impl FnMut(Cut<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(original) = text.get(start..end).filter(|gap| !gap.is_empty()) else { return Ok(()) };
        let whole = Run { original, original_start: start, text: self.normalize(original), added_prefix: 0 };
        if added.normalized.is_empty() {
            return sink(Cut::Run(whole));
        }
        let mut origin = None;
        let mut done = 0;
        for found in added.normalized.find(&whole.text) {
            let origin = origin.get_or_insert_with(|| whole.origin(self));
            self.part_of(&whole, origin, done, found.start, sink)?;
            let (start, end) = origin.range(found.start, found.end);
            sink(Cut::Added { id: found.id, start, end })?;
            done = found.end;
        }
        match origin {
            None => sink(Cut::Run(whole)),
            Some(origin) => self.part_of(&whole, &origin, done, whole.text.len(), sink),
        }
    }

    fn part_of(
        &self,
        whole: &Run<'_>,
        origin: &Origin,
        start: usize,
        end: usize,
        sink: &mut impl FnMut(Cut<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(text) = whole.text.get(start..end).filter(|part| !part.is_empty()) else { return Ok(()) };
        let (from, to) = origin.range(start, end);
        let (offset, last) = (from - whole.original_start, to - whole.original_start);
        let original = whole.original.get(offset..last).unwrap_or_default();
        let text = if whole.is_whole_original() { Cow::Borrowed(text) } else { Cow::Owned(text.to_owned()) };
        sink(Cut::Run(Run { original, original_start: from, text, added_prefix: 0 }))
    }

    /// Calls `sink` with the pieces of a run, some at a time.
    pub fn split(&self, mut run: Run<'_>, sink: &mut impl FnMut(&Run<'_>, &[Span]) -> Result<()>) -> Result<()> {
        if self.prefix_space && !run.text.starts_with(' ') {
            run.text = Cow::Owned(format!(" {}", run.text));
            run.added_prefix = 1;
        }
        let run = &run;
        let mut sink = |pieces: &[Span]| sink(run, pieces);
        let done = match &self.splitter {
            Some(splitter) => splitter.for_each_batch(&run.text, &mut sink),
            None if run.text.is_empty() => Ok(()),
            None => sink(&[Span { start: 0, end: run.text.len() }]),
        };
        done.map_err(|error| error.with_offset(|at| run.origin(self).range(at, at + 1).0))
    }

    fn normalize<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut result = Cow::Borrowed(text);
        for normalizer in &self.normalizers {
            if let Cow::Owned(changed) = normalizer.apply(&result) {
                result = Cow::Owned(changed);
            }
        }
        result
    }

    fn alignments(&self, original: &str) -> Vec<Alignment> {
        let mut text = Cow::Borrowed(original);
        let mut alignments = Vec::with_capacity(self.normalizers.len());
        for &normalizer in &self.normalizers {
            alignments.push(Alignment::new(normalizer, &text));
            text = Cow::Owned(normalizer.apply(&text).into_owned());
        }
        alignments
    }
}
