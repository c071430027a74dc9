//! Creates the pool of threads that run replications.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::CliError;

/// The maximum number of threads. More would only cost memory.
pub(crate) const MOST_JOBS: i64 = 1024;

/// The environment variable that rayon reads if `--jobs` is missing.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Returns a pool of `jobs` threads. The default is the value of `RAYON_NUM_THREADS`, or else one
/// thread per core.
///
/// # Errors
/// Returns an error if the environment requests more than [`MOST_JOBS`] threads, or if they cannot
/// be started.
pub(crate) fn pool(jobs: Option<u16>) -> Result<ThreadPool, CliError> {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    // As in rayon, a text that is not a number counts as unset. Digits that overflow count as a
    // number.
    let is_number = !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit());
    let is_too_many = is_number && asked.parse().map_or(true, |asked: i64| asked > MOST_JOBS);
    if jobs.is_none() && is_too_many {
        return Err(CliError::TooManyThreads {
            variable: VARIABLE,
            asked,
        });
    }
    let jobs = jobs.map_or(0, usize::from);
    Ok(ThreadPoolBuilder::new().num_threads(jobs).build()?)
}
