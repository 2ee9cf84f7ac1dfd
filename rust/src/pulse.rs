//! Long work asks now and then whether to go on.

use crate::error::{Error, Result};

/// The work between two questions, about that of as many bytes of text: under a millisecond of it, seldom ten.
const WORK: usize = 1 << 16;

pub struct Pulse<'g> {
    go_on: &'g mut dyn FnMut() -> bool,
    left: usize,
    is_stopped: bool,
}

impl<'g> Pulse<'g> {
    pub fn new(go_on: &'g mut dyn FnMut() -> bool) -> Self {
        Self { go_on, left: WORK, is_stopped: false }
    }

    /// Counts work, in bytes of text or what takes as long; `Error::Interrupted` from where on there is no going on.
    #[inline]
    pub fn beat(&mut self, work: usize) -> Result<()> {
        if work <= self.left {
            self.left -= work;
            return Ok(());
        }
        self.ask()
    }

    /// The items as long as there is going on, each as a byte of work. `check` says afterwards whether these are all.
    pub fn each<I: IntoIterator>(&mut self, items: I) -> impl Iterator<Item = I::Item> {
        items.into_iter().map_while(|item| self.beat(1).ok().map(|()| item))
    }

    /// `Error::Interrupted` where there was no going on.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped { Err(Error::Interrupted) } else { Ok(()) }
    }

    #[cold]
    fn ask(&mut self) -> Result<()> {
        self.is_stopped = self.is_stopped || !(self.go_on)();
        self.left = if self.is_stopped { 0 } else { WORK };
        self.check()
    }
}
