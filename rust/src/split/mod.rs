//! Splitting: text → pieces.

pub mod dfa;
