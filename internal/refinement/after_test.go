package refinement

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// callsAfter are the driver calls that operations have made although one had failed.
type callsAfter map[callAfter]bool

func (c callsAfter) add(sys *System) {
	for call := range sys.after {
		c[call] = true
	}
}

// wantAfter lists, by the operation and the call that failed, all calls that an operation makes
// afterwards in the graphs. docs/verification.md explains them. Where an operation and a call are
// not here the operation ends with the failure.
var wantAfter = []string{
	"EmptyCache: FreeAddress, then [FreeAddress]",
	"EmptyCache: ReleasePage, then [MapPage SetAccess]",
	"malloc without memory: CreatePage, then [CaptureStatus CreatePage FreeAddress MapPage ReleasePage ReserveAddress SetAccess SynchronizeEvent SynchronizeStream UnmapPage]",
	"malloc without memory: Malloc, then [Free Malloc SynchronizeEvent]",
	"malloc: FreeAddress, then [FreeAddress]",
	"malloc: MapPage, then [ReleasePage]",
	"malloc: ReleasePage, then [MapPage SetAccess]",
	"malloc: SetAccess, then [ReleasePage UnmapPage]",
}

func (c callsAfter) check(t *testing.T) {
	operation := func(name string) string {
		switch name {
		case "RefusedMalloc", "RefusedTwiceMalloc", "RefusedDriverMalloc":
			return "malloc without memory"
		case "FailedMalloc", "RefusedFailedMalloc":
			return "malloc"
		}
		return strings.TrimPrefix(name, "Failed")
	}
	lists := map[string][]string{}
	for call := range c {
		key := fmt.Sprintf("%s: %s", operation(call.operation), call.failed)
		lists[key] = append(lists[key], call.call)
	}
	var got []string
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		list := lists[key]
		slices.Sort(list)
		got = append(got, fmt.Sprintf("%s, then %v", key, slices.Compact(list)))
	}
	if d := cmp.Diff(wantAfter, got); d != "" {
		t.Errorf("what is called after a failure (+) is not what is expected (-):\n%s", d)
	}
}
