package main

import (
	"io"

	"gaugeblock/snapshot/record"
)

// recordCommand is "gaugeblock record".
type recordCommand struct{}

// Help is what "gaugeblock record --help" prints.
func (*recordCommand) Help() string {
	return `Put the file beside your training script, and begin the script with

    import gb_record; gb_record.start("trace.jsonl.gz")

before the first CUDA tensor is made, or run it with GB_RECORD=trace.jsonl.gz and
"import gb_record" alone. When the script ends, the trace has its requests of PyTorch's
allocator and what the allocator did, for "gaugeblock replay" and "gaugeblock whatif".
The file needs PyTorch 2.10 or later and nothing else. docs/record.md explains it.`
}

// Run prints the recorder.
func (*recordCommand) Run(env *environment) error {
	_, err := io.WriteString(env.stdout, record.Recorder)
	return err
}
