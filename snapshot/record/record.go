// Package record holds the recorder that "gaugeblock record" prints: a Python file that a
// program imports, and that records the program's requests to PyTorch's allocator as a
// trace that can be replayed.
//
// The comment of the file says how it works. The tests run it under python3 with a stub of
// PyTorch (testdata/torch). There programs repeat recordings of the real PyTorch, and the
// traces that the recorder writes must replay exactly.
package record

import _ "embed" // for the recorder

// FileName is the name under which programs import the recorder.
const FileName = "gb_record.py"

// Recorder is the text of the file.
//
//go:embed gb_record.py
var Recorder string
