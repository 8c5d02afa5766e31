package alloc_test

import (
	stdbytes "bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestShare: what one process writes the other reads, through a handle, for every kind
// of segment. Handles of the same memory are opened once, and closed with the last
// user.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings string
		fabric   bool
		header   string // what the handle begins with
		sameBase bool   // two blocks of one segment come with one handle
		offset   uint64 // of the second block
	}{
		{"segment", "", false, "\x02c", true, 5 * mib},
		{"pages by file descriptor", "expandable_segments:True", false, "\x02e", true, 5 * mib},
		{"pages by fabric handle", "expandable_segments:True", true, "\x02e", true, 5 * mib},
	} {
		t.Run(test.name, func(t *testing.T) {
			machine := fakegpu.NewMachine(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{Fabric: test.fabric}}})
			sender, receiver := machine.NewProcess(), machine.NewProcess()
			a, b := newAllocator(t, sender, test.settings), newAllocator(t, receiver, "")
			p, q := mustMalloc(t, a, 0, 5*mib), mustMalloc(t, a, 0, 5*mib)
			must(t, sender.Fill(0, 0, spec.Range{Ptr: p, Bytes: 5 * mib}, 1))
			must(t, sender.Fill(0, 0, spec.Range{Ptr: q, Bytes: 5 * mib}, 2))

			first, second := share(t, a, p), share(t, a, q)
			if !stdbytes.HasPrefix(first.Handle, []byte(test.header)) {
				t.Errorf("the handle begins with %q, want %q", first.Handle[:2], test.header)
			}
			if diff := cmp.Diff(first.Handle, second.Handle); diff != "" {
				t.Errorf("one segment has two handles:\n%s", diff)
			}
			if first.Offset != 0 || second.Offset != test.offset {
				t.Errorf("the offsets are %d and %d, want 0 and %d", first.Offset, second.Offset, test.offset)
			}

			m, n := open(t, b, 0, first.Handle), open(t, b, 0, second.Handle)
			if m.Base() != n.Base() {
				t.Errorf("one handle was opened twice, at %v and %v", m.Base(), n.Base())
			}
			at := spec.Range{Ptr: n.Base() + spec.Ptr(second.Offset) - 1, Bytes: 2}
			got, err := receiver.ReadBack(0, 0, at)
			must(t, err)
			if diff := cmp.Diff([]byte{1, 2}, got); diff != "" {
				t.Errorf("at the border of the two blocks (-want +got):\n%s", diff)
			}

			must(t, m.Close())
			wantError[*spec.InvalidStateError](t, m.Close(), "closed already")
			if _, err := receiver.ReadBack(0, 0, at); err != nil {
				t.Errorf("the first of two users has closed: %v", err)
			}
			must(t, n.Close())
			if _, err := receiver.ReadBack(0, 0, at); err == nil {
				t.Error("the last user has closed, and the memory is still there")
			}
			wantNoLeaks(t, b, receiver)
			must(t, a.Free(p))
			must(t, a.Free(q))
			wantNoLeaks(t, a, sender)
		})
	}
}

