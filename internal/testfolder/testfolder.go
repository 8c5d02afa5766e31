// Package testfolder is a folder that is there while the tests of a package run.
package testfolder

import (
	"os"
	"testing"
)

// Run is a TestMain: it makes the folder, runs the tests, removes the folder, and ends the process.
func Run(m *testing.M, folder *string) {
	var err error
	if *folder, err = os.MkdirTemp("", "gaugeblock-test-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(*folder)
	os.Exit(status)
}
