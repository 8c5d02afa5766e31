// Logs an allocator that loses memory: demo LOG
mod gaugelog;
use gaugelog::{Allocator, GaugeLog, Logged};
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives addresses, as cudaMalloc would, and never reuses one.
struct Bump(AtomicU64);

impl Allocator for Bump {
    fn allocate(&self, size: usize, _: u64) -> Option<u64> {
        (size < 1 << 40).then(|| self.0.fetch_add((size as u64).next_multiple_of(512), Ordering::Relaxed))
    }
    fn free(&self, _: u64, _: usize, _: u64) {}
}

fn main() {
    let log = GaugeLog::create(&std::env::args().nth(1).unwrap()).unwrap();
    let logged = Logged { inner: Bump(AtomicU64::new(0x7f0000000000)), log: &log };
    let a = logged.allocate(1000, 0).unwrap();
    logged.allocate(2000, 0).unwrap();
    log.write(a, 0x10);
    log.record_event(0xe1, 0x10);
    log.wait_event(0xe1, 0x20);
    log.read(a, 0x20);
    log.wait_stream(0x10, 0x20);
    log.synchronize(0x10);
    assert!(logged.allocate(1 << 41, 0).is_none());
    logged.free(a, 1000, 0);
}
