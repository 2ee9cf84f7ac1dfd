//! Worker threads that stay between calls, and numbered work that they share with the thread that calls.
//!
//! Whoever calls works too, so one thread needs no worker, and a busy or missing worker costs time but never an answer.
//! Work is taken in order by one counter. A process that was forked has none of its parent's threads and cannot trust its
//! locks: a pool knows the process it belongs to and is made anew in another.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::Builder;
use std::time::Duration;

use crate::error::{Error, Result};

/// How long to wait for workers before asking whether to go on.
const PATIENCE: Duration = Duration::from_millis(20);

type Job = Box<dyn FnOnce() + Send>;

/// The item that failed and how, or a panic.
type Done = std::thread::Result<Option<(usize, Error)>>;

/// Ends its threads when it is dropped.
#[derive(Debug)]
pub struct Pool {
    process: u32,
    num_workers: Mutex<usize>,
    jobs: Arc<Jobs>,
}

#[derive(Default)]
struct Jobs {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

/// What all threads of one call share.
struct Task<W> {
    next: AtomicUsize,
    /// Where to stop: the number of items, less once one failed, 0 once the call is given up.
    end: AtomicUsize,
    count: usize,
    /// Items taken at a time.
    step: usize,
    work: W,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Jobs")
    }
}

/// The pool of this process. Where another thread is just asking for it, a pool for one call.
///
/// A fork copies the lock as it stands, so whoever may be forked asks where no fork can happen: holding the interpreter
/// lock.
pub fn pool() -> Arc<Pool> {
    static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);
    let mut pool = match POOL.try_lock() {
        Ok(pool) => pool,
        Err(TryLockError::Poisoned(pool)) => pool.into_inner(),
        Err(TryLockError::WouldBlock) => return Arc::new(Pool::new()),
    };
    match &*pool {
        Some(pool) if pool.process == std::process::id() => Arc::clone(pool),
        _ => {
            let new = Arc::new(Pool::new());
            // The parent's pool is left as it is: to drop it is to take its locks.
            std::mem::forget(pool.replace(Arc::clone(&new)));
            new
        }
    }
}

impl Pool {
    fn new() -> Self {
        Self { process: std::process::id(), num_workers: Mutex::new(0), jobs: Arc::default() }
    }

    /// Calls `work` with every number below `count` and a state: on this thread with the first state, on a worker with each
    /// other. The states come back, and of the items that failed the first, whatever the number of threads.
    ///
    /// `work` is handed a function to ask whether to go on, as `go_on` says on this thread; when it says no, the error is
    /// `Error::Interrupted`. A panic in `work` goes on here.
    pub fn share<S, W>(
        &self,
        mut states: Vec<S>,
        count: usize,
        work: W,
        go_on: &mut dyn FnMut() -> bool,
    ) -> (Vec<S>, Option<(usize, Error)>)
    where
        S: Send + 'static,
        W: Fn(usize, &mut S, &mut dyn FnMut() -> bool) -> Result<()> + Send + Sync + 'static,
    {
        // Small enough steps that the last ones end together, large enough that the counter stays with one processor.
        let step = (count / (states.len().max(1) * 16)).clamp(1, 32);
        let task = Arc::new(Task { next: AtomicUsize::new(0), end: AtomicUsize::new(count), count, step, work });
        let others = states.split_off(states.len().min(1));
        let (sender, receiver) = channel();
        let mut places = Vec::with_capacity(others.len());
        self.ensure(others.len());
        for state in others {
            let place = Arc::new(Mutex::new(Some((state, Arc::clone(&task)))));
            places.push(Arc::clone(&place));
            let sender = sender.clone();
            self.jobs.push(Box::new(move || {
                let Some((mut state, task)) = lock(&place).take() else { return };
                let done = task.run_to_end(&mut state, &mut || true);
                // What the work holds is dropped by the caller.
                drop(task);
                _ = sender.send((state, done));
            }));
        }
        let mut done = states.first_mut().map_or(Ok(None), |state| task.run_to_end(state, go_on));
        let is_forked = || std::process::id() != self.process;
        // What no worker has begun is not waited for.
        let mut num_begun = 0;
        for place in places {
            if is_forked() {
                num_begun = 1;
                break;
            }
            match lock(&place).take() {
                Some((state, _)) => states.push(state),
                None => num_begun += 1,
            }
        }
        while num_begun > 0 {
            if is_forked() {
                // A signal handler forked, and the workers are with the parent. So are the owners of the channel's locks.
                std::mem::forget((sender, receiver));
                return (states, Some((0, Error::Interrupted)));
            }
            match receiver.recv_timeout(PATIENCE) {
                Ok((state, other)) => {
                    num_begun -= 1;
                    states.push(state);
                    done = first(done, other);
                }
                Err(_) if !go_on() => task.end.store(0, Ordering::Relaxed),
                Err(_) => {}
            }
        }
        let failed = done.unwrap_or_else(|panic| resume_unwind(panic));
        let is_whole = task.end.load(Ordering::Relaxed) == count;
        (states, failed.or(if is_whole { None } else { Some((0, Error::Interrupted)) }))
    }

    /// Starts threads until there are `count`, or until the system starts no more.
    fn ensure(&self, count: usize) {
        let mut num_workers = lock(&self.num_workers);
        while *num_workers < count {
            let jobs = Arc::clone(&self.jobs);
            let work = move || {
                while let Some(job) = jobs.next() {
                    job()
                }
            };
            if Builder::new().name("merganser".into()).spawn(work).is_err() {
                return;
            }
            *num_workers += 1;
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.jobs.waiting).is_closed = true;
        self.jobs.wake.notify_all();
    }
}

impl Jobs {
    fn push(&self, job: Job) {
        lock(&self.waiting).jobs.push_back(job);
        self.wake.notify_one();
    }

