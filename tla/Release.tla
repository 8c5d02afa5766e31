------------------------------ MODULE Release -------------------------------
(***************************************************************************)
(* Memory is released to the driver in whole segments: all that are free   *)
(* in emptyCache and before the last attempt of a malloc; before that only *)
(* as many oversize ones as are needed.  Expandable segments release free  *)
(* pages instead.                                                          *)
(***************************************************************************)
EXTENDS Expandable

\* The free blocks that are a whole segment.
Releasable(h, pool) ==
    {b \in h.blocks : /\ b.addr \in h.cached
                      /\ ~IsSplit(h, b)
                      /\ SegmentOf(h, b).pool = pool}

\* The cached memory of a pool that can be released: segments that are free as a whole, or free
\* pages.
ReleasableMemory(h, pool) ==
    IF ExpandableSegments
    THEN UNION {Within(SegmentOf(h, b), b) :
                   b \in {c \in h.blocks : c.addr \in h.cached /\ SegmentOf(h, c).pool = pool}}
    ELSE Releasable(h, pool)

\* Segments that are one free block each are released.
ReleaseSegments(h, bs) ==
    LET gone == {b.addr : b \in bs}
        called == IF bs = {} THEN h ELSE ReturnMemory(IF OwnWork THEN DoneEverywhere(h) ELSE h)
    IN [called EXCEPT !.segments = {g \in @ : g.addr \notin gone},
                      !.blocks = @ \ bs,
                      !.cached = @ \ gone,
                      !.device = {x \in @ : x.addr \notin gone},
                      !.stats.reserved = @ - SumOfSizes(bs)]

\* All free segments, or free pages, of a pool are released.
ReleaseBlocks(h, pool) ==
    IF ExpandableSegments
    THEN UnmapBlocks(h, {b \in h.blocks : b.addr \in h.cached /\ SegmentOf(h, b).pool = pool})
    ELSE ReleaseSegments(h, Releasable(h, pool))

\* Those of the default pool, which is pool 0, after all events have been waited
\* for.
ReleaseCachedBlocks(h) == ReleaseBlocks(SynchronizeAndFreeEvents(h), 0)

\* As many oversize blocks of the request's stream as are needed.  One that is as
\* large as the request is enough; if there is none, the largest ones are
\* released until their sum is.  They stay released even if it is not.
ReleaseAvailableCachedBlocks(h, p) ==
    LET need     == Max(p.size, p.maxSplit)
        oversize == {b \in FreeList(h, p.pool, p.kind, p.stream) : b.size >= p.maxSplit}
        enough   == {b \in oversize : b.size >= need}
        smaller  == {b \in oversize \ enough : ~IsSplit(h, b)}
        going    == {b \in smaller : SumOfSizes({c \in smaller : Before(b, c)}) < need}
    IN IF ExpandableSegments \/ FreeForbidden(h) THEN [heap |-> h, enough |-> FALSE]
       ELSE IF enough # {} /\ ~IsSplit(h, First(enough))
       THEN [heap |-> ReleaseSegments(h, {First(enough)}), enough |-> TRUE]
       ELSE [heap |-> ReleaseSegments(h, going), enough |-> SumOfSizes(going) >= need]
=============================================================================
