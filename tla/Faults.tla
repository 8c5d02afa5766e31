------------------------------- MODULE Faults -------------------------------
(***************************************************************************)
(* Driver calls that fail.  The operation that made the call ends there    *)
(* and returns the driver's error.  What it did before stays done, and     *)
(* nothing else is done: the state afterwards is the one in which the call *)
(* was made.                                                               *)
(*                                                                         *)
(* So an operation is described by its driver calls: a sequence with, for  *)
(* each call, the heap in which it is made.  Calls that are undone         *)
(* together count as one: those that create pages, map them and give       *)
(* access to them.  So do unmapping a page and releasing it.               *)
(*                                                                         *)
(* A driver that has no memory is another matter: a malloc continues.      *)
(* That can happen although the device has the memory, since another       *)
(* process may have taken it (RefusedMalloc).                              *)
(***************************************************************************)
EXTENDS CachingAllocator

(***************************************************************************)
(* Events.                                                                 *)
(***************************************************************************)

\* The queries of ProcessEvents, stream by stream.  A query of an event that has not
\* completed is the last of its stream.
RECURSIVE QueryCalls(_, _)
QueryCalls(h, streams) ==
    IF streams = {} THEN <<>>
    ELSE LET s == Min(streams) IN
         CASE h.events[s] = <<>> -> QueryCalls(h, streams \ {s})
           [] h.events[s] # <<>> /\ Head(h.events[s]).behind > 0 -> <<h>> \o QueryCalls(h, streams \ {s})
           [] OTHER -> <<h>> \o QueryCalls(CompleteEvent(h, s), streams)

\* The waits of SynchronizeAndFreeEvents.
RECURSIVE SynchronizeCalls(_, _)
SynchronizeCalls(h, streams) ==
    IF streams = {} THEN <<>>
    ELSE LET s == Min(streams) IN
         IF h.events[s] = <<>> THEN SynchronizeCalls(h, streams \ {s})
         ELSE LET waited == Done(h, s, Head(h.events[s]).behind)
              IN <<h>> \o SynchronizeCalls(CompleteEvent(waited, s), streams)

(***************************************************************************)
(* Releasing memory.  Large blocks are released first, then in the order   *)
(* of the free lists: by stream, size, address.                            *)
(***************************************************************************)
ReleasedBefore(h, b, c) ==
    LET g == SegmentOf(h, b)
        k == SegmentOf(h, c)
    IN \/ g.kind = "large" /\ k.kind = "small"
       \/ g.kind = k.kind /\ g.stream < k.stream
       \/ g.kind = k.kind /\ g.stream = k.stream /\ Before(b, c)

FirstReleased(h, bs) == CHOOSE b \in bs : \A c \in bs \ {b} : ReleasedBefore(h, b, c)

RECURSIVE FreeCalls(_, _)
FreeCalls(h, bs) ==
    IF bs = {} THEN <<>>
    ELSE LET b == FirstReleased(h, bs) IN <<h>> \o FreeCalls(ReleaseSegments(h, {b}), bs \ {b})

\* The pages of a free block are unmapped from the lowest on, after a wait for the
\* segment's stream.  If no page of the segment is left, its addresses are freed last.
UnmapBlockCalls(h, b) ==
    LET g        == SegmentOf(h, b)
        pages    == Within(g, b)
        first(i) == {x \in pages : Cardinality({y \in pages : y.addr < x.addr}) < i}
        unmapped(i) == IF i = 0 THEN DoneAll(h, g.stream) ELSE UnmapPages(h, b, first(i)).heap
        freesAddresses == UnmapPages(h, b, pages).block.size = g.size
    IN IF pages = {} THEN <<>>
       ELSE <<h>> \o [i \in 1..Cardinality(pages) |-> unmapped(i - 1)]
                  \o IF freesAddresses THEN <<unmapped(Cardinality(pages))>> ELSE <<>>

RECURSIVE UnmapCalls(_, _)
UnmapCalls(h, bs) ==
    IF bs = {} THEN <<>>
    ELSE LET b == FirstReleased(h, bs) IN UnmapBlockCalls(h, b) \o UnmapCalls(UnmapBlock(h, b), bs \ {b})

\* The calls of ReleaseCachedBlocks.
ReleaseCalls(h) ==
    LET synchronized == SynchronizeAndFreeEvents(h)
    IN SynchronizeCalls(h, Streams) \o
       IF ExpandableSegments
       THEN UnmapCalls(synchronized, {b \in synchronized.blocks : b.addr \in synchronized.cached})
       ELSE FreeCalls(synchronized, Releasable(synchronized, 0))

(***************************************************************************)
(* Malloc.                                                                 *)
(***************************************************************************)

\* The calls of GrowBlock, up to the one for which the device has no memory.
RECURSIVE MapCalls(_, _, _)
MapCalls(h, b, p) ==
    IF b.mapped /\ b.size >= p.size THEN <<>>
    ELSE LET start == IF b.mapped THEN First(Following(h, b)) ELSE b
             lacking == p.size - (IF b.mapped THEN b.size ELSE 0)
             mapped == MapBlock(h, start, IF start.size < lacking THEN start.size ELSE lacking)
         IN <<h>> \o IF mapped.found = {} THEN <<>> ELSE MapCalls(mapped.heap, First(mapped.found), p)

\* The heap with an expandable segment that has room for the request.
Reserved(h, p) == IF FindExpandableBlock(h, p) = {} THEN ReserveSegment(h, p) ELSE h

\* The calls of AllocBlock.
AllocCalls(h, p) ==
    IF ~WithinLimit(h, p) THEN <<>>
    ELSE IF ~ExpandableSegments THEN <<h>>
    ELSE LET ready == Reserved(h, p)
         IN (IF FindExpandableBlock(h, p) = {} THEN <<h>> ELSE <<>>)
            \o MapCalls(ready, First(FindExpandableBlock(ready, p)), p)

\* The calls of ReleaseAvailableCachedBlocks: the largest block first.  An oversize
\* block that is released alone is the only one.
AvailableCalls(h, p) ==
    LET after == ReleaseAvailableCachedBlocks(h, p).heap
        going == {b \in h.blocks : b \notin after.blocks}
        larger(b) == {c \in going : Before(b, c)}
    IN [i \in 1..Cardinality(going) |->
           ReleaseSegments(h, UNION {{b} : b \in {c \in going : Cardinality(larger(c)) < i - 1}})]

\* The calls after the first attempt.
ObtainCalls(first, p) ==
    LET available == ReleaseAvailableCachedBlocks(first.heap, p)
        second    == IF available.enough
                     THEN AllocBlock(available.heap, p)
                     ELSE [heap |-> available.heap, found |-> {}]
    IN IF first.found # {} THEN <<>>
       ELSE AvailableCalls(first.heap, p)
            \o (IF available.enough THEN AllocCalls(available.heap, p) ELSE <<>>)
            \o IF second.found # {} THEN <<>>
               ELSE ReleaseCalls(second.heap) \o AllocCalls(ReleaseCachedBlocks(second.heap), p)

MallocCalls(h, p) ==
    LET now == ProcessEvents(h)
    IN QueryCalls(h, Streams)
       \o IF GetFreeBlock(now, p) # {} THEN <<>>
          ELSE AllocCalls(now, p) \o ObtainCalls(AllocBlock(now, p), p)

(***************************************************************************)
(* The steps.                                                              *)
(***************************************************************************)
FailedMalloc(stream, bytes, n) ==
    LET calls == MallocCalls(Heap, AllocParams(stream, bytes, 0))
    IN /\ n <= Len(calls)
       /\ Become(calls[n])
       /\ UNCHANGED programVars

FailedEmptyCache(n) ==
    LET calls == ReleaseCalls(Heap)
    IN /\ n <= Len(calls)
       /\ Become(calls[n])
       /\ UNCHANGED programVars

\* An event cannot be created or recorded: the block stays allocated.
FailedFree(addr, n) ==
    \E b \in blocks :
        /\ b.addr = addr /\ b.allocated
        /\ n <= Cardinality(b.uses)
        /\ UNCHANGED vars

\* The first attempt at memory from the driver finds none, whatever the device has.
RefusedMalloc(stream, bytes) ==
    LET p       == AllocParams(stream, bytes, 0)
        now     == ProcessEvents(Heap)
        refused == [heap |-> IF ExpandableSegments THEN Reserved(now, p) ELSE now, found |-> {}]
        result  == ObtainAfter(refused, p)
    IN /\ GetFreeBlock(now, p) = {}
       /\ WithinLimit(now, p)
       /\ Become(result.heap)
       /\ given' = Given(result, stream, 0, bytes)
       /\ UNCHANGED touched

(***************************************************************************)
(* Everything else is as in CachingAllocator.                              *)
(***************************************************************************)
NextOrFault ==
    \/ Next
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedMalloc(s, n, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)
    \/ \E s \in Streams, n \in Sizes : RefusedMalloc(s, n)

FaultSpec == Init /\ [][NextOrFault]_vars
=============================================================================
