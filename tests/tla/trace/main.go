// Command trace checks with TLC whether a history is a behaviour of the specification. "make
// tla-trace" runs it.
//
//	go run ./tests/tla/trace -tools tla2tools.jar FILE
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gaugeblock/tests/tla/history"
	"gaugeblock/tests/tla/runner"
	"gaugeblock/tla"
)

func main() {
	tools := flag.String("tools", "", "the file tla2tools.jar")
	flag.Parse()
	if err := run(*tools, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
}

func run(tools string, files []string) error {
	if tools == "" || len(files) != 1 {
		return fmt.Errorf("usage: trace -tools tla2tools.jar FILE")
	}
	tools, err := filepath.Abs(tools)
	if err != nil {
		return err
	}
	in, err := os.Open(files[0])
	if err != nil {
		return err
	}
	defer in.Close()
	events, err := history.Read(in, files[0])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "trace")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, tla.Files); err != nil {
		return err
	}
	module := filepath.Join(dir, "TraceData.tla")
	if err := os.Chmod(module, 0o600); err != nil { // embedded files are read-only
		return err
	}
	if err := os.WriteFile(module, history.Module(events), 0o600); err != nil {
		return err
	}
	return follow(tools, dir, len(events))
}

// follow runs TLC in a directory with all modules.
func follow(tools, dir string, events int) error {
	summary, _, err := runner.TLC{Tools: tools, Dir: dir, Scratch: dir}.Check("MCTraceCore.cfg", "MCTraceCore")
	switch {
	case err != nil:
		return err
	case summary.Verdict == "ok" && summary.States == events+1:
		fmt.Printf("ok: %d events are a behaviour\n", events)
		return nil
	case summary.Verdict == "ok":
		return fmt.Errorf("TLC has followed %d of %d events", summary.States-1, events)
	}
	return fmt.Errorf("%s does not hold, after %d events of %d", summary.Verdict, summary.Trace-1, events)
}
