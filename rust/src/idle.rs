//! What calls lend from a tokenizer and give back: buffers, and the words met before.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Those that no call uses: as many as there were calls at one time.
///
/// A fork copies the lock as it stands. So whoever may be forked lends and gives back where no fork can happen, holding the
/// interpreter lock; and where the lock is never given back all the same, there is a new one to lend.
#[derive(Debug)]
pub struct Idle<S>(Mutex<Vec<S>>);

impl<S> Default for Idle<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Default> Idle<S> {
    /// One that is idle, or a new one.
    pub fn lend(&self) -> S {
        self.get().and_then(|mut idle| idle.pop()).unwrap_or_default()
    }

    /// Keeps it for the next call.
    pub fn give_back(&self, state: S) {
        if let Some(mut idle) = self.get() {
            idle.push(state);
        }
    }

    fn get(&self) -> Option<MutexGuard<'_, Vec<S>>> {
        // It is held for a few instructions only.
        for _ in 0..1000 {
            match self.0.try_lock() {
                Ok(idle) => return Some(idle),
                Err(TryLockError::Poisoned(idle)) => return Some(idle.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }
}
