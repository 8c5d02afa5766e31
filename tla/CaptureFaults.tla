--------------------------- MODULE CaptureFaults ---------------------------
(***************************************************************************)
(* Private pools on a driver that may fail to say whether a stream is      *)
(* captured: PoolFaults.tla, with the question that a malloc asks.         *)
(*                                                                         *)
(* Memory of a pool that a graph was captured with must stay, so a malloc  *)
(* that is routed to a pool asks the driver whether its stream is          *)
(* captured, until it once was.  If the driver cannot say, the malloc ends *)
(* before it searches the pool, and the next one asks again.               *)
(*                                                                         *)
(*   capturedPools   the pools of which the allocator knows that a graph   *)
(*                   was captured with them                                *)
(*                                                                         *)
(* The other question, before pages are unmapped, is in DriverCalls.tla.   *)
(***************************************************************************)
EXTENDS Pools

VARIABLE capturedPools

P == INSTANCE PrivatePools
F == INSTANCE PoolFaults

\* What the allocator knows of pools that are there, and of those that a malloc has asked about.
Remember(asked) ==
    capturedPools' = {id \in capturedPools \cup asked : \E q \in pools' : q.id = id}

Routed(stream) == {ChoosePool(PoolHeap, stream)} \ {0}

(***************************************************************************)
(* Malloc.                                                                 *)
(***************************************************************************)

\* The calls of a malloc.  The question is the first: while requests are routed, no event
\* is queried before.
MallocCalls(stream, bytes) ==
    LET asks == ~(Routed(stream) \subseteq capturedPools)
    IN (IF asks THEN <<PoolHeap>> ELSE <<>>) \o F!MallocCalls(PoolHeap, F!Params(stream, bytes))

FailedMalloc(stream, bytes, n) ==
    /\ F!FailedCall(MallocCalls(stream, bytes), n)
    /\ Remember(IF n > 1 THEN Routed(stream) ELSE {})
    /\ UNCHANGED programVars

Malloc(stream, bytes) == P!Malloc(stream, bytes) /\ Remember(Routed(stream))
RefusedMalloc(stream, bytes) == F!RefusedMalloc(stream, bytes) /\ Remember(Routed(stream))

(***************************************************************************)
(* Everything else is as in PrivatePools and PoolFaults.  What is known of *)
(* a pool is forgotten with it.                                            *)
(***************************************************************************)
Free(addr) == P!Free(addr) /\ Remember({})
RecordStream(addr, stream) == P!RecordStream(addr, stream) /\ Remember({})
Complete(stream) == P!Complete(stream) /\ Remember({})
EmptyCache == P!EmptyCache /\ Remember({})
BeginAllocateToPool(id, stream) == P!BeginAllocateToPool(id, stream) /\ Remember({})
EndAllocateToPool(id) == P!EndAllocateToPool(id) /\ Remember({})
ReleasePool(id) == P!ReleasePool(id) /\ Remember({})

FailedEmptyCache(n) == F!FailedEmptyCache(n) /\ Remember({})
FailedFree(addr, n) == F!FailedFree(addr, n) /\ Remember({})

Init == P!Init /\ capturedPools = {}

NextOrFault ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache
    \/ \E id \in PoolIds, s \in Streams : BeginAllocateToPool(id, s)
    \/ \E id \in PoolIds : EndAllocateToPool(id)
    \/ \E id \in PoolIds : ReleasePool(id)
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedMalloc(s, n, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)
    \/ \E s \in Streams, n \in Sizes : RefusedMalloc(s, n)

FaultSpec == Init /\ [][NextOrFault]_<<vars, capturedPools>>

(***************************************************************************)
(* What is true.                                                           *)
(***************************************************************************)

\* The memory of a pool is that of captures that the allocator knows of.
CapturedPoolsAreKnown ==
    /\ capturedPools \subseteq {q.id : q \in pools}
    /\ \A g \in segments : g.pool \in capturedPools \cup {0}

HeldBlocksAreAwaited == P!HeldBlocksAreAwaited
PoolsOwnTheirBlocks == P!PoolsOwnTheirBlocks
RoutingsAreCaptures == P!RoutingsAreCaptures
DriverSegmentsAreCounted == P!DriverSegmentsAreCounted
WorkIsAwaited == P!WorkIsAwaited
UsesAreCounted == P!UsesAreCounted
PoolTypeOK == P!PoolTypeOK
CapturedMemoryIsKept == P!CapturedMemoryIsKept
=============================================================================
