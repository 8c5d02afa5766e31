package fakegpu_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestContentsAgainstBytes does random fills, copies and launches, and keeps the
// same contents byte by byte. The first half of the memory is a piece; the second
// is a range in which three pages are mapped, the first of them twice, so that
// ranges cross pages and the same byte has two addresses.
func TestContentsAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newContentsModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       c.check,
			"fill":   c.fill,
			"copy":   c.copy,
			"launch": c.launch,
		})
	})
}

const (
	contentsPage  = 16
	contentsBytes = 4 * contentsPage // of the piece, and of the range
)

// contentsModel keeps the bytes of the piece and of the pages; index is where each
// address finds its byte.
type contentsModel struct {
	gpu  *fakegpu.GPU
	base [2]spec.Ptr
	data []byte // of the piece, then of the three pages
}

func newContentsModel(t *rapid.T) *contentsModel {
	g := fakegpu.New(fakegpu.Config{PageGranularity: contentsPage})
	c := &contentsModel{gpu: g, data: bytes.Repeat([]byte{0xa5}, contentsBytes+3*contentsPage)}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	c.base[0], err = g.Malloc(0, contentsBytes)
	must(err)
	c.base[1], err = g.ReserveAddress(0, contentsBytes)
	must(err)
	for i := range 3 {
		h, err := g.CreatePage(0, contentsPage, spec.SharePOSIX)
		must(err)
		must(g.MapPage(c.base[1]+spec.Ptr(i*contentsPage), contentsPage, h))
		if i == 0 {
			must(g.MapPage(c.base[1]+3*contentsPage, contentsPage, h))
		}
	}
	must(g.SetAccess(c.base[1], contentsBytes, 0))
	return c
}

// area is a range of addresses of the piece (0) or of the pages (1).
type contentsArea struct{ which, from, bytes int }

func (c *contentsModel) draw(t *rapid.T, name string, size int) contentsArea {
	a := contentsArea{which: rapid.IntRange(0, 1).Draw(t, name), bytes: size}
	a.from = rapid.IntRange(0, contentsBytes-size).Draw(t, name+" from")
	return a
}

func (c *contentsModel) rng(a contentsArea) spec.Range {
	return spec.Range{Ptr: c.base[a.which] + spec.Ptr(a.from), Bytes: uint64(a.bytes)}
}

// index is where the i-th byte of an area is kept.
func (c *contentsModel) index(a contentsArea, i int) int {
	if a.which == 0 {
		return a.from + i
	}
	return contentsBytes + (a.from+i)%(3*contentsPage)
}

func (c *contentsModel) load(a contentsArea) []byte {
	data := make([]byte, a.bytes)
	for i := range data {
		data[i] = c.data[c.index(a, i)]
	}
	return data
}

func (c *contentsModel) store(a contentsArea, data []byte) {
	for i, b := range data {
		c.data[c.index(a, i)] = b
	}
}

func (c *contentsModel) check(t *rapid.T) {
	for which := range 2 {
		all := contentsArea{which, 0, contentsBytes}
		got, err := c.gpu.ReadBack(0, 0, c.rng(all))
		if want := c.load(all); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("area %d (%v)\n got % x\nwant % x", which, err, got, want)
		}
	}
}

// size draws a size, at most three pages, so that no area has the same byte twice.
func (c *contentsModel) size(t *rapid.T) int {
	return rapid.IntRange(0, 3*contentsPage).Draw(t, "size")
}

func (c *contentsModel) fill(t *rapid.T) {
	a := c.draw(t, "target", c.size(t))
	value := rapid.Byte().Draw(t, "value")
	if err := c.gpu.Fill(0, 0, c.rng(a), value); err != nil {
		t.Fatal(err)
	}
	c.store(a, bytes.Repeat([]byte{value}, a.bytes))
}

func (c *contentsModel) copy(t *rapid.T) {
	size := c.size(t)
	from, to := c.draw(t, "source", size), c.draw(t, "target", size)
	err := c.gpu.Copy(spec.Copy{Src: c.rng(from).Ptr, Dst: c.rng(to).Ptr, Bytes: uint64(size)})
	if err != nil {
		t.Fatal(err)
	}
	c.store(to, c.load(from))
}

func (c *contentsModel) launch(t *rapid.T) {
	a := c.draw(t, "target", c.size(t))
	before := c.load(a)
	if err := c.gpu.Launch(spec.Launch{Writes: []spec.Range{c.rng(a)}}); err != nil {
		t.Fatal(err)
	}
	written, err := c.gpu.ReadBack(0, 0, c.rng(a))
	if err != nil {
		t.Fatal(err)
	}
	if len(written) >= 8 && bytes.Equal(written, before) {
		t.Fatalf("a launch wrote what was there")
	}
	c.store(a, written)
}
