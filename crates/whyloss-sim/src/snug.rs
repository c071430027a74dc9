//! Grows the lists of flows by a quarter instead of doubling them, because most stay short.

/// Adds an item at the end.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    insert(list, list.len(), item);
}

/// Adds an item before the one at `place`.
pub(crate) fn insert<T>(list: &mut Vec<T>, place: usize, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((24 / size_of::<T>()).max(list.len() / 4).max(1));
    }
    list.insert(place, item);
}

/// Frees the memory of a list that was long and is empty.
pub(crate) fn tidy<T>(list: &mut Vec<T>) {
    if list.is_empty() && list.capacity() > 8 {
        *list = Vec::new();
    }
}
