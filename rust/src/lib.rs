//! The engine of merganser: text in, ids out. No files, no network.

pub mod bpe;
pub mod count;
pub mod error;
pub mod split;
