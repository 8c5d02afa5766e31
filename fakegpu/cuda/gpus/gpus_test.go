package gpus

import (
	"math"
	"slices"
	"testing"
)

// TestRates: memory and arithmetic are as fast as NVIDIA's data sheets say: GB/s, and 10^12 operations a second in
// single precision.
func TestRates(t *testing.T) {
	for word, want := range map[string][2]float64{
		"h200": {4800, 67}, "h100": {3350, 67}, "a100-80": {2039, 19.5}, "v100": {900, 15.7}, "t4": {320, 8.1}, "l4": {300, 30.3}, "4090": {1008, 82.6}, "3090": {936, 35.6},
		"l40s": {864, 91.6}, "a10": {600, 35}, "a6000": {768, 38.7}, "5090": {1792, 104.8},
	} {
		g, found := Find(word)
		if !found {
			t.Errorf("there is no %s", word)
			continue
		}
		for i, got := range []float64{g.BytesPerSecond() / 1e9, g.OperationsPerSecond() / 1e12} {
			if math.Abs(got/want[i]-1) > 0.05 {
				t.Errorf("%s: %.4g, not %.4g", word, got, want[i])
			}
		}
	}
	t4, _ := Find("t4")
	if t4.BytesPerSecond() != 320064e6 || t4.OperationsPerSecond() != 8140.8e9 {
		t.Errorf("%v bytes and %v operations a second", t4.BytesPerSecond(), t4.OperationsPerSecond())
	}
	if n := hundredths(2364); n != 25383206912 { // of 64 KiB, and with 64 KiB more it were 23.65 GiB
		t.Error(n)
	}
	if _, found := Find("h2000"); found {
		t.Error("there is an h2000")
	}
}

// TestAttributes: what is made of the table for a GPU that was not read is, for an H200, what was read on one.
func TestAttributes(t *testing.T) {
	h200 := All[0]
	h200.Word = "another"
	made := h200.Attributes()
	for number, value := range made {
		if value != readOnH200[number] && number != 109 { // the largest access window is less below Hopper
			t.Errorf("attribute %d: made %d, read %d", number, value, readOnH200[number])
		}
	}
	varying := []int{multiprocessors, clockRate, memoryClock, busWidth, l2Size, threadsOfAll, majorNumber, minorNumber, sharedOfAll, sharedOfBlock, blocksOfAll, persistingL2, sharedReserved, clusterLaunch}
	for _, number := range varying {
		if made[number] != readOnH200[number] {
			t.Errorf("attribute %d: made %d, read %d", number, made[number], readOnH200[number])
		}
	}
	for word, want := range map[string][]int{ // in this order
		"t4":      {40, 1590000, 5001000, 256, 4 << 20, 1024, 7, 5, 64 << 10, 64 << 10, 16, 0, 0, 0},
		"a100-80": {108, 1410000, 1593000, 5120, 40 << 20, 2048, 8, 0, 164 << 10, 163 << 10, 32, 25 << 20, 1 << 10, 0},
	} {
		g, _ := Find(word)
		var got []int
		for _, number := range varying {
			got = append(got, g.Attributes()[number])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", word, got, want)
		}
	}
	words := Words()
	if slices.Sort(words); len(slices.Compact(words)) != len(All) {
		t.Errorf("%v", words)
	}
	for _, g := range All {
		a := g.Attributes()
		if found, _ := Find(g.Word); found.Name != g.Name || a[16] != g.processors || a[75]*10+a[76] < 70 || a[81] < a[97] || g.Memory <= g.Context || g.MemoryFrom == "" {
			t.Errorf("%s: %v", g.Word, a)
		}
		if a[108] != 0 && a[75] < 8 || a[120] != 0 && a[75] < 9 {
			t.Errorf("%s of %d.%d has a persisting L2 or clusters", g.Word, a[75], a[76])
		}
	}
	if a := All[0].Attributes(); a[9] != 65536 || a[21] != readOnH200[21] {
		t.Error(a[9])
	} else if a[9] = 1; All[0].Attributes()[9] != 65536 {
		t.Error("a caller can change the table")
	}
}

// TestManagement: what the management library is told.
func TestManagement(t *testing.T) {
	for word, want := range map[string]string{"h200": "NVIDIA H200|5|644939776|9|0|1", "t4": "Tesla T4|5|0|7|5|0", "v100": "|5|0|7|0|1"} {
		g, _ := Find(word)
		if g.Word == "v100" {
			want = g.Name + want
		}
		if got := g.Management(5); got != want {
			t.Errorf("%s: %q, not %q", word, got, want)
		}
	}
}

// TestFind: a GPU is found by its word, in capitals too, and by nothing else.
func TestFind(t *testing.T) {
	for word, want := range map[string]string{"h200": "h200", "H200": "h200", "A100-80": "a100-80", "a100": "", "": "", "h200 ": ""} {
		if g, found := Find(word); g.Word != want || found != (want != "") {
			t.Errorf("%q: %q", word, g.Word)
		}
	}
}
