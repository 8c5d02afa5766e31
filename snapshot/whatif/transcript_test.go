package whatif_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/snapshot/whatif"
)

// TestTranscripts compares what is reported with testdata/transcripts.
//
//	whatif SNAPSHOT [limit=BYTES] [from=N] [search]
//
// compares the settings of the input, one a line ("default" for the empty string). from
// removes so many entries from the beginning of the history.
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
			h, err := whatif.FromSnapshot(cut(f, from), 0)
			if err != nil {
				return err.Error() + "\n"
			}
			o := whatif.Options{Limit: uint64(limit), SearchLimit: d.HasArg("search"), AsRecorded: d.HasArg("recorded")}
			for line := range strings.Lines(d.Input) {
				o.Settings = append(o.Settings, strings.TrimPrefix(strings.TrimSpace(line), "default"))
			}
			comparison, err := whatif.Compare(h, o)
			if err != nil {
				return err.Error() + "\n"
			}
			return fmt.Sprintf("%s\n%s\n\n%s\n\n%s\n%s\n", strings.ReplaceAll(comparison.Verdict(), ". ", ".\n"), comparison.Export(),
				comparison.Table(whatif.TableOptions{All: true}), strings.ReplaceAll(comparison.Details(), ". ", ".\n"), h.Summary())
		})
	})
}
