package alone

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tla"
)

// Configurations are those that are explored, each a name in tla/configurations.json and constants with
// other values; of one with first=N, the first states and no more.
var Configurations = struct {
	Core, Expandable, Pools, Marks, Captures, Pages, Checkpoints, TwoStep, Settings, Faults, PoolFaults []string
}{
	Core: []string{
		"own_work", "oversize_tiny", "oversize_tiny Streams={1} Sizes={2,4,5}",
		"oversize_tiny MaxNonSplitRounding=4", "oversize_tiny MaxSplitSize=6 Sizes={2,6} Streams={1} Memory=12",
		"oversize_three", "oversize_three Sizes={4,6,8} Memory=14", "oversize_three Sizes={2,4,6} Memory=10",
		"core_tiny Streams={1}", "core_tiny Streams={1} Sizes={2,3}", "limit Streams={1}",
		"rounding Memory=8 Sizes={1,3,4}", "three_streams", "three_streams Memory=4 first=50000",
		"core_tiny MinLargeAlloc=2 Streams={1}", "core_tiny", "divisions", "divisions Sizes={9} Memory=16",
		"divisions Divisions=4 Sizes={9,11} Memory=16", "limit_rounded", "limit_truncated", "ties", "ties_block",
		"ties_segment",
		"oversize_tiny LargeBuffer=5 MinLargeAlloc=5 RoundLarge=4 MaxSplitSize=5 MaxNonSplitRounding=4 Sizes={4,9} Limit=16 Memory=20 Streams={1}",
		"oversize_tiny MaxSplitSize=6 Sizes={2,5} Streams={1} Memory=12",
	},
	Expandable: []string{
		"expandable_tiny", "expandable_holes", "expandable_holes Memory=8", "expandable_streams", "pages_streams",
		"pages_streams OwnWork=TRUE", "expandable_tiny Memory=8 Sizes={4}",
		"expandable_streams Memory=4 Sizes={2,3} OwnWork=FALSE", "pages_streams Memory=6 Sizes={2,4} first=20000",
	},
	Pools: []string{
		"pools_forbidden", "pools_tiny", "pools_tiny Streams={1} OverflowPools={1}", "pools_oversize Streams={1}",
		"pools_oversize Streams={1} Memory=12", "used_pools", "used_pools_oversize", "pools_oversize",
		"oversize_forbidden", "two_overflow", "overflow_first", "overflow_last", "no_split", "no_split_pages", "no_split_pages Memory=4 first=20000",
		"pool_end", "released_routed", "pool_cache", "pool_cache_two", "pool_cache_pages",
		"pools_tiny MinBlock=2 SmallSize=2 MinLargeAlloc=4 RoundLarge=2 Sizes={1} Memory=2",
		"pools_tiny OverflowPools={1} MaxUses=2 Memory=1 SmallBuffer=1", "pools_tiny Sizes={2} Memory=4 Streams={1}",
		"recorded_own", "pools_tiny Streams={1,2,3} Memory=1 SmallBuffer=1",
		"pools_tiny Limit=4 SmallBuffer=1 Memory=6 Streams={1}", "pools_tiny Memory=3 SmallBuffer=1 first=80000",
	},
	Marks: []string{
		"used_pools_mark", "used_streams_mark", "unmarked", "current_mark", "current_forbidden",
	},
	Captures: []string{
		"two_routings", "first_routing", "two_captures", "two_captures OverflowPools={1}",
		"two_captures PoolEndCompletesDeferred=TRUE first=20000",
	},
	Pages: []string{
		"pools_pages", "pools_pages RoutesUncaptured=TRUE UncapturedPools={1}", "two_pools_pages",
		"pools_pages_streams",
		"pools_pages ReleasesRouted=TRUE RoutesUncaptured=TRUE UncapturedPools={1} OverflowPools={} Memory=6 Sizes={2,6} first=20000",
	},
	Checkpoints: []string{
		"checkpoint_kept", "checkpoint_tiny", "checkpoint_oversize", "checkpoint_pages", "two_checkpoints",
		"checkpoint_streams", "checkpoint_again", "checkpoint_grown",
		"checkpoint_pages KeepsCheckpoints=TRUE Sizes={2,4} first=20000",
	},
	TwoStep: []string{
		"two_step_tiny", "two_step_tiny Memory=8 Limit=100 first=20000", "two_step_events", "two_step_faults",
	},
	Settings: []string{
		"settings_streams", "settings", "garbage_unlimited", "garbage", "garbage GarbageCollectionThreshold=10",
		"garbage_kinds", "garbage_streams", "need_memory", "need_memory_streams",
	},
	Faults: []string{
		"faults_kinds", "faults_oversize", "faults_pages_streams", "faults", "faults_pages",
	},
	PoolFaults: []string{
		"checkpoint_faults", "two_faults_oversize", "pool_faults", "pool_faults_pages", "capture_faults_pages",
		"capture_faults", "capture_faults MaxUses=2 Streams={1}", "two_faults", "two_faults_pages",
	},
}

// Open is a configuration, with all properties that hold at all bounds.
func Open(text string) (*bounded.Check, error) {
	list, err := tla.Configurations()
	if err != nil {
		return nil, err
	}
	constants := strings.Fields(text)
	named, unknown := tla.Named(list, constants[:1])
	if unknown != "" {
		return nil, fmt.Errorf("there is no configuration %q", unknown)
	}
	cfg, err := named[0].Config()
	if err != nil {
		return nil, err
	}
	first := 0
	for _, constant := range constants[1:] {
		name, value, _ := strings.Cut(constant, "=")
		if name == "first" {
			first, err = strconv.Atoi(value)
		} else {
			err = cfg.Set(name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	check, err := bounded.NewCheck(named[0].Mirror, cfg)
	if err != nil {
		return nil, err
	}
	check.CheckAlways()
	if first > 0 {
		states := 0
		check.Options.Progress = func(r explore.Result[*bounded.State]) { states = r.States }
		check.Options.Stopped = func() bool { return states > first }
	}
	return check, nil
}
