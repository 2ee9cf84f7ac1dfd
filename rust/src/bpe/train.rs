//! BPE training.
