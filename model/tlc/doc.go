// Package tlc reads what the TLC model checker reads and writes: its values (value.go),
// its configuration files (config.go), the module with the defaults of constants
// (defaults.go), its dump of a state graph (dump.go) and what it says in the end
// (summary.go). It does not run TLC.
//
// Here is also the one definition of how a state is written for comparison: see
// Canonical.
package tlc

import "fmt"

// A SyntaxError says where a text is not what it should be.
type SyntaxError struct {
	File   string
	Line   int // from 1
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }
