//! Where the rows of a trace go.

use super::batch::Batch;
use crate::output::OutputError;

/// Takes the tables of a trace, batch by batch.
pub trait Sink {
    /// Takes rows. Those of one table come in their order; tables come by turns.
    ///
    /// # Errors
    /// If they cannot be kept; none are offered after that.
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError>;

    /// Takes notice that there are no more. Dropped without this, files of a sink vanish.
    ///
    /// # Errors
    /// If what came before cannot be kept.
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
