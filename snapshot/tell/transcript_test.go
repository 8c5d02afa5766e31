package tell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
)

// TestTranscripts compares what is reported with testdata/transcripts.
//
//	whatif SNAPSHOT [limit=BYTES] [from=N] [search]
//
// compares the settings of the input, one a line ("default" for the empty string). from
// removes that number of entries from the beginning of the history.
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
			h, err := play.FromSnapshot(cut(f, from), 0)
			if err != nil {
				return err.Error() + "\n"
			}
			o := compare.Options{Limit: uint64(limit), SearchLimit: d.HasArg("search"), AsRecorded: d.HasArg("recorded")}
			for line := range strings.Lines(d.Input) {
				o.Settings = append(o.Settings, strings.TrimPrefix(strings.TrimSpace(line), "default"))
			}
			comparison, err := compare.Compare(h, o)
			if err != nil {
				return err.Error() + "\n"
			}
			return fmt.Sprintf("%s\n%s\n\n%s\n\n%s\n%s\n", strings.ReplaceAll(told(comparison).Verdict(), ". ", ".\n"), told(comparison).Export(),
				told(comparison).Table(tell.TableOptions{All: true}), strings.ReplaceAll(told(comparison).Details(), ". ", ".\n"), tell.Summary(h))
		})
	})
}
