//! WordPiece: text → words → the longest tokens that they begin with, again and again.
//!
//! ```text
//! encode:   text ─▶ added tokens cut out ─▶ words, normalized ─▶ ids
//!                        special/           bert.rs, scan.rs    encode.rs, matching.rs
//! train:    words ─▶ word counts ─▶ tokens
//!            scan.rs    count.rs    train.rs, likelihood.rs
//! ```

pub mod bert;
mod block;
pub mod count;
pub mod encode;
mod likelihood;
pub mod matching;
pub mod scan;
pub mod train;
