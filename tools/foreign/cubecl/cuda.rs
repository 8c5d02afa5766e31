//! cubecl's traits for a backend, for CUDA: storage in memory of cudaMalloc, whose calls can be
//! counted and which cubecl's own storage falls back to, streams and events; and the thread of
//! cubecl that releases memory when work is over, made repeatable.

use crate::backtrace::BackTrace;
use crate::memory_management::{MemoryConfiguration, MemoryManagement, MemoryManagementOptions};
use crate::server::{Binding, IoError, ServerError};
use crate::storage::{ComputeStorage, StorageHandle, StorageId, StorageUtilization};
use crate::stream::EventStreamBackend;
use std::cell::Cell;
use std::collections::HashMap;
use std::os::raw::c_int;
use std::sync::Arc;

pub type RawStream = usize;

#[link(name = "cudart")]
unsafe extern "C" {
    fn cudaSetDevice(device: c_int) -> c_int;
    fn cudaMalloc(ptr: *mut usize, bytes: usize) -> c_int;
    fn cudaFree(ptr: usize) -> c_int;
    fn cudaStreamCreateWithFlags(stream: *mut usize, flags: u32) -> c_int;
    fn cudaStreamWaitEvent(stream: usize, event: usize, flags: u32) -> c_int;
    fn cudaEventCreateWithFlags(event: *mut usize, flags: u32) -> c_int;
    fn cudaEventRecord(event: usize, stream: usize) -> c_int;
    fn cudaEventQuery(event: usize) -> c_int;
    fn cudaEventSynchronize(event: usize) -> c_int;
    fn cudaEventDestroy(event: usize) -> c_int;
    fn cudaGetLastError() -> c_int;
}

const DISABLE_TIMING: u32 = 2;
const NON_BLOCKING: u32 = 1;

fn must(error: c_int) {
    assert_eq!(error, 0, "a call of CUDA failed");
}

pub fn set_device(device: c_int) {
    must(unsafe { cudaSetDevice(device) });
}

/// Storage has the pages of one stream.
#[derive(Default)]
pub struct Storage {
    pages: HashMap<StorageId, usize>,
    freed: Vec<StorageId>,
}

impl ComputeStorage for Storage {
    type Resource = usize;

    fn alignment(&self) -> usize {
        256
    }

    fn get(&mut self, handle: &StorageHandle) -> usize {
        self.pages[&handle.id] + handle.offset() as usize
    }

    fn alloc(&mut self, size: u64) -> Result<StorageHandle, IoError> {
        let mut ptr = 0;
        if unsafe { cudaMalloc(&mut ptr, size as usize) } != 0 {
            unsafe { cudaGetLastError() };
            return Err(IoError::BufferTooBig { size, backtrace: BackTrace::capture() });
        }
        let id = StorageId::new();
        self.pages.insert(id, ptr);
        Ok(StorageHandle::new(id, StorageUtilization { offset: 0, size }))
    }

    fn dealloc(&mut self, id: StorageId) {
        self.freed.push(id);
    }

    fn flush(&mut self) {
        for id in self.freed.drain(..) {
            must(unsafe { cudaFree(self.pages.remove(&id).unwrap()) });
        }
    }
}

pub struct Stream {
    raw: RawStream,
    collector: bool, // the stream that cubecl creates for its thread
    pub memory: MemoryManagement<Storage>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.raw)
    }
}

thread_local! {
    static NEXT: Cell<Option<RawStream>> = const { Cell::new(None) };
}

/// The next stream that cubecl creates is this one.
pub fn create_next(stream: RawStream) {
    NEXT.set(Some(stream));
}

/// Fence is an event that was recorded.
pub struct Fence {
    event: usize,
    task: Option<usize>, // of the thread that releases memory
}

impl Fence {
    pub fn done() -> Self {
        Fence { event: 0, task: None }
    }
}

#[derive(Debug)]
pub struct Backend;

impl EventStreamBackend for Backend {
    type Stream = Stream;
    type Event = Fence;

