//! Asks the processor to load data into its cache.

/// Prefetches all of `of`.
#[inline]
pub(crate) fn prefetch<T>(of: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "no safe function asks memory for something")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(of).cast::<i8>();
        let lines = size_of::<T>() / 64 + 1;
        for line in 0..lines {
            let at = (64 * line).min(size_of::<T>().saturating_sub(1));
            // SAFETY: the address is within `of`, and a prefetch changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}
