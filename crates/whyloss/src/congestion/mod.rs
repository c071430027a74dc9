//! Window controllers.
