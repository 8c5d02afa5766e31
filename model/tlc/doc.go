// Package tlc reads what the TLC model checker reads and writes: its values (value.go),
// its configuration files (config.go), the module with the defaults of constants
// (defaults.go), its dump of a state graph (dump.go) and the summary that it prints
// (summary.go). It does not run TLC.
//
// It has the definition of the canonical text of a state, by which states are compared: see
// Canonical.
package tlc

import "fmt"

// A SyntaxError is an error in a text, with its position.
type SyntaxError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }
