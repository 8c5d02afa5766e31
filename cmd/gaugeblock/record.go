package main

import (
	"io"

	"gaugeblock/snapshot/record"
)

// recordCommand is "gaugeblock record".
type recordCommand struct{}

// Help is what "gaugeblock record --help" says.
func (*recordCommand) Help() string {
	return `Put the file beside your training script, and begin the script with

    import gb_record; gb_record.start("trace.jsonl.gz")

before the first CUDA tensor is made, or run it with GB_RECORD=trace.jsonl.gz and
"import gb_record" alone. When the script ends, the trace holds what it asked of
PyTorch's allocator and what that did, ready for "gaugeblock replay". The file needs
PyTorch 2.10 or later and nothing else, and says how it works and what it costs.`
}

// Run prints the recorder.
func (*recordCommand) Run(env *environment) error {
	_, err := io.WriteString(env.stdout, record.Recorder)
	return err
}
