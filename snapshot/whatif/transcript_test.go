package whatif_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/snapshot/whatif"
)

// TestTranscripts asks what if, and compares what is told.
//
//	whatif SNAPSHOT [limit=BYTES] [from=N] [search]
//
// tries the settings of the input, one a line ("default" for the empty string). from
// takes so many entries off the beginning of the history.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "whatif" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var limit, from int
			d.MaybeScanArgs(t, "limit", &limit)
			d.MaybeScanArgs(t, "from", &from)
			f := snapshotOf(t, d.CmdArgs[0].Key)
			h, err := whatif.Rebuild(cut(f, from), 0)
			if err != nil {
				return err.Error() + "\n"
			}
			o := whatif.Options{Limit: uint64(limit), Search: d.HasArg("search")}
			for line := range strings.Lines(d.Input) {
				o.Settings = append(o.Settings, strings.TrimPrefix(strings.TrimSpace(line), "default"))
			}
			study, err := whatif.Try(h, o)
			if err != nil {
				return err.Error() + "\n"
			}
			return fmt.Sprintf("%s\n\n%s\n\n%s\n%s\n", h.Summary(), study.Table(),
				strings.ReplaceAll(study.Advice(), ". ", ".\n"), study.Export())
		})
	})
}
