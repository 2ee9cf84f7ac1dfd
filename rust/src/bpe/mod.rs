//! Byte pair encoding: how it is learned (`train`) and how it is applied (`encode`).

pub mod train;
