//! Reads the events of a control's programs. The programs send events only while a reader is
//! active.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};

use crate::error::KernelError;
use crate::event::{Ends, Event};
use crate::find::Loaded;
use crate::shared::{Shared, now_us};

/// How long the programs send events after the last sign of a reader, in µs.
const PATIENCE_US: u64 = 2_000_000;

/// A watched control. Only one process at a time can watch it.
pub struct Watch {
    /// The watched control.
    loaded: Loaded,
    control: MapHandle,
    shared: Shared,
    ring: RingBuffer<'static>,
    heard: Rc<RefCell<VecDeque<Vec<u8>>>>,
    _events: MapHandle,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("loaded", &self.loaded)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Starts to watch a loaded control.
    ///
    /// # Errors
    /// Returns an error if another process watches the control.
    pub fn begin(loaded: &Loaded) -> Result<Self, KernelError> {
        let refused = |error: libbpf_rs::Error| KernelError::bpf("listen to a control", &error);
        let gone = || KernelError::NotLoaded(loaded.name.clone());
        let control = MapHandle::from_map_id(loaded.map).map_err(|_| gone())?;
        let shared = Shared::of(&control).ok_or_else(gone)?;
        let now = now_us();
        if shared.watched_until_us > now && shared.watcher != std::process::id() {
            return Err(KernelError::Watched {
                name: loaded.name.clone(),
                process: shared.watcher,
            });
        }
        let events = MapHandle::from_map_id(shared.events).map_err(refused)?;
        let heard = Rc::new(RefCell::new(VecDeque::new()));
        let mut builder = RingBufferBuilder::new();
        let sink = Rc::clone(&heard);
        builder
            .add(&events, move |bytes| {
                sink.borrow_mut().push_back(bytes.to_vec());
                0
            })
            .map_err(refused)?;
        let ring = builder.build().map_err(refused)?;
        // Discard events of an earlier watch.
        ring.consume().map_err(refused)?;
        heard.borrow_mut().clear();
        let mut watch = Self {
            loaded: loaded.clone(),
            control,
            shared: Shared {
                session: shared.session + 1,
                watcher: std::process::id(),
                ..shared
            },
            ring,
            heard,
            _events: events,
        };
        watch.go_on()?;
        Ok(watch)
    }

    /// Returns the watched control.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Extends the time in which the programs send events.
    fn go_on(&mut self) -> Result<(), KernelError> {
        let now = now_us();
        if self.shared.watched_until_us < now + PATIENCE_US / 2 {
            self.shared.watched_until_us = now + PATIENCE_US;
            self.shared.write(&self.control)?;
        }
        Ok(())
    }

    /// Waits for events for at most this time and passes on all that arrived.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to pass on events.
    pub fn poll(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(Event, Option<Ends>),
    ) -> Result<(), KernelError> {
        self.go_on()?;
        match self.ring.poll(wait) {
            Ok(()) => {}
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            Err(error) => return Err(KernelError::bpf("listen to a control", &error)),
        }
        let heard = std::mem::take(&mut *self.heard.borrow_mut());
        for bytes in heard {
            if let Some((event, ends)) = Event::read(&bytes) {
                each(event, ends);
            }
        }
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.watched_until_us = 0;
        // An error is harmless, because the programs stop by themselves soon.
        let _ = self.shared.write(&self.control);
    }
}