func share(t *testing.T, a *alloc.Allocator, p spec.Ptr) spec.SharedHandle {
	t.Helper()
	h, err := a.ShareHandle(p)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func open(t *testing.T, a *alloc.Allocator, dev spec.Device, handle []byte) spec.OpenedMemory {
	t.Helper()
	m, err := a.OpenHandle(dev, handle)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSharePages: a handle for a block in an expandable segment has the pages that the
// block touches, and no others. The receiver reserves addresses for those.
func TestSharePages(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, sender, "expandable_segments:True"), newAllocator(t, receiver, "")
	mustMalloc(t, a, 0, 25*mib)      // pages 0 and 1
	p := mustMalloc(t, a, 0, 40*mib) // from 25 MiB on: pages 1, 2, 3
	must(t, sender.Fill(0, 0, spec.Range{Ptr: p, Bytes: 40 * mib}, 7))
	h := share(t, a, p)
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(h.Handle[2+8*i:]) }
	if diff := cmp.Diff([]uint64{sender.ProcessID(), 20 * mib, 3}, []uint64{word(0), word(1), word(2)}); diff != "" {
		t.Errorf("process, page size, pages (-want +got):\n%s", diff)
	}
	if h.Offset != 5*mib {
		t.Errorf("the offset is %d, want 5 MiB: the block begins in page 1", h.Offset)
	}
	m := open(t, b, 0, h.Handle)
	if leaks := receiver.Leaks(); !strings.HasPrefix(leaks[0], "reserved range: 62914560 bytes") {
		t.Errorf("opening 3 pages has taken %v", leaks)
	}
	got, err := receiver.ReadBack(0, 0, spec.Range{Ptr: m.Base() + spec.Ptr(h.Offset+40*mib-1), Bytes: 1})
	must(t, err)
	if got[0] != 7 {
		t.Errorf("the last byte is %d, want 7", got[0])
	}

	// The memory stays when its owner has freed it.
	must(t, a.Free(p))
	must(t, a.EmptyCache())
	if _, err := receiver.ReadBack(0, 0, spec.Range{Ptr: m.Base() + 20*mib, Bytes: 1}); err != nil {
		t.Errorf("after the owner has unmapped the page: %v", err)
	}
	// A page that replaces one that was shared is another one.
	q := mustMalloc(t, a, 0, 40*mib)
	if again := share(t, a, q); p != q || stdbytes.Equal(again.Handle, h.Handle) {
		t.Errorf("pages that were unmapped and mapped anew at %v and %v have the same handle", p, q)
	}
	must(t, m.Close())
	wantNoLeaks(t, b, receiver)
}

// TestUnmapSharedFabricPage: a page that was shared as a fabric handle can be unmapped.
func TestUnmapSharedFabricPage(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{Fabric: true}}})
	a := newAllocator(t, gpu, "expandable_segments:True")
	p := mustMalloc(t, a, 0, 20*mib)
	share(t, a, p)
	must(t, a.Free(p))
	wantNoLeaks(t, a, gpu)
}

// TestOpenOnSeveralDevices: a handle is opened for each device separately.
func TestOpenOnSeveralDevices(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, sender, "expandable_segments:True"), newAllocator(t, receiver, "")
	h := share(t, a, mustMalloc(t, a, 0, 20*mib))
	m, n := open(t, b, 0, h.Handle), open(t, b, 1, h.Handle)
	if m.Base() == n.Base() {
		t.Errorf("both devices were given the mapping of one, at %v", m.Base())
	}
	for dev, memory := range []spec.OpenedMemory{m, n} {
		launch(t, receiver, spec.Device(dev), memory.Base())
	}
	wantViolations(t, receiver, 0)
	must(t, m.Close())
	must(t, n.Close())
	wantNoLeaks(t, b, receiver)
}

