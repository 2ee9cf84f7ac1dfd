//! Hints about memory: what will be read soon, and what is large.
//!
//! Invariant: a hint names memory of a live slice. It neither reads nor writes nor faults, so without it all is the same,
//! but for time.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Asks for the cache line of `slice[index]`; nothing where there is no such element, or no such instruction.
#[inline(always)] // A call costs as much as the hint.
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer comes from a reference, and SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// `value` as often as `length`, in large pages where there are many and the system has such: a table that is read all over
/// then needs few entries in the processor's list of pages.
pub fn filled<T: Clone>(value: T, length: usize) -> Vec<T> {
    let mut list = Vec::with_capacity(length);
    want_large_pages(list.spare_capacity_mut());
    list.resize(length, value);
    list
}

fn want_large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const LARGE: usize = 2 << 20;
        let size = std::mem::size_of_val(memory);
        if size >= LARGE {
            let start = memory.as_mut_ptr().cast::<u8>();
            let into_page = start.addr() % PAGE;
            // SAFETY: the pages hold memory that is lent to this function, and what is in them stays as it is. The start of the
            // first page lies before that memory, but is only passed on. A refusal changes nothing.
            unsafe { libc::madvise(start.wrapping_sub(into_page).cast(), size + into_page, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_list_is_filled() {
        for length in [0, 1, 1 << 10, 3 << 20] {
            let list = filled(7, length);
            assert!(list.len() == length && list.iter().all(|&number| number == 7));
        }
    }
}
