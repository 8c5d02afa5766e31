// Package python has what "gaugeblock run" loads into the user's Python.
package python

import "embed"

// Site is the folder site: it goes to the front of PYTHONPATH.
//
//go:embed site
var Site embed.FS
