// Package record holds the recorder that "gaugeblock record" prints: one Python
// file that a training script imports, and that writes what the script asks of
// PyTorch's allocator as a trace that can be replayed.
//
// The file says how it works. Its tests run it under python3 against a stub of
// PyTorch in testdata, through which programs play the recordings of the real one:
// what it writes must replay as exactly as the recording it came from.
package record

import _ "embed" // for the recorder

// FileName is what the recorder must be called to be imported.
const FileName = "gb_record.py"

// Recorder is the file's text.
//
//go:embed gb_record.py
var Recorder string
