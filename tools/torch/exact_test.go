package torch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/wheel"
	"gaugeblock/upstream"
)

// TestMallocAt: requests that name their address, which no trace has, are answered alike by the
// reference and by the libraries of each release that has them, in random programs: in pools that
// are split and that are not, in expandable segments, on other streams, at places that are free,
// allocated or no multiple of 512 bytes.
func TestMallocAt(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor for each release, and the race detector sees nothing of it")
	}
	tested := 0
	for _, version := range wheel.Have() {
		o, err := Find(version, t.TempDir())
		must(t, err)
		if o.Release().Tried != version || o.Release().Rules.ExactAddress == upstream.NoExactAddress {
			continue
		}
		tested++
		if allrows.Without(tested-1, 3) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o.Work = t.TempDir()
			needs(t, binary.Build(o))
			mallocsAt(t, o)
		})
	}
	if tested == 0 {
		t.Skip("no release since 2.13 is here: gaugeblock torch get 2.15")
	}
}

func mallocsAt(t *testing.T, o binary.Options) {
	var programs []program
	var all [][]string
	for seed := range uint64(300) {
		programs = append(programs, programAt(seed))
		if len(programs)%20 == 0 { // more are too long for the variable
			answers, err := apart(o, programs[len(all):])
			must(t, err)
			all = append(all, answers...)
		}
	}
	at := map[string]int{} // how requests at an address ended
	for i, p := range programs {
		ours, err := p.perform(o.Release().Name)
		must(t, err)
		if answers := p.beside(ours, all[i]); strings.Contains(answers, "  PyTorch:") {
			t.Fatalf("seed %d:\n%s", i, answers)
		}
		for j, line := range p.lines {
			if strings.HasPrefix(line, "malloc-at") {
				first, _, _ := strings.Cut(ours[j], " ")
				at[first]++
			}
		}
	}
	t.Log(at)
	if at["alloc"] < 100 || at["error:"] < 100 {
		t.Error("too few requests got their address, or too few were refused")
	}
}

// programAt makes a program up that names addresses.
func programAt(seed uint64) (p program) {
	random := rand.New(rand.NewPCG(seed, 28))
	sizes := []string{"512B", "1KiB", "100KiB", "1MiB", "2MiB", "5MiB", "11MiB", "20MiB"}
	offsets := []string{"0B", "0B", "512B", "100B", "1MiB", "2MiB", "3MiB", "12MiB"}
	one := func(of []string) string { return of[random.IntN(len(of))] }
	say := func(format string, args ...any) { p.lines = append(p.lines, fmt.Sprintf(format, args...)) }
	say("new settings=%s", one([]string{"", "expandable_segments:True", "max_split_size_mb:21"}))
	if random.IntN(2) == 0 {
		say("pool-create pool=1%s", one([]string{"", " no-split", " no-split"}))
		say("pool-begin pool=1 stream=0")
	}
	for n := range 12 {
		say("malloc b%d %s stream=%d", n, one(sizes), random.IntN(2))
		if random.IntN(2) == 0 {
			say("free b%d", n)
			say("malloc-at a%d %s b%d %s stream=%d", n, one(sizes[:5]), n, one(offsets), random.IntN(4)/3)
			say("layout")
			say("stats allocated_bytes.all.current active_bytes.all.peak requested_bytes.all.current inactive_split.all.current")
		}
	}
	return p
}
