package linearizability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// An area is a mixture of operations, with the setups of its programs.
type area struct {
	// setups are those of which one is drawn, as explore commands have them.
	setups []string
	// before is what is done before the threads.
	before string
	// after is what is done after them.
	after string
	// ops are the operations, or sequences of them, of which the threads' are drawn.
	ops []string
}

// The words in braces are drawn:
//
//	{new}      a name that nothing has
//	{x}        a name that may have an allocation
//	{c}, {o}   one that may have a checkpoint, or opened memory
//	{size}     bytes of a malloc
//	{s} {d} {p} {h}  a stream, a device, a private pool, a handle
//	{config}   settings
var areas = map[string]area{
	"core": {
		setups: []string{"streams=2 recorded", "streams=2 recorded limit=24MiB memory=64MiB functions=(observer-calls)", "streams=2 limit=48MiB memory=64MiB settings=(max_split_size_mb:20)", "streams=2 callback=(x,n1,y)", "limit=48MiB memory=64MiB settings=(garbage_collection_threshold:0.4) streams=2"},
		before: "malloc x {size}; malloc y {size} stream=1; malloc z {size}; free z",
		ops: []string{
			"malloc {new} {size}", "malloc {new} {size}", "malloc {new} {size} stream=1", "free {x}", "free {x}", "free {x}",
			"record_stream {x} stream=2", "busy stream=2", "drain stream=2", "empty_cache", "stats", "snapshot", "cache_info 512B",
			"base_allocation {x}", "inspect", "on_out_of_memory", "set_memory_fraction 0.5",
		},
	},
	"functions": {
		setups: []string{
			"streams=1 limit=24MiB memory=64MiB functions=(observer-calls,observer-waits)", "streams=1 limit=24MiB memory=64MiB functions=(callback-calls,callback-waits)",
			"streams=1 limit=24MiB memory=64MiB unjudged functions=(observer-panics)", "streams=1 limit=24MiB memory=64MiB unjudged functions=(callback-panics)",
			"streams=1 limit=24MiB memory=64MiB unjudged functions=(tracker-panics)",
			"streams=1 limit=24MiB memory=64MiB unjudged functions=(observer-panics,callback-calls) settings=(release_lock_on_cudamalloc:True)",
		},
		before: "malloc x {size}; malloc y {size}",
		ops: []string{
			"malloc {new} {size}", "malloc {new} {size} stream=1", "malloc {new} 20MiB", "malloc {new} 30MiB", "free {x}", "free {x}", "record_stream {x} stream=1",
			"locked_stats", "locked_stats", "stats", "empty_cache", "snapshot",
		},
	},
	"released": {
		setups: []string{"streams=2 recorded settings=(release_lock_on_cudamalloc:True)", "streams=2 recorded limit=48MiB memory=64MiB settings=(release_lock_on_cudamalloc:True)"},
		before: "malloc x {size}; malloc y {size}",
		ops: []string{
			"malloc {new} {size}", "malloc {new} {size}", "malloc {new} 20MiB stream={s}", "free {x}", "free {x}", "record_stream {x} stream=2",
			"empty_cache", "busy stream=2", "stats", "snapshot",
		},
	},
	"pools": {
		setups: []string{"streams=2", "streams=2 settings=(release_lock_on_cudamalloc:True)"},
		before: "pool_begin pool=1 stream=1; malloc x {size} stream=1; malloc y {size}",
		after:  "free n1; free n2; free n3",
		ops: []string{
			"malloc {new} {size} stream=1", "malloc {new} {size} stream=1", "malloc {new} {size}", "free {x}", "free {x}", "pool_create pool={p}",
			"pool_begin pool={p} stream={s}", "pool_end pool={p}", "pool_end pool=1", "pool_release pool={p}", "pool_release pool=1", "pool_end pool=1; pool_release pool=1; empty_cache",
			"empty_pool pool={p}", "pool_use_count pool={p}", "empty_cache", "record_stream {x} stream=2", "busy stream=2", "snapshot_pool pool={p}", "stats",
		},
	},
	"captures": {
		setups: []string{"streams=2"},
		before: "malloc x {size} stream=1; malloc y {size}; record_stream y stream=2",
		ops: []string{
			"pool_begin pool={p} stream=1; capture_begin stream=1; malloc {new} {size} stream=1; free {x}; capture_end stream=1; pool_end pool={p}",
			"malloc {new} {size}", "malloc {new} {size}", "free {x}", "free {x}", "record_stream {x} stream=2", "busy stream=2", "drain stream=2",
			"empty_cache", "stats", "pool_release pool={p}",
		},
	},
	"checkpoints": {
		setups: []string{"streams=2"},
		before: "pool_begin pool=1 stream=1; malloc x {size} stream=1; malloc y {size} stream=1; checkpoint c pool=1; free y",
		ops: []string{
			"restore c", "restore c", "restore {c}", "checkpoint {new} pool=1", "malloc {new} {size} stream=1", "malloc {new} {size} stream=1", "free {x}", "free {x}",
			"pool_end pool=1", "pool_release pool=1", "empty_cache", "stats", "snapshot",
		},
	},
	"devices": {
		setups: []string{"devices=2 streams=2"},
		before: "malloc x {size}; malloc y {size} device=1; record_stream x stream=1 on=1; record_stream y stream=1 on=1",
		ops: []string{
			"malloc {new} {size} device={d}", "malloc {new} {size} device={d}", "free {x}", "free {x}", "free {x}", "record_stream {x} stream={s} on={d}",
			"record_stream {x} stream=1 on=1", "busy stream=1 device=1", "drain stream=1 device={d}", "empty_cache", "close", "stats device={d}",
			"base_allocation {x}", "peer_access device={d}", "copy_kind device={d}",
		},
	},
	"uncached": {
		setups: []string{"streams=1", "streams=1 devices=2", "streams=1 uncached"},
		before: "malloc x {size}; enable off; malloc y {size}; enable on; malloc z {size}",
		ops: []string{
			"enable off", "enable on", "malloc {new} {size}", "malloc {new} {size}", "malloc {new} 20MiB", "free {x}", "free {x}", "record_stream {x} stream=1",
			"base_allocation {x}", "stats", "empty_cache", "enabled",
		},
	},
	"sharing": {
		setups: []string{"devices=2 streams=1 handles=3", "devices=2 streams=1 handles=2 settings=(expandable_segments:True)"},
		before: "malloc x {size}; malloc y {size}; open_shared o handle=1",
		ops: []string{
			"share {x}", "share {x}", "open_shared {new} handle={h}", "open_shared {new} handle=0", "close_shared {o}", "close_shared o", "peer_access device={d}",
			"malloc {new} {size}", "free {x}", "empty_cache", "copy_kind device={d}",
		},
	},
	"settings": {
		setups: []string{"devices=2 streams=1"},
		before: "malloc x {size}; malloc y {size}; free y",
		after:  "malloc p 1100KiB; malloc q 1100KiB device=1",
		ops: []string{
			"configure {config}", "configure {config}", "config", "malloc {new} {size}", "malloc {new} {size}", "free {x}", "set_memory_fraction 0.5",
			"memory_fraction", "stats", "stats", "reset_peak_stats", "reset_accumulated_stats", "cache_info 1MiB", "cache_info 0B", "empty_cache",
		},
	},
	"history": {
		setups: []string{"streams=1", "devices=2 streams=1"},
		before: "record_history on; malloc x {size}; malloc y {size}",
		ops: []string{
			"record_history on", "record_history off", "record_history context", "on_trace", "annotate", "annotate", "push_compile_context", "pop_compile_context",
			"set_user_metadata {config}", "user_metadata", "snapshot", "malloc {new} {size}", "malloc {new} {size}", "free {x}",
		},
	},
	// Both tables of pointers are half full, so that they are rebuilt while they are read.
	"pointers": {
		setups: []string{"devices=2"},
		before: fillTable(),
		ops: []string{
			"malloc {new} 512B", "malloc {new} 512B", "malloc {new} 512B device=1", "malloc {new} 512B device=1; free b1", "free {x}", "free {x}",
			"free {x}; malloc {new} 512B", "record_stream {x} stream=0", "base_allocation {x}",
		},
	},
	"faults": {
		setups: []string{"streams=2 handles=2 unjudged", "streams=2 handles=2 unjudged settings=(expandable_segments:True)"},
		before: "malloc x {size}; malloc y {size}; record_stream x stream=2",
		ops: []string{
			"fault MapPage; malloc {new} 30MiB", "fault SetAccess; fault UnmapPage; malloc {new} 30MiB", "fault SetAccess; fault ReleasePage; malloc {new} 30MiB", "fault CreatePage; fault ReleasePage; malloc {new} 30MiB",
			"fault UnmapPage; empty_cache", "fault ReleasePage; empty_cache", "fault Free; empty_cache", "fault Malloc; malloc {new} {size}",
			"fault RecordEvent; free {x}", "fault CreateEvent; free {x}", "fault QueryEvent; malloc {new} {size}", "fault SynchronizeEvent; empty_cache", "fault DestroyEvent; close",
			"record_stream {x} stream=2", "malloc {new} {size}", "free {x}", "empty_cache", "close", "inspect", "stats",
			"fault MapPage; fault FreeAddress; open_shared {new} handle=1", "fault SetAccess; fault UnmapPage; open_shared {new} handle=1",
		},
	},
	"reuse": {
		setups: []string{"streams=2 unjudged settings=(graph_capture_record_stream_reuse:True)", "streams=2 unjudged settings=(release_lock_on_cudamalloc:True)"},
		before: "pool_create_memory pool=2; malloc x {size} stream=1; malloc y {size}; record_stream y stream=2",
		ops: []string{
			"pool_begin pool=1 stream=1; capture_begin stream=1; launch stream=1; malloc {new} 1MiB stream=1; launch stream=1; record_stream {x} stream=2; free {x}; malloc {new} 1MiB stream=1; capture_end stream=1; pool_end pool=1",
			"pool_begin pool=2 stream=2; malloc {new} {size} stream=2; pool_end pool=2", "pool_release pool=2; pool_release pool=2; empty_cache", "free {x}", "malloc {new} {size}",
			"record_stream {x} stream=2", "inspect", "empty_cache", "stats",
		},
	},
	"expandable": {
		setups: []string{"streams=2 settings=(expandable_segments:True)", "streams=2 limit=44MiB settings=(expandable_segments:True)"},
		before: "malloc x {size}; malloc y {size}; free y",
		ops: []string{
			"malloc {new} {size}", "malloc {new} {size}", "malloc {new} {size} stream=1", "free {x}", "free {x}", "record_stream {x} stream=2", "busy stream=2",
			"empty_cache", "stats", "snapshot", "expandable_segment_sizes",
		},
	},
}

