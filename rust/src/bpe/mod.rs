//! Byte pair encoding: how it is learned (`train`) and how it is applied (`encode`).

#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod batch;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod boundary;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub(crate) mod cache;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
pub mod encode;
mod merge;
#[cfg_attr(not(test), deny(clippy::indexing_slicing))]
mod pairs;
mod scan;
pub mod train;
