//! A caching allocator that is examined by "gaugeblock examine -- ./driver". It keeps freed
//! memory by device, stream and size. Called with the argument "broken" it forgets the
//! stream: then memory goes to another stream while work still uses it.
use std::collections::BTreeMap;
use std::io::{stdin, stdout, Write};

/// Reads a field of a line: "name":123. Without it, it is 0.
fn number(line: &str, name: &str) -> u64 {
    let Some(at) = line.find(&format!("\"{name}\":")) else { return 0 };
    line[at + name.len() + 3..].chars().take_while(|c| c.is_ascii_digit()).fold(0, |n, c| 10 * n + c as u64 - '0' as u64)
}

fn say(line: &str) {
    writeln!(stdout(), "{line}").and_then(|_| stdout().flush()).unwrap()
}

/// The next line; none at the end.
fn hear() -> Option<String> {
    let mut line = String::new();
    (stdin().read_line(&mut line).unwrap() > 0).then_some(line)
}

/// Makes a call of the driver: its answer is the next line.
fn call(name: &str, fields: &str) -> String {
    say(&format!("{{\"call\":\"{name}\",{fields}}}"));
    hear().unwrap()
}

#[derive(Default)]
struct Allocator {
    broken: bool,
    cache: BTreeMap<(u64, u64, u64), Vec<u64>>, // device, stream, size
}

impl Allocator {
    fn key(&self, device: u64, stream: u64, size: u64) -> (u64, u64, u64) {
        (device, if self.broken { 0 } else { stream }, size.div_ceil(512) * 512)
    }
    fn malloc(&mut self, device: u64, stream: u64, size: u64) -> u64 {
        let key = self.key(device, stream, size);
        if let Some(ptr) = self.cache.get_mut(&key).and_then(|kept| kept.pop()) {
            return ptr;
        }
        let fields = format!("\"device\":{device},\"size\":{}", key.2);
        let mut answer = call("malloc", &fields);
        if answer.contains("\"error\"") {
            self.empty_cache();
            answer = call("malloc", &fields); // once more, without a cache
        }
        number(&answer, "ptr")
    }
    fn free(&mut self, device: u64, stream: u64, size: u64, ptr: u64) {
        self.cache.entry(self.key(device, stream, size)).or_default().push(ptr);
    }
    fn empty_cache(&mut self) {
        for ((device, _, _), kept) in std::mem::take(&mut self.cache) {
            for ptr in kept {
                call("free", &format!("\"device\":{device},\"ptr\":{ptr}"));
            }
        }
    }
}

fn main() {
    let mut allocator = Allocator::default();
    while let Some(line) = hear() {
        let [device, stream, size, ptr] = ["device", "stream", "size", "ptr"].map(|name| number(&line, name));
        let is = |what: &str| line.contains(&format!("\"do\":\"{what}\""));
        if is("begin") { // a new program: everything that was allocated is gone
            allocator = Allocator { broken: std::env::args().any(|a| a == "broken"), ..Default::default() };
            say("{\"contract\":\"joined\",\"empties\":true}");
            continue;
        }
        let answer = if is("malloc") { allocator.malloc(device, stream, size) } else { 0 };
        if is("free") { allocator.free(device, stream, size, ptr) }
        if is("empty_cache") { allocator.empty_cache() }
        say(&format!("{{\"ptr\":{answer}}}"));
    }
}
