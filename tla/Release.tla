------------------------------ MODULE Release -------------------------------
(***************************************************************************)
(* Memory goes back to the driver in whole segments: all of them when the  *)
(* cache is emptied or nothing else helps; just enough oversize ones       *)
(* before that.  Expandable segments give back free pages instead.         *)
(***************************************************************************)
EXTENDS Expandable

\* The free blocks that are a whole segment.
Releasable(h, pool) ==
    {b \in h.blocks : /\ b.addr \in h.cached
                      /\ ~IsSplit(h, b)
                      /\ SegmentOf(h, b).pool = pool}

\* Segments that are one free block each go back.
ReleaseSegments(h, bs) ==
    LET gone == {b.addr : b \in bs} IN
    [h EXCEPT !.segments = {g \in @ : g.addr \notin gone},
              !.blocks = @ \ bs,
              !.cached = @ \ gone,
              !.device = {x \in @ : x.addr \notin gone},
              !.stats.reserved = @ - SumOfSizes(bs)]

\* All that can go of a pool.
ReleaseBlocks(h, pool) ==
    IF ExpandableSegments
    THEN UnmapBlocks(h, {b \in h.blocks : b.addr \in h.cached /\ SegmentOf(h, b).pool = pool})
    ELSE ReleaseSegments(h, Releasable(h, pool))

\* Everything that can go of the default pool, which is pool 0.  What events
\* still hold back is waited for.
ReleaseCachedBlocks(h) == ReleaseBlocks(SynchronizeAndFreeEvents(h), 0)

\* Just enough oversize blocks of the request's stream.  One that is as large
\* as the request is enough; failing that the largest ones go until they add
\* up.  What went stays gone even if it was not enough.
ReleaseAvailableCachedBlocks(h, p) ==
    LET need     == Max(p.size, MaxSplitSize)
        oversize == {b \in FreeList(h, p.pool, p.kind, p.stream) : b.size >= MaxSplitSize}
        enough   == {b \in oversize : b.size >= need}
        smaller  == {b \in oversize \ enough : ~IsSplit(h, b)}
        going    == {b \in smaller : SumOfSizes({c \in smaller : Before(b, c)}) < need}
    IN IF ExpandableSegments THEN [heap |-> h, enough |-> FALSE]
       ELSE IF enough # {} /\ ~IsSplit(h, First(enough))
       THEN [heap |-> ReleaseSegments(h, {First(enough)}), enough |-> TRUE]
       ELSE [heap |-> ReleaseSegments(h, going), enough |-> SumOfSizes(going) >= need]
=============================================================================
