//go:build !race

// Package race tells tests whether the race detector looks on: it makes them take five to twenty times as long, and
// sees nothing of one goroutine or of C++.
package race

// Enabled reports whether the race detector looks on.
const Enabled = false
