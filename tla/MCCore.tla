------------------------------- MODULE MCCore -------------------------------
(***************************************************************************)
(* The core at small bounds, and its mutants: operators with one mistake   *)
(* each, which a configuration puts in the place of the right one to show  *)
(* that an invariant would notice.                                         *)
(***************************************************************************)
EXTENDS OutOfMemory, Liveness

\* BlocksTileSegments: of a new segment only what was asked for is kept.
AdoptsPart(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, p.size)},
                 !.stats.reserved = @ + g.size]

\* LiveBlocksDisjoint: a segment goes back when its first block is free.
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

\* AccountingAddsUp: taking a part of a segment whole is not noticed.
SplitFigureOfSplitsOnly(h, b, size) ==
    IF size = b.size THEN 0 ELSE IF IsSplit(h, b) THEN -size ELSE b.size - size

\* FreeListsHoldFreeBlocks: what a merge absorbs stays on the free list.
KeepsAbsorbed(h, b) ==
    LET merged == TryMergeBlocks(h, b)
        gone   == {c \in h.blocks : Inside(c, merged)}
    IN [h EXCEPT !.blocks = (@ \ gone) \cup {merged},
                 !.cached = @ \cup {merged.addr},
                 !.stats.active = @ - b.size,
                 !.stats.inactiveSplit = @ + FreedFigure(h, gone \ {b}, merged)]

\* HeldBlocksAreAwaited: a block waits for one event, however many streams used it.
WaitsForOne(h, b) ==
    LET waiting == [b EXCEPT !.eventCount = 1, !.uses = {}]
    IN RecordEvents([h EXCEPT !.blocks = (@ \ {b}) \cup {waiting}], b.uses, b)

\* AllocatedBlocksWereGivenOut: neighbours are merged that somebody has.
MergesAnything(h, b) ==
    {c \in h.blocks : /\ End(c) = b.addr \/ End(b) = c.addr
                      /\ SegmentOf(h, c) = SegmentOf(h, b)}

\* NoReuseWhileInUse: a block that events still hold counts as free.
FreeUnlessAllocated(b) == ~b.allocated

\* NothingIsLost: what was asked for is counted, not what came.
AdoptsRequest(h, p, range) ==
    LET g == [addr |-> range.addr, size |-> range.size,
              stream |-> p.stream, pool |-> p.pool, kind |-> p.kind]
    IN [h EXCEPT !.segments = @ \cup {g},
                 !.blocks = @ \cup {NewBlock(g.addr, g.size)},
                 !.stats.reserved = @ + p.size]

\* OutOfMemoryIsReal: nothing is given back before the malloc fails.
FailsAtOnce(h, p) ==
    LET last == AllocBlock(h, p) IN
    IF last.found = {}
    THEN NoMemory(last.heap)
    ELSE GiveOut(last.heap, p, First(last.found))

\* AnyBlockIsGood: nor are oversize blocks.
ReleasesNothing(h, p) == [heap |-> h, enough |-> FALSE]

\* FreedBecomesReusable: only the first stream's events are asked about.
RECURSIVE AsksFirstStream(_)
AsksFirstStream(h) ==
    LET s == Min(Streams)
    IN IF h.events[s] = <<>> \/ Head(h.events[s]).behind > 0
       THEN h
       ELSE AsksFirstStream(CompleteEvent(h, s))
=============================================================================
