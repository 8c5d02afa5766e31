package upstream

import (
	"errors"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// Class TestCudaAllocator of test/test_cuda.py: settings, and what runs out.

// Upstream: 120 MiB are allowed. With max_split_size_mb at 40, three tensors of 40
// fill that, the second in an expandable segment, and a fourth is too much. When
// they are freed, one of 120 is to be had: all cached memory goes, that of the
// expandable segment among it.
func TestCudaAllocator_MaxSplitExpandable(t *testing.T) {
	p := newProgram(t, setup{})
	p.limit(120 * spec.MiB)
	var tensors []tensor
	for _, expandable := range []string{"False", "True", "False"} {
		p.configure("expandable_segments:" + expandable + ",max_split_size_mb:40")
		tensors = append(tensors, p.empty(mainStream, 40*spec.MiB))
	}
	p.outOfMemory(mainStream, 40*spec.MiB)
	p.free(tensors...)
	p.empty(mainStream, 120*spec.MiB)
}

// Upstream: 120 MiB are allowed, of which half may be cached without being
// collected. 40 MiB in a plain segment and 40 in an expandable one are freed; a
// request for 80 collects the plain one, makes the other grow, and succeeds without
// giving up the whole cache.
func TestCudaAllocator_GarbageCollectExpandable(t *testing.T) {
	p := newProgram(t, setup{})
	p.limit(120 * spec.MiB)
	p.configure("expandable_segments:False,garbage_collection_threshold:0.5")
	a := p.empty(mainStream, 40*spec.MiB)
	p.configure("expandable_segments:True,garbage_collection_threshold:0.5")
	b := p.empty(mainStream, 40*spec.MiB)
	p.free(a, b)
	p.empty(mainStream, 80*spec.MiB)
	want := map[string]int64{"segment.all.current": 0, "reserved_bytes.all.current": int64(80 * spec.MiB), "num_alloc_retries": 0}
	for key, figure := range want {
		if got := p.stat(key); got != figure {
			t.Errorf("%s is %d, want %d", key, got, figure)
		}
	}
}

// Upstream: a request is rounded as the divisions in force say, whether they are
// one number or a list; every string of settings starts them anew. What was asked
// for is counted as it was. Strings that make no sense are refused.
func TestCudaAllocator_AllocatorSettings(t *testing.T) {
	p := newProgram(t, setup{})
	for _, c := range []struct {
		text             string
		request, rounded uint64
	}{
		{"", 84 * spec.MiB, 84 * spec.MiB},
		{"roundup_power2_divisions:4", 84 * spec.MiB, 96 * spec.MiB},
		{"garbage_collection_threshold:0.5", 84 * spec.MiB, 84 * spec.MiB},
		{"garbage_collection_threshold:0.5,max_split_size_mb:40", 84 * spec.MiB, 84 * spec.MiB},
		{"garbage_collection_threshold:0.5,roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1]", 84 * spec.MiB, 88 * spec.MiB},
		{"garbage_collection_threshold:0.5,roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1]", 400 * spec.MiB, 512 * spec.MiB},
		{"release_lock_on_cudamalloc:True", 84 * spec.MiB, 84 * spec.MiB},
	} {
		p.configure(c.text)
		before := p.stats()
		p.empty(mainStream, c.request)
		after := p.stats()
		for key, want := range map[string]uint64{"active_bytes.all.allocated": c.rounded, "requested_bytes.all.allocated": c.request} {
			if got := after[key] - before[key]; got != int64(want) {
				t.Errorf("%q: %s grew by %d, want %d", c.text, key, got, want)
			}
		}
		p.emptyCache()
	}
	for _, text := range []string{
		"foo:1,bar:2",
		"garbage_collection_threshold:1.2",
		"max_split_size_mb:2",
		"release_lock_on_cudamalloc:none",
		"pinned_use_cuda_host_register:none",
		"pinned_num_register_threads:none",
		"pinned_num_register_threads:1024",
	} {
		var refused *settings.Error
		if err := p.allocator.Configure(text); !errors.As(err, &refused) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Upstream, later than 2.11: a setting makes requests above the limit fail before
// anything is tried. 2.11 refuses it as unknown, and so does ours; requests above
// the limit fail all the same.
func TestCudaAllocator_ThrowOnCudamallocOom(t *testing.T) {
	p := newProgram(t, setup{})
	var refused *settings.Error
	if err := p.allocator.Configure("throw_on_cudamalloc_oom:True"); !errors.As(err, &refused) {
		t.Errorf("the setting: %v", err)
	}
	p.limit(400 * spec.MiB)
	p.outOfMemory(mainStream, 401*spec.MiB)
}

// Upstream: the fraction can be set by the environment; one that makes no sense
// keeps the program from starting.
func TestCudaAllocator_AllocatorMemoryFractionSetting(t *testing.T) {
	for setting, want := range map[string]float64{"0.0": 0, "0.5": 0.5, "1.0": 1} {
		p := newProgram(t, setup{settings: "per_process_memory_fraction:" + setting})
		got, err := p.allocator.MemoryFraction(p.device)
		p.must(err)
		if got != want {
			t.Errorf("%s: the fraction is %v", setting, got)
		}
	}
	for _, setting := range []string{"-0.1", "1.1"} {
		var refused *settings.Error
		_, err := alloc.New(fakegpu.New(fakegpu.Config{}), alloc.Options{Settings: "per_process_memory_fraction:" + setting})
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

// Upstream: raw memory is counted while the allocator caches, and is not while
// caching is off.
func TestCudaAllocator_CachingAllocatorRawAlloc(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		for _, c := range []struct {
			caching bool
			want    int64
		}{{false, 0}, {true, int64(spec.MiB)}} {
			p.allocator.Enable(c.caching)
			before := p.stat("requested_bytes.all.allocated")
			ptr, err := p.allocator.RawAllocWithStream(p.device, spec.MiB, mainStream)
			p.must(err)
			if counted := p.stat("requested_bytes.all.allocated") - before; counted != c.want {
				t.Errorf("caching %t: %d bytes were counted", c.caching, counted)
			}
			p.must(p.allocator.RawDelete(ptr))
		}
	})
}

// Upstream: a request for more than the device has is out of memory, with
// max_split_size set, which leads through more of the code, and without.
func TestCudaAllocator_RaisesOom(t *testing.T) {
	for _, settings := range []string{"", "max_split_size_mb:1024"} {
		t.Run(settings, func(t *testing.T) {
			p := newProgram(t, setup{settings: settings})
			p.free(p.empty(mainStream, 2*spec.GiB))
			p.outOfMemory(mainStream, floats(1<<40))
		})
	}
}

// Upstream: those who asked to be told hear of it.
func TestCudaAllocator_NotifiesOom(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		var heard []spec.OutOfMemoryReport
		p.allocator.OnOutOfMemory(func(r spec.OutOfMemoryReport) { heard = append(heard, r) })
		p.outOfMemory(mainStream, floats(1<<40))
		want := spec.OutOfMemoryReport{SegmentSize: floats(1 << 40), Allowed: 80 * spec.GiB, DeviceFree: 80 * spec.GiB}
		if len(heard) != 1 || heard[0] != want {
			t.Errorf("heard %+v, want %+v once", heard, want)
		}
	})
}
