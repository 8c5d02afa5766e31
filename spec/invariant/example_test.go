package invariant_test

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// A picture of memory with two free neighbours and a figure that is off, and
// nothing else known.
func ExampleJudge() {
	snapshot := spec.Snapshot{Segments: []spec.Segment{{
		Address: 0x7f0000000000, TotalSize: 2 << 20, AllocatedSize: 1024, ActiveSize: 512, RequestedSize: 500,
		Blocks: []spec.Block{
			{Address: 0x7f0000000000, Size: 512, RequestedSize: 500, State: spec.ActiveAllocated},
			{Address: 0x7f0000000200, Size: 1024},
			{Address: 0x7f0000000600, Size: 2<<20 - 1536},
		},
	}}}
	findings, err := invariant.Judge(&invariant.Observation{Geometry: spec.DefaultGeometry(), Snapshot: &snapshot})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings[:8] {
		fmt.Printf("%d %-22s %v\n", f.Invariant.Number, f.Invariant.Name, f.Verdict)
		for _, v := range f.Violations {
			fmt.Println("    " + v.Sentence)
		}
	}
	// Output:
	// 1 BlocksTileSegments     holds
	// 2 LiveBlocksDisjoint     holds
	// 3 NoMergeableNeighbours  broken
	//     blocks 0x7f0000000200 (1024 bytes) and 0x7f0000000600 (2095616 bytes) are neighbours and both free
	// 4 SizesAndAlignment      holds
	// 5 RequestsFit            holds
	// 6 ActiveBlocksAreMapped  not observable
	// 7 SegmentFiguresAddUp    broken
	//     segment 0x7f0000000000 says 1024 allocated bytes, its blocks add up to 512
	// 8 AccountingAddsUp       not observable
}

// Work of stream 2 may still read memory that stream 1 owned; stream 1 may not have
// it again yet.
func ExampleHistory() {
	const a, b = spec.Stream(1), spec.Stream(2)
	h := invariant.NewHistory()
	h.Allocated(invariant.Allocation{Stream: a, Ptr: 0x1000, Bytes: 512})
	h.StreamRecorded(0x1000, 0, b)
	h.Submitted(0, b)
	h.Freed(0x1000)
	h.Allocated(invariant.Allocation{Stream: a, Ptr: 0x1000, Bytes: 512}) // too early

	violations, err := invariant.CheckAll(&invariant.Observation{Geometry: spec.DefaultGeometry(), History: h})
	fmt.Println(violations[0], err)
	// Output:
	// NoReuseWhileInUse (invariant 14, device 0): 0x1000 (512 bytes) was allocated for stream 0x1 while work of stream 0x2 on device 0 may still use 0x1000 (512 bytes), freed by stream 0x1 <nil>
}
