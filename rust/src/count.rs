//! Counts of pieces.
