------------------------------- MODULE MCCore -------------------------------
(***************************************************************************)
(* The core at small bounds, and its mutants: operators with one mistake   *)
(* each, which a configuration substitutes for the right one to show that  *)
(* an invariant would notice.                                              *)
(***************************************************************************)
EXTENDS OutOfMemory, Liveness

\* BlocksTileSegments: of a new segment only the requested size is registered.
AdoptsPart(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, p.size)},
                 !.stats.reserved = @ + g.size]

\* LiveBlocksDisjoint: a segment is released when its first block is free.
ReleasesParts(h, pool) ==
    {b \in h.blocks : b.addr \in h.cached /\ SegmentOf(h, b).pool = pool}

\* NoMergeableNeighbours: only the neighbour below is merged.
MergesBelowOnly(h, b) ==
    {c \in h.blocks : /\ End(c) = b.addr
                      /\ SegmentOf(h, c) = SegmentOf(h, b)
                      /\ IsFree(c)}

\* SizesAndAlignment: a large segment is as large as its request.
ExactSegments(size) == IF size <= SmallSize THEN SmallBuffer ELSE size

\* RequestsFit: best fit takes the largest block when none is large enough.
TakesLargest(h, p) ==
    LET list == FreeList(h, p.pool, p.kind, p.stream)
    IN {b \in list : \A c \in list : b = c \/ Before(c, b)}

\* AccountingAddsUp: allocating a whole block of a split segment is not counted.
CountsSplitBlocksOnly(h, b, size) ==
    IF size = b.size THEN 0 ELSE IF IsSplit(h, b) THEN -size ELSE b.size - size

\* FreeListsHoldFreeBlocks: what a merge absorbs stays on the free list.
KeepsAbsorbed(h, b) ==
    LET merged == TryMergeBlocks(h, b)
        gone   == {c \in h.blocks : Inside(c, merged)}
    IN [h EXCEPT !.blocks = (@ \ gone) \cup {merged},
                 !.cached = @ \cup {merged.addr},
                 !.stats.active = @ - b.size,
                 !.stats.inactiveSplit = @ + InactiveSplitOnFree(h, gone \ {b}, merged)]

\* HeldBlocksAreAwaited: a block waits for one event, however many streams used it.
WaitsForOne(h, b) ==
    LET waiting == [b EXCEPT !.eventCount = 1, !.uses = {}]
    IN RecordEvents([h EXCEPT !.blocks = (@ \ {b}) \cup {waiting}], b.uses, b)

\* AllocatedBlocksWereGivenOut: neighbours are merged that are allocated.
MergesAnything(h, b) ==
    {c \in h.blocks : /\ End(c) = b.addr \/ End(b) = c.addr
                      /\ SegmentOf(h, c) = SegmentOf(h, b)}

\* NoReuseWhileInUse: a block with outstanding events counts as free.
FreeUnlessAllocated(b) == ~b.allocated

\* NothingIsLost: the requested size counts as reserved, not that of the segment.
AdoptsRequest(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, g.size)},
                 !.stats.reserved = @ + p.size]

\* OutOfMemoryIsReal: nothing is released before the malloc fails.
FailsAtOnce(h, p) ==
    LET last == AllocBlock(h, p) IN
    IF last.found = {}
    THEN FailOutOfMemory(last.heap)
    ELSE ReturnBlock(last.heap, p, First(last.found))

\* AnyBlockIsGood: nor are oversize blocks.
ReleasesNothing(h, p) == [heap |-> h, enough |-> FALSE]

\* FreedBecomesReusable: only the first stream's events are queried.
RECURSIVE AsksFirstStream(_)
AsksFirstStream(h) ==
    LET s == Min(Streams)
    IN IF h.events[s] = <<>> \/ Head(h.events[s]).behind > 0
       THEN h
       ELSE AsksFirstStream(CompleteEvent(h, s))
=============================================================================
