// What the modules of cubecl-runtime that are compiled here ask of the rest of the crate, and
// of the crates it depends on: as much as is needed, in declarations of this project's own.

pub mod backtrace {
    #[derive(Clone, Debug)]
    pub struct BackTrace;
    impl BackTrace {
        pub fn capture() -> Self {
            BackTrace
        }
    }
}

pub mod stub {
    pub use std::sync::Arc;
}

pub mod stream_id {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct StreamId {
        pub value: u64,
    }
    impl std::fmt::Display for StreamId {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "stream {}", self.value)
        }
    }
}

pub mod bytes {
    #[derive(Debug)]
    pub struct Bytes(Vec<u8>);
    impl Bytes {
        pub fn len(&self) -> usize {
            self.0.len()
        }
    }
}

#[derive(Clone, Debug)]
pub struct MemoryDeviceProperties {
    pub max_page_size: u64,
    pub alignment: u64,
}

pub use std::collections::{HashMap, HashSet};

pub mod config {
    pub mod memory {
        #[derive(Clone, Copy, Debug)]
        pub enum MemoryLogLevel {
            Disabled,
            Basic,
            Full,
        }
        #[derive(Clone, Debug)]
        pub enum PersistentMemory {
            Enabled,
            Disabled,
            Enforced,
        }
        #[derive(Clone, Debug)]
        pub enum DynamicPoolConfig {
            Auto,
            SingleSliced { page_size_bytes: Option<u64> },
        }
        pub struct MemoryConfig {
            pub persistent_memory: PersistentMemory,
            pub dynamic_pool: DynamicPoolConfig,
        }
    }
    pub mod streaming {
        #[derive(Clone, Copy, Debug)]
        pub enum StreamingLogLevel {
            Disabled,
            Basic,
            Full,
        }
    }
    pub trait RuntimeConfig {} // has get in newer versions
    pub struct CubeClRuntimeConfig {
        pub memory: memory::MemoryConfig,
    }
    impl CubeClRuntimeConfig {
        pub fn get() -> Self {
            Self {
                memory: memory::MemoryConfig {
                    persistent_memory: memory::PersistentMemory::Enabled,
                    dynamic_pool: memory::DynamicPoolConfig::Auto,
                },
            }
        }
    }
    pub use CubeClRuntimeConfig as GlobalConfig; // its name in older versions
}

pub mod logging {
    #[derive(Default, Debug)]
    pub struct ServerLogger;
    impl ServerLogger {
        pub fn log_memory<L, M>(&self, _level: L, _message: M)
        where
            L: Fn(super::config::memory::MemoryLogLevel) -> bool,
            M: FnOnce() -> String,
        {
        }
        pub fn log_streaming<L, M>(&self, _level: L, _message: M)
        where
            L: Fn(super::config::streaming::StreamingLogLevel) -> bool,
            M: FnOnce() -> String,
        {
        }
    }
}

pub mod server {
    use super::backtrace::BackTrace;
    use super::stream_id::StreamId;
    use crate::memory_management::{ManagedMemoryBinding, ManagedMemoryHandle};

    #[derive(Clone, Debug)]
    pub struct Reason(pub String);
    impl From<&str> for Reason {
        fn from(s: &str) -> Self {
            Reason(s.into())
        }
    }
    impl From<String> for Reason {
        fn from(s: String) -> Self {
            Reason(s)
        }
    }

    #[derive(Clone, Debug)]
    pub enum IoError {
        BufferTooBig { size: u64, backtrace: BackTrace },
        NotFound { backtrace: BackTrace, reason: Reason },
        Unknown { description: String, backtrace: BackTrace },
    }

    #[derive(Debug)]
    pub enum ServerError {
        Generic { reason: String, backtrace: BackTrace },
    }

    #[derive(Clone, Debug)]
    pub struct Handle {
        pub memory: ManagedMemoryHandle,
        pub stream: StreamId,
        pub size: u64,
    }

    #[derive(Clone, Debug)]
    pub struct Binding {
        pub memory: ManagedMemoryBinding,
        pub stream: StreamId,
    }

    impl Handle {
        pub fn new(stream: StreamId, size: u64) -> Self {
            Self { memory: ManagedMemoryHandle::new(), stream, size }
        }
        pub fn binding(self) -> Binding {
            Binding { memory: self.memory.binding(), stream: self.stream }
        }
    }
}
