//! The least that PyTorch's CUDAPluggableAllocator takes, in Rust.
use std::ffi::c_void;
use std::ptr::null_mut;

extern "C" {
    fn cudaSetDevice(device: i32) -> i32;
    fn cudaMalloc(ptr: *mut *mut c_void, size: usize) -> i32;
    fn cudaFree(ptr: *mut c_void) -> i32;
}

#[no_mangle]
pub extern "C" fn my_malloc(size: isize, device: i32, _stream: *mut c_void) -> *mut c_void {
    let mut ptr = null_mut();
    if unsafe { cudaSetDevice(device) == 0 && cudaMalloc(&mut ptr, size as usize) == 0 } { ptr } else { null_mut() }
}

#[no_mangle]
pub extern "C" fn my_free(ptr: *mut c_void, _size: isize, _device: i32, _stream: *mut c_void) {
    unsafe { cudaFree(ptr) };
}
