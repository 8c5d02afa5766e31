package conformance_test

import (
	"fmt"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/internal/kept"
	"gaugeblock/internal/race"
	"gaugeblock/tools/reference"
)

// TestCampaigns: how far campaigns get until enough is checked or they are stopped, and what they have not met by then.
func TestCampaigns(t *testing.T) {
	if race.Enabled {
		t.Skip("a search of one goroutine, of which the race detector sees nothing")
	}
	got := ""
	for i, c := range []conformance.Campaign{
		{Operations: 300, Length: 40, Cap: 500},
		{Operations: 300, Length: 40, Cap: 500, Seed: 7, Stride: 3, FaultsEvery: 2, Faults: 2},
		{Operations: 1, Length: 100},
		{Operations: 1},
		{Operations: 1000, Length: 30},
	} {
		c.Area, c.Options = conformance.Areas()[i%2], conformance.Options{New: reference.New, Every: 20}
		progress := ""
		c.Progress = func(checked int) { progress += fmt.Sprint(" ", checked) }
		asked := 0
		c.Stopped = func() bool { asked++; return i == 4 && asked > 3 }
		o := c.Run()
		got += fmt.Sprintf("%s\nfailure %v, labels %v, progress%s\n", o.String(), o.Failure, o.Labels, progress)
	}
	kept.Compare(t, "testdata/campaigns.txt", got)
}