    fn create_stream(&self) -> Stream {
        let (raw, collector) = match NEXT.take() {
            Some(raw) => (raw, false),
            None => {
                let mut raw = 0;
                must(unsafe { cudaStreamCreateWithFlags(&mut raw, NON_BLOCKING) });
                (raw, true)
            }
        };
        let options = MemoryManagementOptions::new("memory");
        let memory = MemoryManagement::from_configuration(
            Storage::default(),
            &crate::MemoryDeviceProperties { max_page_size: 64 << 20, alignment: 256 },
            MemoryConfiguration::SubSlices,
            Arc::new(crate::logging::ServerLogger),
            options,
        );
        Stream { raw, collector, memory }
    }

    fn handle_cursor(stream: &Stream, handle: &Binding) -> u64 {
        stream.memory.get_cursor(handle.memory.clone()).unwrap_or(u64::MAX)
    }

    fn is_healthy(_stream: &Stream) -> bool {
        true
    }

    fn flush(stream: &mut Stream) -> Fence {
        let mut event = 0;
        unsafe {
            must(cudaEventCreateWithFlags(&mut event, DISABLE_TIMING));
            must(cudaEventRecord(event, stream.raw));
        }
        Fence { event, task: stream.collector.then(|| gc::add(event)) }
    }

    fn wait_event(stream: &mut Stream, fence: Fence) {
        unsafe {
            must(cudaStreamWaitEvent(stream.raw, fence.event, 0));
            must(cudaEventDestroy(fence.event));
        }
    }

    fn wait_event_sync(fence: Fence) -> Result<(), ServerError> {
        if let Some(task) = fence.task {
            gc::wait(task);
        }
        Ok(())
    }
}

/// cubecl has a thread that waits for events and then releases what was pinned until them.
/// When that happens must not depend on the scheduler of this machine: the thread waits until
/// the allocating thread, which asks the events at its own calls, says that one is over, and
/// the allocating thread waits until the release is done.
pub mod gc {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::{Condvar, Mutex};

    /// How many of cubecl's tasks wait at most; behind each is a `Dropped`, and cubecl's queue
    /// has room for 8.
    const ROOM: usize = 4;

    struct Tasks {
        begun: usize,              // tasks so far, each with an event of the collecting stream
        over: usize,               // how many of them may go on
        dropped: usize,            // how many have released what they pinned
        events: VecDeque<usize>,   // of those that may not go on yet
    }

    static TASKS: Mutex<Tasks> = Mutex::new(Tasks { begun: 0, over: 0, dropped: 0, events: VecDeque::new() });
    static CHANGED: Condvar = Condvar::new();

    /// Dropped is what the task behind each of cubecl's tasks drops.
    pub struct Dropped;

    impl Drop for Dropped {
        fn drop(&mut self) {
            TASKS.lock().unwrap().dropped += 1;
            CHANGED.notify_all();
        }
    }

    pub fn add(event: usize) -> usize {
        let mut t = TASKS.lock().unwrap();
        t.events.push_back(event);
        t.begun += 1;
        t.begun - 1
    }

    pub fn tasks() -> usize {
        TASKS.lock().unwrap().begun
    }

    pub fn wait(task: usize) {
        let t = TASKS.lock().unwrap();
        drop(CHANGED.wait_while(t, |t| t.over <= task).unwrap());
    }

    /// Lets the first task go on, and waits until it has released what it pinned.
    fn release_first() {
        let mut t = TASKS.lock().unwrap();
        must(unsafe { cudaEventDestroy(t.events.pop_front().unwrap()) });
        t.over += 1;
        CHANGED.notify_all();
        drop(CHANGED.wait_while(t, |t| t.dropped < t.over).unwrap());
    }

    fn first() -> Option<usize> {
        TASKS.lock().unwrap().events.front().copied()
    }

    /// Releases what is pinned until events that are complete.
    pub fn collect() {
        while first().is_some_and(|event| unsafe { cudaEventQuery(event) } == 0) {
            release_first();
        }
    }

    /// Makes room for one more task, as cubecl does when its queue is full: it waits.
    pub fn make_room() {
        if TASKS.lock().unwrap().events.len() >= ROOM {
            must(unsafe { cudaEventSynchronize(first().unwrap()) });
            release_first();
        }
    }
}
