use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::time::Instant;

/// Writes what an allocator does, a line a call, for "gaugeblock check".
pub struct GaugeLog { out: Mutex<File>, start: Instant }

impl GaugeLog {
    pub fn create(path: &str) -> std::io::Result<Self> {
        let mut out = File::create(path)?;
        writeln!(out, "Thread,Time,Action,Pointer,Size,Stream")?;
        Ok(Self { out: Mutex::new(out), start: Instant::now() })
    }
    pub fn note(&self, action: &str, pointer: u64, size: usize, stream: u64) {
        let (thread, time) = (std::thread::current().id(), self.start.elapsed().as_micros());
        let mut out = self.out.lock().unwrap();
        writeln!(out, "{thread:?},{time},{action},{pointer:#x},{size},{stream:#x}").unwrap();
    }

    // What the program gives to the device and waits for. Call these where it does so:
    // without them hazards cannot be looked for.
    pub fn read(&self, pointer: u64, stream: u64) { self.note("read", pointer, 0, stream) }
    pub fn write(&self, pointer: u64, stream: u64) { self.note("write", pointer, 0, stream) }
    pub fn wait_stream(&self, stream: u64, other: u64) { self.note("wait", other, 0, stream) }
    pub fn record_event(&self, event: u64, stream: u64) { self.note("record event", event, 0, stream) }
    pub fn wait_event(&self, event: u64, stream: u64) { self.note("wait event", event, 0, stream) }
    pub fn synchronize(&self, stream: u64) { self.note("synchronize", 0, 0, stream) }
}

/// What is logged. Around the driver calls inside it, use GaugeLog itself:
/// "driver allocate" after the call, "driver free" before it.
pub trait Allocator {
    fn allocate(&self, size: usize, stream: u64) -> Option<u64>;
    fn free(&self, pointer: u64, size: usize, stream: u64);
}

pub struct Logged<'a, A: Allocator> { pub inner: A, pub log: &'a GaugeLog }

impl<A: Allocator> Allocator for Logged<'_, A> {
    fn allocate(&self, size: usize, stream: u64) -> Option<u64> {
        let pointer = self.inner.allocate(size, stream);
        let action = if pointer.is_some() { "allocate" } else { "allocate failure" };
        self.log.note(action, pointer.unwrap_or(0), size, stream); // when it is certain
        pointer
    }
    fn free(&self, pointer: u64, size: usize, stream: u64) {
        self.log.note("free", pointer, size, stream); // before anyone can have it
        self.inner.free(pointer, size, stream);
    }
}