    /// The next job, once there is one; None once the pool is gone.
    fn next(&self) -> Option<Job> {
        let mut waiting = lock(&self.waiting);
        loop {
            match waiting.jobs.pop_front() {
                Some(job) => return Some(job),
                None if waiting.is_closed => return None,
                None => waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl<W> Task<W> {
    /// Takes items until none is left; the one that failed. Items in front of it go on, so that the first to fail is found.
    fn run<S>(&self, state: &mut S, go_on: &mut dyn FnMut() -> bool) -> Option<(usize, Error)>
    where
        W: Fn(usize, &mut S, &mut dyn FnMut() -> bool) -> Result<()>,
    {
        loop {
            let from = self.next.fetch_add(self.step, Ordering::Relaxed);
            for at in from..(from + self.step).min(self.count) {
                let mut may_go_on = || {
                    if !go_on() {
                        self.end.store(0, Ordering::Relaxed);
                    }
                    at < self.end.load(Ordering::Relaxed)
                };
                if !may_go_on() {
                    return None;
                }
                if let Err(error) = (self.work)(at, state, &mut may_go_on) {
                    self.end.fetch_min(at, Ordering::Relaxed);
                    return Some((at, error));
                }
            }
            if from >= self.count {
                return None;
            }
        }
    }

    /// `run`; a panic in it ends the work of the other threads too.
    fn run_to_end<S>(&self, state: &mut S, go_on: &mut dyn FnMut() -> bool) -> Done
    where
        W: Fn(usize, &mut S, &mut dyn FnMut() -> bool) -> Result<()>,
    {
        let done = catch_unwind(AssertUnwindSafe(|| self.run(state, go_on)));
        if done.is_err() {
            self.end.store(0, Ordering::Relaxed);
        }
        done
    }
}

/// A panic before an error, an error of the text before an interruption, an earlier item before a later one.
fn first(one: Done, other: Done) -> Done {
    match (one?, other?) {
        (Some(one), Some(other)) => {
            let rank = |(at, error): &(usize, Error)| (*error == Error::Interrupted, *at);
            Ok(Some(if rank(&one) <= rank(&other) { one } else { other }))
        }
        (one, other) => Ok(one.or(other)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(at: usize) -> Error {
        Error::Training(at.to_string())
    }

    #[test]
    fn every_item_is_worked_on_once_whatever_the_number_of_threads() {
        for num_threads in [1, 2, 3, 50] {
            for count in [0, 1, 2, 31, 1000] {
                let states = vec![Vec::new(); num_threads];
                let work = |at, seen: &mut Vec<usize>, _: &mut dyn FnMut() -> bool| {
                    seen.push(at);
                    Ok(())
                };
                let (states, failed) = pool().share(states, count, work, &mut || true);
                assert_eq!((states.len(), failed), (num_threads, None));
                assert!(states.iter().all(|seen| seen.is_sorted()));
                let mut seen = states.concat();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn of_the_items_that_fail_the_first_is_named() {
        for _ in 0..200 {
            let work = |at, _: &mut (), _: &mut dyn FnMut() -> bool| {
                if at % 7 == 5 || at > 90 { Err(fault(at)) } else { Ok(()) }
            };
            let (_, failed) = pool().share(vec![(); 4], 100, work, &mut || true);
            assert_eq!(failed, Some((5, fault(5))));
        }
    }

    #[test]
    fn an_item_is_told_when_the_caller_gives_up() {
        for num_threads in [1, 4] {
            let work = |_, _: &mut (), go_on: &mut dyn FnMut() -> bool| {
                while go_on() {
                    std::hint::spin_loop();
                }
                Err(Error::Interrupted)
            };
            let mut left = 1000;
            let mut go_on = || {
                left -= 1;
                left > 0
            };
            let (states, failed) = pool().share(vec![(); num_threads], 8, work, &mut go_on);
            assert_eq!(states.len(), num_threads);
            assert!(matches!(failed, Some((_, Error::Interrupted))));
        }
    }

    #[test]
    fn a_panic_comes_to_the_caller_and_leaves_the_pool_of_use() {
        for _ in 0..20 {
            let work = |at, _: &mut (), _: &mut dyn FnMut() -> bool| if at == 40 { panic!("forty") } else { Ok(()) };
            let caught = catch_unwind(AssertUnwindSafe(|| pool().share(vec![(); 3], 100, work, &mut || true)));
            assert_eq!(caught.expect_err("a panic").downcast_ref(), Some(&"forty"));
        }
        assert_eq!(pool().share(vec![(); 3], 9, |_, _, _| Ok(()), &mut || true).1, None);
    }

    #[test]
    fn a_call_does_not_wait_for_workers_that_are_busy_with_another() {
        let (pool, busy) = (Arc::new(Pool::new()), Arc::new(AtomicUsize::new(0)));
        let (other, begun) = (Arc::clone(&pool), Arc::clone(&busy));
        let long = std::thread::spawn(move || {
            let work = move |_, _: &mut (), _: &mut dyn FnMut() -> bool| {
                begun.fetch_add(1, Ordering::SeqCst);
                while begun.load(Ordering::SeqCst) < 3 {
                    std::thread::yield_now();
                }
                Ok(())
            };
            other.share(vec![(); 2], 2, work, &mut || true).1
        });
        while busy.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        let (states, failed) = pool.share(
            vec![0; 2],
            100,
            |_, sum, _| {
                *sum += 1;
                Ok(())
            },
            &mut || true,
        );
        assert_eq!((states.iter().sum::<i32>(), failed), (100, None));
        busy.fetch_add(1, Ordering::SeqCst);
        assert_eq!(long.join().expect("no panic"), None);
    }
}
