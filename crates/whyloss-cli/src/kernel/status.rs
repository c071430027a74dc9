//! `whyloss kernel status`: prints the state of each socket of the loaded controls.

use std::io::Write;

use whyloss_kernel::KernelError;
use whyloss_kernel::control::CONTROLS;
use whyloss_kernel::find::{Loaded, Socket, loaded, sockets};

use crate::error::CliError;

pub(super) fn status(out: &mut dyn Write) -> Result<(), CliError> {
    let all = loaded()?;
    let mut any = false;
    for control in &all {
        let sockets = match sockets(control) {
            Err(KernelError::NoIterators) => None,
            sockets => Some(sockets?),
        };
        let heading = heading(control, sockets.as_deref());
        let sockets = sockets.unwrap_or_default();
        if !control.registered && sockets.is_empty() {
            continue;
        }
        any = true;
        writeln!(out, "{heading}")?;
        if sockets.is_empty() {
            continue;
        }
        writeln!(
            out,
            "  {:<44} {:>10} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8} {:>10} {:>8} {:>6} {:>9}",
            "socket",
            "namespace",
            "cwnd",
            "odds",
            "V_P",
            "RTT ms",
            "least ms",
            "wireless",
            "congestion",
            "timeouts",
            "marks",
            "Mbit/s"
        )?;
        for socket in &sockets {
            writeln!(out, "{}", row(socket))?;
        }
    }
    if !any {
        writeln!(
            out,
            "none is loaded; `whyloss kernel list` names {}",
            CONTROLS.len()
        )?;
    }
    Ok(())
}

fn heading(control: &Loaded, sockets: Option<&[Socket]>) -> String {
    let id = CONTROLS
        .iter()
        .find(|known| known.algorithm == control.algorithm)
        .map_or("?", |known| known.id);
    let held = match (control.registered, control.holder) {
        (false, _) => "unloaded, but still in use".to_owned(),
        (true, Some(process)) => format!("held by process {process}"),
        (true, None) => "pinned".to_owned(),
    };
    let watched = match control.watcher {
        Some(process) => format!(", watched by process {process}"),
        None => String::new(),
    };
    let sockets = match sockets {
        Some([_]) => "1 socket".to_owned(),
        Some(sockets) => format!("{} sockets", sockets.len()),
        None => "sockets unknown, because this kernel refuses BPF iterators".to_owned(),
    };
    format!("{} ({id}): {held}{watched}, {sockets}", control.name)
}

fn row(socket: &Socket) -> String {
    let Socket { ends, now, counts } = socket;
    let number = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let millis = |us: u32| (us > 0).then(|| f64::from(us) / 1e3);
    format!(
        "  {:<44} {:>10} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8} {:>10} {:>8} {:>6} {:>9}",
        ends.to_string(),
        ends.namespace,
        now.cwnd,
        number(now.log_odds(), 2),
        number(now.backlog(), 2),
        number(millis(now.used_rtt_us), 3),
        number(now.min_rtt_us.and_then(millis), 3),
        counts.wireless,
        counts.congestion,
        counts.timeouts,
        counts.marks,
        number(now.estimate_mbps(), 3),
    )
}
