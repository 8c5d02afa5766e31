//! cubecl's memory management on a CUDA that is loaded at run time, behind PyTorch's pluggable
//! ABI. build.sh puts cubecl's own modules beside this file. What cubecl does for a kernel
//! (resolve the stream with the bindings, launch, drop the resolved streams) is done for
//! each use on another stream when the memory is freed: the work is launched by then.
#![allow(dead_code, unused_imports, unexpected_cfgs)]

extern crate alloc;
extern crate self as cubecl_common;
extern crate self as cubecl_ir;
extern crate self as hashbrown;
#[macro_use]
extern crate derive_new;

mod cuda;
#[macro_use]
pub mod id;
pub mod memory_management;
pub mod storage;
pub mod stream;
pub mod stubs;
pub use stubs::*;

use cuda::{Backend, Fence, RawStream, gc};
use server::{Binding, Handle};
use std::collections::HashMap;
use std::os::raw::{c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock};
use stream::{GcTask, MultiStream};
use stream_id::StreamId;

const MAX_STREAMS: u8 = 64;

/// Live is memory that the caller has.
struct Live {
    handle: Handle,
    users: Vec<RawStream>,
}

/// Device has what cubecl calls a server: the streams of one device, and their memory.
struct Device {
    streams: MultiStream<Backend>,
    ids: HashMap<RawStream, StreamId>,
    live: HashMap<usize, Live>,
}

// The raw handles of streams are only numbers to this program.
unsafe impl Send for Device {}

static DEVICES: OnceLock<Mutex<HashMap<c_int, Device>>> = OnceLock::new();

fn with_device<T>(device: c_int, f: impl FnOnce(&mut Device) -> T) -> T {
    cuda::set_device(device);
    let mut devices = DEVICES.get_or_init(Default::default).lock().unwrap();
    f(devices.entry(device).or_insert_with(|| Device {
        streams: MultiStream::new(Arc::new(logging::ServerLogger), Backend, MAX_STREAMS),
        ids: HashMap::new(),
        live: HashMap::new(),
    }))
}

impl Device {
    /// The stream's id. cubecl creates a stream when an id is used for the first time; here
    /// that is the caller's stream.
    fn id(&mut self, stream: RawStream) -> StreamId {
        let next = self.ids.len() as u64;
        let id = *self.ids.entry(stream).or_insert(StreamId { value: next });
        if id.value == next {
            assert!(next < MAX_STREAMS as u64, "more than {MAX_STREAMS} streams");
            cuda::create_next(stream);
            drop(self.streams.resolve(id, [].into_iter(), false).unwrap());
        }
        id
    }

    fn malloc(&mut self, size: u64, stream: RawStream) -> Option<usize> {
        gc::collect();
        let id = self.id(stream);
        let handle = Handle::new(id, size);
        let mut resolved = self.streams.resolve(id, [].into_iter(), false).ok()?;
        let cursor = resolved.cursor;
        let memory = &mut resolved.current().memory;
        let reserved = memory.reserve(size).ok()?;
        memory.bind(reserved, handle.memory.clone(), cursor).ok()?;
        let ptr = memory.get_resource(handle.memory.clone().binding(), None, None).ok()?;
        drop(resolved);
        self.live.insert(ptr, Live { handle, users: Vec::new() });
        Some(ptr)
    }

    fn free(&mut self, ptr: usize) {
        let live = self.live.remove(&ptr).expect("memory that was allocated");
        for user in live.users {
            let id = self.id(user);
            let binding = live.handle.clone().binding();
            gc::make_room();
            let before = gc::tasks();
            drop(self.streams.resolve(id, [&binding].into_iter(), false).unwrap());
            if gc::tasks() > before {
                // Behind the task that cubecl has registered comes one whose drop says so.
                self.streams.gc(GcTask::new(gc::Dropped, Fence::done()));
            }
        }
    }

    fn empty_cache(&mut self) {
        gc::collect();
        for id in self.ids.values() {
            let mut resolved = self.streams.resolve(*id, [].into_iter(), false).unwrap();
            resolved.current().memory.cleanup(true);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn my_malloc(size: isize, device: c_int, stream: *mut c_void) -> *mut c_void {
    with_device(device, |d| d.malloc(size as u64, stream as RawStream).unwrap_or(0) as *mut c_void)
}

#[unsafe(no_mangle)]
pub extern "C" fn my_free(ptr: *mut c_void, _size: isize, device: c_int, _stream: *mut c_void) {
    with_device(device, |d| d.free(ptr as usize));
}

#[unsafe(no_mangle)]
pub extern "C" fn my_record_stream(ptr: *mut c_void, stream: *mut c_void) {
    let mut devices = DEVICES.get_or_init(Default::default).lock().unwrap();
    for live in devices.values_mut().filter_map(|d| d.live.get_mut(&(ptr as usize))) {
        if !live.users.contains(&(stream as RawStream)) {
            live.users.push(stream as RawStream);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn my_empty_cache() {
    let devices: Vec<c_int> = DEVICES.get_or_init(Default::default).lock().unwrap().keys().copied().collect();
    for device in devices {
        with_device(device, |d| d.empty_cache());
    }
}
