//! The engine of merganser: text in, ids out. No files, no network.
//!
//! ```text
//! encode:   text ─▶ runs and added tokens ─▶ normalized ─▶ pieces ─▶ ids
//!                         special/           normalize.rs   split/    bpe/encode.rs
//!                   └────────────── pieces.rs ───────────────────┘
//! decode:   ids ─▶ bytes                        decode.rs
//! chain:    a tokenizer.json as it is written    chain/, models/, wordpiece/
//! train:    pieces ─▶ piece counts ─▶ merges    count.rs, bpe/train.rs, wordpiece/train.rs
//! ```

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bpe;
pub mod count;
pub mod error;
pub mod idle;
mod memory;
mod packed;
pub mod pool;
pub mod pulse;
pub mod split;

// What meets foreign ids, offsets and bytes must not be able to index out of bounds.
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod chain;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod decode;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod models;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod normalize;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod pieces;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod special;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod tokenizer;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod unicode;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod utf8;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod vocabulary;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod wordpiece;

#[cfg(feature = "python")]
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod python;
