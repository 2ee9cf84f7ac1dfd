//! Splitting with a backtracking regex engine: any pattern, at the engine's speed, up to its work limit.
//!
//! A match that the engine gives up on (a megabyte of spaces under `\s+(?!\S)`) is an error that names the place.

use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

#[derive(Debug, Clone)]
pub struct RegexSplitter {
    regex: Regex,
}

impl RegexSplitter {
    pub fn new(pattern: &str) -> Result<Self> {
        let regex = RegexBuilder::new(pattern)
            .build()
            .map_err(|error| Error::PatternSyntax { pattern: pattern.into(), reason: error.to_string() })?;
        Ok(Self { regex })
    }

    /// Calls `piece(start, end)` for each match in order. A match of nothing is no piece.
    pub fn for_each(&self, text: &str, mut piece: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while at < text.len() {
            let found = self
                .regex
                .find_from_pos(text, at)
                .map_err(|error| Error::PatternLimit { offset: at, reason: error.to_string() })?;
            let Some(found) = found else { break };
            if found.start() < found.end() {
                piece(found.start(), found.end())?;
                at = found.end();
            } else {
                at = found.end()
                    + text.get(found.end()..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            }
        }
        Ok(())
    }
}