// TestOpenBadHandle: a malformed handle is an error that says what is wrong with it.
// Nothing is left behind.
func TestOpenBadHandle(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	fixed, growing := newAllocator(t, sender, ""), newAllocator(t, sender, "expandable_segments:True")
	b := newAllocator(t, receiver, "")
	segment := share(t, fixed, mustMalloc(t, fixed, 0, 20*mib)).Handle
	pages := share(t, growing, mustMalloc(t, growing, 0, 60*mib)).Handle

	// with changes a copy of the handle of pages.
	with := func(word int, value uint64) []byte {
		h := slices.Clone(pages)
		binary.LittleEndian.PutUint64(h[2+8*word:], value)
		return h
	}
	for _, test := range []struct {
		name   string
		handle []byte
		want   error
		words  string
	}{
		{"empty", nil, &spec.InvalidArgumentError{}, "truncated: it has 0 bytes"},
		{"a version only", []byte{2}, &spec.InvalidArgumentError{}, "truncated: it has 1 bytes"},
		{"a future version", append([]byte{3}, segment[1:]...), &spec.NotSupportedError{}, "version 3, the newest known version is 2"},
		{"an unknown kind", []byte{2, 'x', 0}, &spec.InvalidArgumentError{}, `unknown kind 'x'`},
		{"a segment, truncated", segment[:40], &spec.DriverError{}, "no handle of ShareMemory"},
		{"a segment that never was", append([]byte{2, 'c'}, make([]byte, 64)...), &spec.DriverError{}, "no handle of ShareMemory"},
		{"pages without a header", []byte{2, 'e'}, &spec.InvalidArgumentError{}, "truncated within its header"},
		{"pages with half a header", pages[:20], &spec.InvalidArgumentError{}, "truncated within its header"},
		{"pages without pages", pages[:26], &spec.InvalidArgumentError{}, "0 bytes for 3 pages"},
		{"pages, truncated", pages[:len(pages)-1], &spec.InvalidArgumentError{}, "23 bytes for 3 pages"},
		{"a page less", pages[:len(pages)-8], &spec.InvalidArgumentError{}, "16 bytes for 3 pages"},
		{"no pages", with(2, 0), &spec.InvalidArgumentError{}, "0 pages"},
		{"too many pages", with(2, 1<<40), &spec.InvalidArgumentError{}, "1099511627776 pages"},
		{"pages of no size", with(1, 0), &spec.InvalidArgumentError{}, "pages of 0 bytes"},
		{"pages beyond the device", with(1, 1<<60), &spec.InvalidArgumentError{}, "pages of 1152921504606846976 bytes"},
		{"pages of another size", with(1, 2*mib), &spec.DriverError{}, "mapping a page"},
		{"of a process that is not there", with(0, 77), &spec.DriverError{}, "importing page 1 of 3 of process 77"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := b.OpenHandle(0, test.handle)
			switch test.want.(type) {
			case *spec.InvalidArgumentError:
				wantError[*spec.InvalidArgumentError](t, err, test.words)
			case *spec.NotSupportedError:
				wantError[*spec.NotSupportedError](t, err, test.words)
			default:
				wantError[*spec.DriverError](t, err, test.words)
			}
			if leaks := receiver.Leaks(); len(leaks) > 0 {
				t.Errorf("left behind: %v", leaks)
			}
		})
	}
	_, err := b.OpenHandle(1, segment)
	wantError[*spec.InvalidArgumentError](t, err, "there is no device 1")

	// A driver's handle without version is a segment's, as older versions send it.
	m := open(t, b, 0, segment[2:])
	must(t, m.Close())
}

// TestShareWrongPointer: only an allocated pointer can be shared.
func TestShareWrongPointer(t *testing.T) {
	gpu := fakegpu.New(fakegpu.Config{})
	a := newAllocator(t, gpu, "")
	p := mustMalloc(t, a, 0, 20*mib)
	for _, wrong := range []spec.Ptr{0, p + 512, 0xdead00} {
		_, err := a.ShareHandle(wrong)
		wantError[*spec.InvalidPointerError](t, err, "share_handle")
	}
	must(t, a.Free(p))
	_, err := a.ShareHandle(p)
	wantError[*spec.InvalidPointerError](t, err, "share_handle")
}

// TestExporterGone: the process that made a handle has ended, or has freed the memory,
// before the handle is opened. What is open already stays open.
func TestExporterGone(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		machine := fakegpu.NewMachine(fakegpu.Config{})
		sender, receiver := machine.NewProcess(), machine.NewProcess()
		a, b := newAllocator(t, sender, settings), newAllocator(t, receiver, "")
		p := mustMalloc(t, a, 0, 30*mib)
		opened := open(t, b, 0, share(t, a, p).Handle)
		q := mustMalloc(t, a, 0, 40*mib)
		freed := share(t, a, q).Handle
		must(t, a.Free(q))
		must(t, a.EmptyCache())
		_, err := b.OpenHandle(0, freed)
		wantError[*spec.DriverError](t, err, "")

		late := share(t, a, p).Handle
		sender.Exit()
		again := open(t, b, 0, late) // the same handle: it is open
		must(t, again.Close())
		if _, err := receiver.ReadBack(0, 0, spec.Range{Ptr: opened.Base(), Bytes: 1}); err != nil {
			t.Errorf("%q: the sender has ended: %v", settings, err)
		}
		must(t, opened.Close())
		_, err = b.OpenHandle(0, late)
		wantError[*spec.DriverError](t, err, "")
		wantNoLeaks(t, b, receiver)
	}
}

