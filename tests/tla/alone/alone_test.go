package alone

import (
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tla"
)

func TestCore(t *testing.T) {
	holds(t, "own_work", "oversize_tiny", "oversize_tiny Streams={1} Sizes={2,4,5}", "oversize_tiny MaxNonSplitRounding=4", "oversize_tiny MaxSplitSize=6 Sizes={2,6} Streams={1} Memory=12",
		"oversize_three", "oversize_three Sizes={4,6,8} Memory=14", "oversize_three Sizes={2,4,6} Memory=10", "core_tiny Streams={1}", "core_tiny Streams={1} Sizes={2,3}", "limit Streams={1}", "rounding Memory=8 Sizes={1,3,4}",
		"three_streams", "three_streams Memory=4 first=50000", "core_tiny MinLargeAlloc=2 Streams={1}", "core_tiny", "divisions", "divisions Sizes={9} Memory=16", "divisions Divisions=4 Sizes={9,11} Memory=16", "limit_rounded", "limit_truncated", "ties", "ties_block", "ties_segment", "oversize_tiny LargeBuffer=5 MinLargeAlloc=5 RoundLarge=4 MaxSplitSize=5 MaxNonSplitRounding=4 Sizes={4,9} Limit=16 Memory=20 Streams={1}", "oversize_tiny MaxSplitSize=6 Sizes={2,5} Streams={1} Memory=12")
}

func TestExpandable(t *testing.T) {
	holds(t, "expandable_tiny", "expandable_holes", "expandable_holes Memory=8", "expandable_streams", "pages_streams", "pages_streams OwnWork=TRUE", "expandable_tiny Memory=8 Sizes={4}", "expandable_streams Memory=4 Sizes={2,3} OwnWork=FALSE",
		"pages_streams Memory=6 Sizes={2,4} first=20000")
}

func TestPools(t *testing.T) {
	holds(t, "pools_forbidden", "pools_tiny", "pools_tiny Streams={1} OverflowPools={1}", "pools_oversize Streams={1}", "pools_oversize Streams={1} Memory=12", "used_pools", "used_pools_oversize", "pools_oversize",
		"oversize_forbidden", "two_overflow", "overflow_first", "overflow_last", "no_split", "no_split_pages", "pool_end", "released_routed", "pools_tiny MinBlock=2 SmallSize=2 MinLargeAlloc=4 RoundLarge=2 Sizes={1} Memory=2", "pools_tiny OverflowPools={1} MaxUses=2 Memory=1 SmallBuffer=1", "pools_tiny Sizes={2} Memory=4 Streams={1}", "recorded_own",
		"pools_tiny Streams={1,2,3} Memory=1 SmallBuffer=1", "pools_tiny Limit=4 SmallBuffer=1 Memory=6 Streams={1}", "pools_tiny Memory=3 SmallBuffer=1 first=80000")
}

func TestMarks(t *testing.T) {
	holds(t, "used_pools_mark", "used_streams_mark", "unmarked", "current_mark", "current_forbidden")
}

func TestCaptures(t *testing.T) {
	holds(t, "two_routings", "first_routing", "two_captures", "two_captures OverflowPools={1}", "two_captures PoolEndCompletesDeferred=TRUE first=20000")
}

func TestPages(t *testing.T) {
	holds(t, "pools_pages", "pools_pages RoutesUncaptured=TRUE UncapturedPools={1}", "two_pools_pages", "pools_pages_streams",
		"pools_pages ReleasesRouted=TRUE RoutesUncaptured=TRUE UncapturedPools={1} OverflowPools={} Memory=6 Sizes={2,6} first=20000")
}

func TestCheckpoints(t *testing.T) {
	holds(t, "checkpoint_kept", "checkpoint_tiny", "checkpoint_oversize", "checkpoint_pages", "two_checkpoints", "checkpoint_streams", "checkpoint_again", "checkpoint_grown",
		"checkpoint_pages KeepsCheckpoints=TRUE Sizes={2,4} first=20000")
}

func TestTwoStep(t *testing.T) {
	holds(t, "two_step_tiny", "two_step_tiny Memory=8 Limit=100 first=20000", "two_step_events", "two_step_faults")
}

func TestSettings(t *testing.T) {
	holds(t, "settings_streams", "settings", "garbage_unlimited", "garbage", "garbage GarbageCollectionThreshold=10", "garbage_kinds", "garbage_streams", "need_memory", "need_memory_streams")
}

func TestFaults(t *testing.T) {
	holds(t, "faults_kinds", "faults_oversize", "faults_pages_streams", "faults", "faults_pages")
}

func TestPoolFaults(t *testing.T) {
	holds(t, "checkpoint_faults", "two_faults_oversize", "pool_faults", "pool_faults_pages", "capture_faults_pages", "capture_faults", "capture_faults MaxUses=2 Streams={1}",
		"two_faults", "two_faults_pages")
}

// holds explores configurations, each a name in tla/configurations.json and constants with other
// values; of one with first=N, the first states and no more. All properties that can be checked are, the first that fails is told.
func holds(t *testing.T, configurations ...string) {
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range configurations {
		if allrows.Without(i, 3) {
			continue
		}
		name, constants, _ := strings.Cut(text, " ")
		named, unknown := tla.Named(list, []string{name})
		if unknown != "" {
			t.Fatalf("there is no configuration %q", unknown)
		}
		t.Run(strings.ReplaceAll(text, " ", "_"), func(t *testing.T) {
			constants, first, isPart := strings.Cut(constants, "first=")
			check := open(t, named[0], strings.Fields(constants))
			check.Options.Workers = 1
			if isPart {
				stopAfter(t, &check.Options, first)
			}
			if v := explore.Explore(check.Module, check.Options).Violation; v != nil {
				t.Run(v.Property, func(t *testing.T) {
					for _, step := range v.Trace {
						t.Log(step.Label)
					}
					t.Fail()
				})
			}
		})
	}
}

// stopAfter stops an exploration when it has found so many states.
func stopAfter(t *testing.T, options *explore.Options[*bounded.State], first string) {
	most, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	states := 0
	options.Progress = func(r explore.Result[*bounded.State]) { states = r.States }
	options.Stopped = func() bool { return states > most }
}

func open(t *testing.T, c tla.Configuration, constants []string) *bounded.Check {
	cfg, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, constant := range constants {
		name, value, _ := strings.Cut(constant, "=")
		if err := cfg.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	check, err := bounded.NewCheck(c.Mirror, cfg)
	if err != nil {
		t.Fatal(err)
	}
	check.CheckAlways()
	return check
}
