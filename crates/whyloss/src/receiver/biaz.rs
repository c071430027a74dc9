//! Biaz (placeholder until the classifiers land).
