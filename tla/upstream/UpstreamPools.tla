---------------------------- MODULE UpstreamPools ---------------------------
(***************************************************************************)
(* What PyTorch does with private pools where the reference deviates: one  *)
(* operator for each deviation, which a configuration substitutes for that *)
(* of the specification, or one more action.  The ids are those of         *)
(* docs/deviations.md.                                                     *)
(***************************************************************************)
EXTENDS PrivatePools

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)

(***************************************************************************)
(* captures/use-remembered: such uses are removed only when the free of    *)
(* the block was deferred.  In the block's next allocation a use is        *)
(* dropped that is not over.  (Upstream's block is an object that a split  *)
(* replaces, so requests must be whole segments for its address to stand   *)
(* for it.)                                                                *)
(***************************************************************************)
KeepsCaptureUses(h, b) ==
    LET back  == NotAllocated(b)
        taken == TakeBack(h, b)
    IN CASE b.uses = {} -> FreeBlock(taken, back)
         [] b.uses # {} /\ CapturesUnderway(h) -> [taken EXCEPT !.deferred = @ \cup {b.addr}]
         [] OTHER -> InsertEvents(taken, back)

(***************************************************************************)
(* oversize/captured-pool: oversize blocks of any pool are released.       *)
(***************************************************************************)
ReleasesOfAnyPool(h, p) ==
    LET first     == AllocBlock(h, p)
        available == ReleaseAvailableCachedBlocks(first.heap, p)
        second    == IF available.enough
                     THEN AllocBlock(available.heap, p)
                     ELSE [heap |-> available.heap, found |-> {}]
    IN IF first.found # {}
       THEN ReturnBlock(CountDriverSegments(first.heap, p.pool, 1), p, First(first.found))
       ELSE IF second.found # {} THEN ReturnBlock(second.heap, p, First(second.found))
       ELSE FailOutOfMemory(second.heap)

(***************************************************************************)
(* pools/erased-with-memory: at a count of 0, also when memory of the pool *)
(* is allocated.                                                           *)
(***************************************************************************)
RECURSIVE ErasesByCount(_, _)
ErasesByCount(h, ids) ==
    IF ids = {} THEN h
    ELSE LET id == Min(ids)
             released == ReleasePoolBlocks(h, id)
         IN ErasesByCount(
                IF PoolOf(released, id).driverSegments > 0 THEN released
                ELSE [released EXCEPT !.pools = {q \in @ : q.id # id}],
                ids \ {id})

(***************************************************************************)
(* pools/range-lost: it has no block that could be released.               *)
(***************************************************************************)
KeepsRanges(h, pool) == h

(***************************************************************************)
(* captures/memory-freed: here, of freeable pools, emptying the cache.     *)
(***************************************************************************)
ReleasesInCaptures(h) ==
    LET default == IF CapturesUnderway(h) THEN h ELSE ReleaseCachedBlocks(ResolveDeferred(h))
    IN ReleaseFreeable(default, Freeable(default))

(***************************************************************************)
(* captures/unmap-synchronizes                                             *)
(***************************************************************************)
UnmapsInCaptures(h, b) == Within(SegmentOf(h, b), b)

(***************************************************************************)
(* pools/freeable-searched: to search a pool upstream routes the request   *)
(* to it, which is an error for such a pool.                               *)
(***************************************************************************)
CannotBeRouted(h) ==
    {q.id : q \in {r \in h.pools : r.useCount = 0 \/ \E c \in Range(h.routings) : c.pool = r.id}}

FailsForPool(h, p) ==
    LET first == AllocBlock(h, p) IN
    IF first.found = {} /\ p.pool = 0 /\ CannotBeRouted(h) \cap OverflowPools # {}
    THEN FailOutOfMemory(first.heap)
    ELSE ObtainBlock(h, p)

FailingMallocResult(h, stream, bytes) ==
    LET p     == AllocParams(stream, bytes, ChoosePool(h, stream))
        now   == Reclaim(h)
        found == GetFreeBlock(now, p)
    IN IF found # {} THEN ReturnBlock(now, p, First(found)) ELSE FailsForPool(now, p)

\* A malloc fails only if nothing serves it: no block of another pool, no memory of the
\* driver after all caches have been released.
PoolsDoNotFailMallocs ==
    \A s \in Streams, n \in Sizes :
        LET p == AllocParams(s, n, ChoosePool(PoolHeap, s))
        IN MallocResult(PoolHeap, s, n).returned = {} => ObtainBlock(Reclaim(PoolHeap), p).returned = {}

(***************************************************************************)
(* misuse/begin-twice and misuse/release-too-often: programs that make     *)
(* these mistakes.                                                         *)
(***************************************************************************)
BeginAgain(id) ==
    /\ \E r \in Range(routings) : r.pool = id
    /\ UseCount(id) < 2
    /\ SetUseCount(id, UseCount(id) + 1)
    /\ UNCHANGED <<heapVars, programVars, routings, deferred, captureUses>>

NextBeginsAgain == Next \/ \E id \in PoolIds : BeginAgain(id)
SpecBeginsAgain == Init /\ [][NextBeginsAgain]_vars

ReleaseAgain(id) ==
    /\ UseCount(id) = 0
    /\ SetUseCount(id, UseCount(id) - 1)
    /\ UNCHANGED <<heapVars, programVars, routings, deferred, captureUses>>

NextReleasesAgain == Next \/ \E id \in PoolIds : ReleaseAgain(id)
SpecReleasesAgain == Init /\ [][NextReleasesAgain]_vars

\* Each use was begun by the program, which made at most MaxUses.
UsesAreTheProgramsOwn == \A q \in pools : q.useCount \in 0..MaxUses
=============================================================================
