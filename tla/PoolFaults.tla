----------------------------- MODULE PoolFaults -----------------------------
(***************************************************************************)
(* Private pools on a driver whose calls can fail: see DriverCalls.tla and *)
(* Faults.tla.  What is new is                                             *)
(*                                                                         *)
(*   - the events of deferred frees, which a malloc and an EmptyCache      *)
(*     record: a block for which one cannot be recorded stays deferred;    *)
(*   - the memory of pools that are not in use any more, which an          *)
(*     EmptyCache releases;                                                *)
(*   - a pool's count of driver segments, which changes with what was      *)
(*     obtained and released before the call that failed.                  *)
(***************************************************************************)
EXTENDS PrivatePools, DriverCalls

(***************************************************************************)
(* Deferred frees.                                                         *)
(***************************************************************************)

\* The calls of ResolveDeferred.
RECURSIVE DeferredCalls(_)
DeferredCalls(h) ==
    IF h.deferred = {} THEN <<>>
    ELSE LET b == FirstDeferred(h)
         IN RecordCalls(h, UsesLeft(h, b)) \o DeferredCalls(ResolveOne(h, b))

\* The calls of Reclaim.
ReclaimCalls(h) ==
    IF CapturesUnderway(h) THEN <<>>
    ELSE DeferredCalls(h) \o QueryCalls(ResolveDeferred(h), Streams)

(***************************************************************************)
(* Releasing memory.                                                       *)
(***************************************************************************)

\* The free blocks of a pool whose memory was released between two heaps, all of it or
\* some pages.
ReleasedBlocks(h, later, id) ==
    {b \in h.blocks : /\ b.addr \in h.cached /\ SegmentOf(h, b).pool = id
                      /\ \E x \in h.device \ later.device : Inside(x, b)}

\* The calls of DropUnmappedSegments, which free addresses, the lowest first.  This is the
\* one operation that does not end where a call fails: only the segment whose addresses
\* cannot be freed stays.
DropCalls(h, id) ==
    LET unmapped == UnmappedSegments(h, id)
        nth(i)   == {g \in unmapped : Cardinality({k \in unmapped : k.addr < g.addr}) = i - 1}
    IN [i \in 1..Cardinality(unmapped) |-> DropSegments(h, unmapped \ nth(i))]

\* The calls of ReleasePoolBlocks.
PoolCalls(h, id) ==
    LET calls == ReleaseBlocksCalls(h, id) \o DropCalls(ReleaseBlocks(h, id), id)
    IN [i \in DOMAIN calls |->
           CountDriverSegments(calls[i], id, -Cardinality(ReleasedBlocks(h, calls[i], id)))]

\* The calls of ReleaseFreeable.  The pools are in the order of upstream's hash table
\* (FirstVisited).
RECURSIVE FreeableCalls(_, _)
FreeableCalls(h, ids) ==
    IF ids = {} THEN <<>>
    ELSE LET id == FirstVisited(ids) IN PoolCalls(h, id) \o FreeableCalls(ReleaseFreeable(h, {id}), ids \ {id})

\* The calls of ReleaseCachedBlocksAndPools.
CacheCalls(h) ==
    LET resolved == ResolveDeferred(h)
        default  == IF CapturesUnderway(h) THEN h ELSE ReleaseCachedBlocks(resolved)
    IN IF FreeForbidden(h) THEN <<>>
       ELSE (IF CapturesUnderway(h) THEN <<>> ELSE DeferredCalls(h) \o ReleaseCalls(resolved))
            \o FreeableCalls(default, Freeable(default))

(***************************************************************************)
(* Malloc.                                                                 *)
(***************************************************************************)

\* The calls of ObtainAfter.
ObtainCalls(first, p) ==
    LET available == ReleaseAvailableOfDefault(first.heap, p)
        second    == IF available.enough
                     THEN AllocBlock(available.heap, p)
                     ELSE [heap |-> available.heap, found |-> {}]
    IN IF first.found # {} \/ TakeFromOverflowPool(first.heap, p) # {} THEN <<>>
       ELSE (IF p.pool = 0 THEN AvailableCalls(first.heap, p) ELSE <<>>)
            \o (IF available.enough THEN AllocCalls(available.heap, p) ELSE <<>>)
            \o IF second.found # {} \/ CapturesUnderway(second.heap) THEN <<>>
               ELSE CacheCalls(second.heap) \o AllocCalls(ReleaseCachedBlocksAndPools(second.heap), p)

MallocCalls(h, p) ==
    LET now == Reclaim(h)
    IN ReclaimCalls(h)
       \o IF GetFreeBlock(now, p) # {} THEN <<>>
          ELSE AllocCalls(now, p) \o ObtainCalls(AllocBlock(now, p), p)

(***************************************************************************)
(* The steps.                                                              *)
(***************************************************************************)
FailedCall(calls, n) == n <= Len(calls) /\ BecomeWithPools(calls[n])

Params(stream, bytes) == AllocParams(stream, bytes, ChoosePool(PoolHeap, stream))

FailedMalloc(stream, bytes, n) ==
    /\ FailedCall(MallocCalls(PoolHeap, Params(stream, bytes)), n)
    /\ UNCHANGED programVars

FailedEmptyCache(n) ==
    /\ FailedCall(CacheCalls(PoolHeap), n)
    /\ UNCHANGED programVars

\* While a capture is underway the free is deferred, and no event recorded.
FailedFree(addr, n) ==
    /\ Holds(addr)
    /\ ~CapturesUnderway(PoolHeap)
    /\ \E b \in AllocatedAt(PoolHeap, addr) : FailedCall(RecordCalls(PoolHeap, b.uses), n)
    /\ UNCHANGED programVars

RefusedMalloc(stream, bytes) ==
    LET p      == Params(stream, bytes)
        now    == Reclaim(PoolHeap)
        result == ObtainAfter(RefusedBlock(now, p), p)
    IN /\ GetFreeBlock(now, p) = {}
       /\ WithinLimit(now, p)
       /\ BecomeWithPools(result.heap)
       /\ given' = Given(result, stream, RoutedTo(stream), bytes)
       /\ UNCHANGED touched

NextOrFault ==
    \/ Next
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedMalloc(s, n, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)
    \/ \E s \in Streams, n \in Sizes : RefusedMalloc(s, n)

FaultSpec == Init /\ [][NextOrFault]_vars
=============================================================================
