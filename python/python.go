// Package python has what "gaugeblock run" loads into the user's Python.
package python

import "embed"

// Site has the folder site, which goes to the front of PYTHONPATH, and values, the C++ that is
// compiled for the user's PyTorch.
//
//go:embed site values
var Site embed.FS
