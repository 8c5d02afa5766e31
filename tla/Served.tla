------------------------------- MODULE Served -------------------------------
(***************************************************************************)
(* What a program is owed.  These properties use nothing that they judge:  *)
(* they are said with what the program holds (given), the work that is     *)
(* pending, what the driver has granted (device), the layout of blocks,    *)
(* and numbers.  They ask no operator of the allocator, such as its best   *)
(* fit or what it releases.                                                *)
(*                                                                         *)
(* The modules with a malloc say them of that malloc: OutOfMemory.tla and  *)
(* PrivatePools.tla.                                                       *)
(***************************************************************************)
EXTENDS Invariants

\* The grants that cannot be returned, however long is waited: the program holds memory of
\* them, or uses the pool that they are of.
Kept(usedPools) ==
    {y \in device : \/ \E x \in given : Overlap(MemoryOf(x), y)
                    \/ \E g \in segments : Inside(y, g) /\ g.pool \in usedPools}

\* A block waits for events, or its free is deferred.  What a malloc frees first may be merged
\* with a block that fits, and then be too large.
Waiting == {b \in blocks : ~b.allocated /\ (b.eventCount > 0 \/ b.uses # {})}

\* The free blocks of a pool in which a request fits.  Oversize blocks serve requests of about
\* their size only.
Fitting(pool, stream, bytes) ==
    LET size == RoundSize(bytes)
        below == IF size < MaxSplitSize THEN MaxSplitSize ELSE size + MaxNonSplitRounding
    IN {b \in blocks : /\ b.mapped /\ ~b.allocated /\ b \notin Waiting
                       /\ b.size >= size /\ b.size < below
                       /\ \E g \in segments : /\ Inside(b, g) /\ g.pool = pool
                                              /\ g.stream = stream /\ g.kind = KindOf(size)}

\* There is no room for the segment of a request beside some memory.
NoRoomBeside(memory, bytes) ==
    SumOfSizes(memory) + AllocationSize(RoundSize(bytes)) > Min({Limit, Memory})

\* The driver has granted no more than the limit.  (Pages can pass it: see
\* MCExpandable_weak_limit.cfg.)
LimitHolds == SumOfSizes(device) <= Limit

\* What is left over in an allocated block of a plain segment is too small to be split off.  An
\* oversize block, which is never split, is a whole segment.
BlocksFitRequests ==
    \A x \in given : \E b \in blocks : \E g \in segments :
        LET size == RoundSize(x.bytes)
            most == CASE ExpandableSegments \/ g.kind = "small" -> MinBlock - 1
                      [] ~ExpandableSegments /\ g.kind # "small" /\ size >= MaxSplitSize -> MaxNonSplitRounding - 1
                      [] OTHER -> SmallSize
        IN /\ b.addr = x.addr /\ Inside(b, g)
           /\ b.size - size <= most
           /\ size >= MaxSplitSize => b.size = g.size

(***************************************************************************)
(* Of steps.                                                               *)
(***************************************************************************)

\* No block waits though no work is pending on it.  The event of a free that was deferred is
\* behind later work too; so with captures it is enough that work is pending.
NothingWaitsInVain(withCaptures) ==
    \A b \in Waiting' : \E s \in Streams :
        /\ \A g \in segments' : Inside(b, g) => g.stream # s
        /\ \E piece \in Range(work'[s]) : withCaptures \/ Overlap(piece, b)

Waits == \E s \in Streams : Len(work'[s]) < Len(work[s])

\* A malloc waits only if there is no room for what it needs of the driver: a segment or pages.
WaitsForRoom(bytes) ==
    LET size  == RoundSize(bytes)
        pages == IF ExpandableSegments THEN RoundUp(size, PageSize(KindOf(size))) ELSE 0
    IN SumOfSizes(device) + Max(pages, AllocationSize(size)) > Min({Limit, Memory})

\* What a malloc returned is in one of the smallest free blocks that fit, if it is in one.  A
\* segment may have been returned and granted again, of another pool.
ServedByBestFit(stream, bytes) ==
    \A x \in given' \ given : \A g \in segments \cap segments' : Inside(MemoryOf(x), g) =>
        LET all == Fitting(g.pool, stream, bytes)
            at  == {b \in all : Inside(MemoryOf(x), b)}
        IN \A b \in at : \A c \in all : b.size <= c.size

\* How large a free block of a segment can become: memory without a block in use, of which at
\* least a part is not mapped.
GrowsTo(g, size) ==
    \E from, to \in {b \in blocks : Inside(b, g)} :
        /\ from.addr <= to.addr /\ End(to) - from.addr >= size
        /\ LET between == {b \in blocks : from.addr <= b.addr /\ b.addr <= to.addr}
           IN /\ \A b \in between : ~b.allocated /\ b \notin Waiting
              /\ \E b \in between : ~b.mapped

\* Where nothing is returned to the driver, there is another range of addresses only if the
\* request does not fit into the free and unmapped memory, one after the other, of the ranges
\* that the stream has.
GrowsInPlace(bytes) ==
    ExpandableSegments /\ device \subseteq device' =>
        \A g \in segments' : (\A f \in segments : f.addr # g.addr) =>
            \A f \in segments : f.stream = g.stream /\ f.pool = g.pool /\ f.kind = g.kind =>
                ~GrowsTo(f, RoundSize(bytes))
=============================================================================
