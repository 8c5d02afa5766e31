---------------------------- MODULE OutOfMemory -----------------------------
(***************************************************************************)
(* When may a malloc fail?  When nothing that the allocator could have     *)
(* given back would have helped.  That is true of what it asks the driver  *)
(* for.  It is not quite true of what it has itself, and the               *)
(* properties below that fail say where.                                   *)
(***************************************************************************)
EXTENDS CachingAllocator

Fails(stream, bytes) == MallocResult(Heap, stream, bytes).given = {}

\* The heap when every event has been waited for.
Waited == SynchronizeAndFreeEvents(Heap)

\* Some of the cache, given back, makes room for a segment.
DriverCouldServe(p) ==
    \E going \in SUBSET Releasable(Waited, 0) :
        LET h == ReleaseSegments(Waited, going) IN WithinLimit(h, p) /\ HasMemory(h, p)

OutOfMemoryIsReal ==
    \A s \in Streams, n \in Sizes :
        Fails(s, n) => /\ ~DriverCouldServe(AllocParams(s, n, 0))
                       /\ GetFreeBlock(ProcessEvents(Heap), AllocParams(s, n, 0)) = {}

(***************************************************************************)
(* FAILS.  The last attempt waits for all events, which frees the blocks   *)
(* that they held, and asks the driver; it does not look at the cache      *)
(* again.  A block that would do, in a segment that cannot go, stays there *)
(* and the malloc is out of memory.  The next one gets it.                 *)
(***************************************************************************)
CacheIsSearchedAgain ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) /\ Fails(s, n) => GetFreeBlock(Waited, AllocParams(s, n, 0)) = {}]_vars

(***************************************************************************)
(* Oversize blocks are kept for larger requests, and if the best fit is    *)
(* refused for that reason no other block is looked at.  No malloc fails   *)
(* for it: the block is a whole segment, which goes back to the driver,    *)
(* and is at least as large as the segment that is needed instead.  (For   *)
(* that MaxSplitSize must not be below LargeBuffer; settings see to it.)   *)
(***************************************************************************)
AnyBlockIsGood ==
    \A s \in Streams, n \in Sizes :
        Fails(s, n) =>
            LET p == AllocParams(s, n, 0)
            IN \A b \in FreeList(Heap, p.pool, p.kind, p.stream) : b.size < p.size
=============================================================================
