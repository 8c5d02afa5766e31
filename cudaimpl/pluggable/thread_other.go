//go:build !linux

package pluggable

// threadID is the same everywhere that is not Linux, where there is no library to call.
func threadID() int { return 0 }
