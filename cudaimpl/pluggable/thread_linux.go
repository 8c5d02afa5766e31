package pluggable

import "golang.org/x/sys/unix"

// threadID is the system's number of the calling thread. A function that C calls runs on
// the thread that calls it.
func threadID() int { return unix.Gettid() }