var (
	sizeWords   = []string{"512B", "512B", "1MiB", "2MiB", "9MiB", "12MiB", "20MiB", "20MiB", "30MiB"}
	configWords = []string{"max_split_size_mb:20", "max_split_size_mb:30", "roundup_power2_divisions:4", "roundup_power2_divisions:8", "expandable_segments:True", "expandable_segments:False", "garbage_collection_threshold:0.5", "max_non_split_rounding_mb:22"}
)

// fillTable allocates so much on two devices that the next allocations make the tables of pointers
// larger.
func fillTable() string {
	var ops []string
	for i := range 32 {
		ops = append(ops, fmt.Sprintf("malloc a%d 512B; malloc b%d 512B device=1", i, i))
	}
	return strings.Join(ops, "; ")
}

// generator draws a program.
type generator struct {
	*rand.Rand
	names                        int
	mallocs, checkpoints, opened []string
}

// draw draws a setup and a program of two or three threads, with one to three operations each.
func (a *area) draw(r *rand.Rand) (s Setup, p Program, err error) {
	g := &generator{Rand: r}
	text := "before: " + g.fill(a.before)
	for thread := range 2 + r.IntN(2)*r.IntN(2) {
		var ops []string
		for range 1 + r.IntN(3) {
			ops = append(ops, g.fill(a.ops[r.IntN(len(a.ops))]))
		}
		text += fmt.Sprintf("\n%c: %s", 'A'+thread, strings.Join(ops, "; "))
	}
	if a.after != "" {
		text += "\nafter: " + g.fill(a.after)
	}
	command := "explore pauses=(every) " + a.setups[r.IntN(len(a.setups))]
	s, p, _, err = ParseCommand(command + "\n" + text)
	return s, p, err
}

