//! Long work asks now and then whether to go on.

use crate::error::{Error, Result};

/// The work between two questions, about that of as many bytes of text: under a millisecond of it, seldom ten.
const WORK: usize = 1 << 16;

pub struct Pulse<'g> {
    go_on: &'g mut dyn FnMut() -> bool,
    left: usize,
}

impl<'g> Pulse<'g> {
    pub fn new(go_on: &'g mut dyn FnMut() -> bool) -> Self {
        Self { go_on, left: WORK }
    }

    /// Counts work, in bytes of text or what takes as long; `Error::Interrupted` where there is no going on.
    #[inline]
    pub fn beat(&mut self, work: usize) -> Result<()> {
        if work <= self.left {
            self.left -= work;
            return Ok(());
        }
        self.ask()
    }

    #[cold]
    fn ask(&mut self) -> Result<()> {
        self.left = WORK;
        if (self.go_on)() { Ok(()) } else { Err(Error::Interrupted) }
    }
}
