//! Splitting: text → pieces.
//!
//! `parse` reads a pattern, `classes` and `nfa` turn it into a prioritised automaton over character
//! classes, `determinise` and `minimise` into a machine, `dfa` runs it, `safe` says where a text may
//! be cut. `patterns` holds the published patterns.

mod classes;
mod determinise;
pub mod dfa;
mod minimise;
mod nfa;
mod parse;
pub mod patterns;
mod safe;

pub use dfa::{Cursor, Machine, Span, Unsupported};
