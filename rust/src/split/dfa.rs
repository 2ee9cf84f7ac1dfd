//! Patterns as class DFAs.