// TestCloseFails: the driver refuses while opened memory is being closed. The handle
// stays open, and its last user can try again.
func TestCloseFails(t *testing.T) {
	for _, test := range []struct{ settings, call string }{
		{"", "CloseMemory"},
		{"expandable_segments:True", "SynchronizeDevice"},
		{"expandable_segments:True", "UnmapPage"},
		{"expandable_segments:True", "ReleasePage"},
		{"expandable_segments:True", "FreeAddress"},
	} {
		t.Run(test.call, func(t *testing.T) {
			machine := fakegpu.NewMachine(fakegpu.Config{})
			sender, receiver := machine.NewProcess(), machine.NewProcess()
			a, b := newAllocator(t, sender, test.settings), newAllocator(t, receiver, "")
			m := open(t, b, 0, share(t, a, mustMalloc(t, a, 0, 60*mib)).Handle)
			nth := 1
			if test.call == "UnmapPage" || test.call == "ReleasePage" {
				nth = 2 // of three
			}
			must(t, receiver.FailCall(test.call, nth, fakegpu.UnknownError(test.call)))
			wantError[*spec.DriverError](t, m.Close(), test.call)
			must(t, m.Close())
			wantNoLeaks(t, b, receiver)
		})
	}
}

// TestCloseDuringCapture: pages cannot be unmapped while a capture forbids it. Closing
// is refused without asking the driver, which would invalidate the capture.
func TestCloseDuringCapture(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, sender, "expandable_segments:True"), newAllocator(t, receiver, "")
	m := open(t, b, 0, share(t, a, mustMalloc(t, a, 0, 20*mib)).Handle)
	s := newStream(t, receiver, 0)
	must(t, receiver.BeginCapture(0, s, spec.CaptureGlobal))
	wantError[*spec.InvalidStateError](t, m.Close(), "during the present capture")
	if _, err := receiver.EndCapture(0, s); err != nil {
		t.Error(err)
	}
	must(t, m.Close())
	wantError[*spec.InvalidStateError](t, m.Close(), "closed already")
}

// TestShareFails: the driver cannot make a handle of the segment, or of one of the
// pages. The next attempt makes it.
func TestShareFails(t *testing.T) {
	for _, test := range []struct {
		settings, call string
		nth            int
	}{
		{"", "ShareMemory", 1},
		{"expandable_segments:True", "ExportPage", 2},
	} {
		gpu := fakegpu.New(fakegpu.Config{})
		a := newAllocator(t, gpu, test.settings)
		p := mustMalloc(t, a, 0, 60*mib)
		must(t, gpu.FailCall(test.call, test.nth, fakegpu.UnknownError(test.call)))
		_, err := a.ShareHandle(p)
		wantError[*spec.DriverError](t, err, test.call)
		share(t, a, p)
	}
}

// TestOpenConcurrently: however many open the same handle at once, it is opened once.
func TestOpenConcurrently(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	sender, receiver := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, sender, ""), newAllocator(t, receiver, "")
	handle := share(t, a, mustMalloc(t, a, 0, 20*mib)).Handle
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for range 100 {
				m, err := b.OpenHandle(0, handle)
				if err != nil {
					t.Error(err)
					return
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	wantNoLeaks(t, b, receiver)
}

// TestOpenWithoutAddresses: pages of another process for which there are no addresses are released.
func TestOpenWithoutAddresses(t *testing.T) {
	machine := fakegpu.NewMachine(fakegpu.Config{})
	owner, gpu := machine.NewProcess(), machine.NewProcess()
	a, b := newAllocator(t, owner, "expandable_segments:True"), newAllocator(t, gpu, "")
	h := share(t, a, mustMalloc(t, a, 0, 60*mib))
	must(t, gpu.FailCall("ReserveAddress", 1, fakegpu.UnknownError("ReserveAddress")))
	_, err := b.OpenHandle(0, h.Handle)
	wantError[*spec.DriverError](t, err, "ReserveAddress")
	wantNoLeaks(t, b, gpu)
}
