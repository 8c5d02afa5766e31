// Package gcpercent is imported for its effect by tests that drop nearly all that they make:
// garbage grows to four times of what is in use before it is collected.
package gcpercent

import "runtime/debug"

func init() { debug.SetGCPercent(400) }
