//! The sinks that receive the rows of a trace.

use super::batch::Batch;
use crate::output::OutputError;

/// Stores the tables of a trace, batch by batch.
pub trait Sink {
    /// Stores rows of one table. The rows of a table arrive in the order of its file; batches of
    /// different tables interleave.
    ///
    /// # Errors
    /// Returns an error if the rows cannot be stored. No rows are offered after that.
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError>;

    /// Ends the trace. If a sink is dropped without this call, its files are removed.
    ///
    /// # Errors
    /// Returns an error if earlier rows cannot be stored.
    fn finish(&mut self) -> Result<(), OutputError>;
}

/// Keeps the batches in memory. Memory grows with the run.
impl Sink for Vec<Batch> {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        self.push(batch.clone());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        (**self).write(batch)
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        (**self).finish()
    }
}
