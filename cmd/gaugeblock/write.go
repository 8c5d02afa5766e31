package main

import (
	"bytes"
	"encoding/json"
	"io"

	memoryreport "gaugeblock/snapshot/report"
)

// openOutput looks whether a file can be written that somebody asked for; nil: nobody did.
func openOutput(path string) (*memoryreport.Output, error) {
	if path == "" {
		return nil, nil
	}
	return memoryreport.OpenOutput(path)
}

// writeForPrograms writes a value as JSON to a file, if one was asked for.
func writeForPrograms(to *memoryreport.Output, v any) error {
	if to == nil {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return writeWhole(to, bytes.NewReader(append(text, '\n')))
}

// writeWhole writes what is read to a file, whole or not at all.
func writeWhole(to *memoryreport.Output, from io.Reader) error {
	defer atSignal(to.Abandon, always)()
	return to.WriteBy(func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}
