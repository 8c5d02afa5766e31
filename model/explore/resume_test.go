package explore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/explore"
)

// cube is three counters, each from 0 to max, that go up and down. It has (max+1)^3 states.
type cube struct{ max byte }

func (cube) Labels() []string { return []string{"Up", "Down"} }
func (cube) Initial() [][3]byte {
	return [][3]byte{{}}
}
func (cube) Key(to []byte, s [3]byte) []byte { return append(to, s[:]...) }
func (cube) Decoder() func([]byte) [3]byte   { return func(key []byte) [3]byte { return [3]byte(key) } }
func (c cube) Next(s [3]byte, yield func(int, [3]byte)) {
	for i := range s {
		up, down := s, s
		if up[i]++; s[i] < c.max {
			yield(0, up)
		}
		if down[i]--; s[i] > 0 {
			yield(1, down)
		}
	}
}

// in explores the cube in a directory.
func in(dir string, o explore.Options[[3]byte]) (explore.Result[[3]byte], error) {
	return explore.ExploreWith(cube{14}, o, explore.Resources{Dir: dir, Identity: "cube of 14"})
}

// copyDir copies the files of a directory as they are, while another process might write them.
func copyDir(t *testing.T, from string) string {
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestDirectory: an exploration in a directory has the result of one in memory.
func TestDirectory(t *testing.T) {
	want := explore.Explore(cube{14}, explore.Options[[3]byte]{Workers: 1})
	if want.States != 15*15*15 || want.Depth != 43 || want.Edges != 3*2*14*15*15 {
		t.Fatalf("%+v", want)
	}
	defer explore.SetBatch(100)()
	for workers := 1; workers <= 3; workers++ {
		got, err := in(t.TempDir(), explore.Options[[3]byte]{Workers: workers})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	}
}

// TestResume: whenever the process ends, another one can go on from the files as they are
// then, and has the same result.
func TestResume(t *testing.T) {
	bad := [3]byte{14, 7, 14}
	options := explore.Options[[3]byte]{Invariants: []explore.Invariant[[3]byte]{{Name: "P", Holds: func(s [3]byte) bool { return s != bad }}}}
	for name, o := range map[string]explore.Options[[3]byte]{"all states": {}, "a violation": options} {
		t.Run(name, func(t *testing.T) {
			want := explore.Explore(cube{14}, o)
			if (want.Violation == nil) != (len(o.Invariants) == 0) {
				t.Fatalf("%+v", want)
			}
			defer explore.SetBatch(100)() // some levels have more than one batch
			var left []string
			dir := t.TempDir()
			calls := 0
			stopping := o
			stopping.Progress = func(explore.Result[[3]byte]) {
				if calls++; calls%9 == 0 {
					left = append(left, copyDir(t, dir)) // after the batch, before its checkpoint
				}
			}
			if got, err := in(dir, stopping); err != nil || cmp.Diff(want, got) != "" {
				t.Fatalf("%v %s", err, cmp.Diff(want, got))
			}
			if len(left) < 3 {
				t.Fatalf("the process ended %d times only", len(left))
			}
			for _, dir := range append(left, dir) { // the last one is finished
				if got, err := in(dir, o); err != nil || cmp.Diff(want, got) != "" {
					t.Errorf("%v %s", err, cmp.Diff(want, got))
				}
			}
		})
	}
}

// TestStopped: an exploration that was stopped can be resumed, as often as one likes.
func TestStopped(t *testing.T) {
	want := explore.Explore(cube{14}, explore.Options[[3]byte]{})
	dir := t.TempDir()
	for range 1000 {
		left := 7
		got, err := in(dir, explore.Options[[3]byte]{Stopped: func() bool { left--; return left == 0 }})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Stopped {
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			return
		}
	}
	t.Error("no end")
}

// TestMemory: when the memory does not suffice there is an error, and with more memory the
// exploration goes on.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	resources := explore.Resources{Dir: dir, MaxMemory: 300 << 10}
	_, err := explore.ExploreWith(cube{20}, explore.Options[[3]byte]{}, resources)
	var limit *explore.LimitError
	if !errors.As(err, &limit) || limit.States == 0 {
		t.Fatal(err)
	}
	resources.MaxMemory = 1 << 22
	got, err := explore.ExploreWith(cube{20}, explore.Options[[3]byte]{}, resources)
	want := explore.Explore(cube{20}, explore.Options[[3]byte]{})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	resources.MaxMemory = 200 << 10 // less than the known states take
	if _, err := explore.ExploreWith(cube{20}, explore.Options[[3]byte]{Stopped: func() bool { t.Error("it goes on"); return true }}, resources); err != nil {
		t.Error(err) // it is finished, and needs no memory
	}
	if _, err := explore.ExploreWith(cube{20}, explore.Options[[3]byte]{}, explore.Resources{MaxMemory: 1 << 19}); !errors.As(err, &limit) {
		t.Error(err)
	}
}

