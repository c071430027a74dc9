//! A packet that leaves and is acknowledged, told in Rust and through the C interface, in one run.
#![allow(unsafe_code, reason = "calls C")]

use std::ffi::CString;
use std::hint::black_box;
use std::ptr::{null, null_mut};

use criterion::{Criterion, criterion_group, criterion_main};
use whyloss::Time;
use whyloss::connection::Connection;
use whyloss::schemes::find;
use whyloss_capi::ABI;
use whyloss_capi::scheme::{
    Allowance, SchemeOptions, whyloss_scheme_allowance, whyloss_scheme_drop, whyloss_scheme_init,
    whyloss_scheme_on_acked, whyloss_scheme_on_sent, whyloss_scheme_size,
};

fn benches(criterion: &mut Criterion) {
    for name in ["newreno", "whyloss"] {
        let mut group = criterion.benchmark_group(format!("capi/{name}"));
        let scheme = find(name).unwrap().build(&[]).unwrap();
        let mut connection = Connection::new(&scheme, 1200);
        let (mut number, mut now) = (0, 1_000_000_000);
        group.bench_function("rust", |bencher| {
            bencher.iter(|| {
                now += 1_000_000;
                connection.on_packet_sent(number, 1200, Time::from_nanos(now), false);
                let later = Time::from_nanos(now + 500_000);
                connection.on_packets_acked([number], later);
                number += 1;
                black_box((connection.window(), connection.pacing_rate()))
            });
        });
        let mut memory = vec![0_u128; whyloss_scheme_size().div_ceil(16)];
        let c = memory.as_mut_ptr().cast();
        let name = CString::new(name).unwrap();
        let options = SchemeOptions {
            abi: ABI,
            mtu: 1200,
            name: name.as_ptr(),
            parameters: null(),
            packets: 0,
        };
        let mut allowed = Allowance {
            window: 0,
            in_flight: 0,
            pacing: 0,
            quantum: 0,
        };
        let (mut number, mut now) = (0, 1_000_000_000);
        // SAFETY: memory of the size, aligned; afterwards the object is live, and alone.
        unsafe {
            whyloss_scheme_init(c, whyloss_scheme_size(), &raw const options, null_mut(), 0);
        }
        // Three calls: send, acknowledge, read.
        group.bench_function("c", |bencher| {
            bencher.iter(|| {
                now += 1_000_000;
                // SAFETY: as above.
                unsafe {
                    whyloss_scheme_on_sent(c, number, 1200, now, 0);
                    whyloss_scheme_on_acked(c, &raw const number, 1, now + 500_000);
                    whyloss_scheme_allowance(c, &raw mut allowed);
                }
                number += 1;
                black_box(&allowed);
            });
        });
        // SAFETY: as above.
        unsafe { whyloss_scheme_drop(c) };
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