// fill draws the words in braces. What an operation makes can be used by the operations that are
// drawn later, of whatever thread.
func (g *generator) fill(template string) string {
	var ops []string
	for op := range strings.SplitSeq(template, "; ") {
		words := strings.Fields(op)
		for i, word := range words {
			words[i] = g.word(word)
		}
		if len(words) > 1 {
			switch words[0] {
			case "malloc":
				g.mallocs = append(g.mallocs, words[1])
			case "checkpoint":
				g.checkpoints = append(g.checkpoints, words[1])
			case "open_shared":
				g.opened = append(g.opened, words[1])
			}
		}
		ops = append(ops, strings.Join(words, " "))
	}
	return strings.Join(ops, "; ")
}

func (g *generator) word(word string) string {
	key, value, assigned := strings.Cut(word, "=")
	if !assigned {
		value = word
	}
	one := func(list []string) string { return list[g.IntN(len(list))] }
	switch value {
	case "{new}":
		g.names++
		value = fmt.Sprintf("n%d", g.names)
	case "{x}":
		value = one(g.mallocs)
	case "{c}":
		value = one(g.checkpoints)
	case "{o}":
		value = one(g.opened)
	case "{size}":
		value = one(sizeWords)
	case "{config}":
		value = one(configWords)
	case "{s}", "{d}", "{h}":
		value = fmt.Sprint(g.IntN(2))
	case "{p}":
		value = fmt.Sprint(1 + g.IntN(2))
	}
	if assigned {
		return key + "=" + value
	}
	return value
}

// areaNames lists the areas.
func areaNames() (names []string) {
	for name := range areas {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