// TestDirectoryErrors: what is wrong with a directory is said.
func TestDirectoryErrors(t *testing.T) {
	stopped := func(t *testing.T) string { // a directory with a checkpoint
		dir := t.TempDir()
		left := 20
		if _, err := in(dir, explore.Options[[3]byte]{Stopped: func() bool { left--; return left == 0 }}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	write := func(t *testing.T, name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		want string
		make func(t *testing.T) string
	}{
		{"not a directory", func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "file")
			write(t, file, "")
			return file
		}},
		{"has files, but no checkpoint", func(t *testing.T) string {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "notes"), "")
			return dir
		}},
		{"is no checkpoint: EOF", func(t *testing.T) string {
			dir := stopped(t)
			write(t, filepath.Join(dir, "checkpoint"), "{")
			return dir
		}},
		{"is of another exploration: another cube, not cube of 14", func(t *testing.T) string {
			dir := t.TempDir()
			if _, err := explore.ExploreWith(cube{2}, explore.Options[[3]byte]{}, explore.Resources{Dir: dir, Identity: "another cube"}); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		{"states: has 160 bytes, and had 25648 at the checkpoint", func(t *testing.T) string {
			dir := stopped(t)
			if err := os.Truncate(filepath.Join(dir, "states"), 160); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		{"states: offset 0: this is not what was written", func(t *testing.T) string {
			dir := stopped(t)
			text, err := os.ReadFile(filepath.Join(dir, "states"))
			if err != nil {
				t.Fatal(err)
			}
			text[8]++
			write(t, filepath.Join(dir, "states"), string(text))
			return dir
		}},
		{"no such file", func(t *testing.T) string {
			dir := stopped(t)
			levels := must(filepath.Glob(filepath.Join(dir, "level-*")))
			if err := os.Remove(levels[0]); err != nil { // the one that is explored
				t.Fatal(err)
			}
			return dir
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := in(c.make(t), explore.Options[[3]byte]{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestLock: two processes do not explore in one directory.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	var second error
	_, err := in(dir, explore.Options[[3]byte]{Progress: func(explore.Result[[3]byte]) {
		if second == nil {
			_, second = in(dir, explore.Options[[3]byte]{})
		}
	}})
	if err != nil || second == nil || !strings.Contains(second.Error(), "another process explores there") {
		t.Errorf("%v, %v", err, second)
	}
}

// TestEvery: there is a checkpoint when the time has come, and not before.
func TestEvery(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]bool{}
	_, err := explore.ExploreWith(cube{14}, explore.Options[[3]byte]{Progress: func(explore.Result[[3]byte]) {
		texts[string(must(os.ReadFile(filepath.Join(dir, "checkpoint"))))] = true
	}}, explore.Resources{Dir: dir, Every: time.Hour})
	if err != nil || len(texts) != 1 {
		t.Errorf("%v, %d checkpoints", err, len(texts))
	}
}
