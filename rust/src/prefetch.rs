//! A hint to the processor that memory will be read soon.
//!
//! Invariant: the address is that of an element of a live slice, and a prefetch neither reads nor writes nor faults.

#![allow(unsafe_code)]

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
