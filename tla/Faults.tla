------------------------------- MODULE Faults -------------------------------
(***************************************************************************)
(* The allocator of CachingAllocator.tla, on a driver whose calls can      *)
(* fail.  DriverCalls.tla says what an operation has done by then.         *)
(*                                                                         *)
(* A driver that has no memory is another matter: a malloc continues.      *)
(* That can happen although the device has the memory, since another       *)
(* process may have taken it (RefusedMalloc).                              *)
(***************************************************************************)
EXTENDS CachingAllocator, DriverCalls

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

\* The nth driver call of an operation fails.
FailedCall(calls, n) == n <= Len(calls) /\ Become(calls[n])

FailedMalloc(stream, bytes, n) ==
    /\ FailedCall(MallocCalls(Heap, AllocParams(stream, bytes, 0)), n)
    /\ UNCHANGED programVars

FailedEmptyCache(n) ==
    /\ FailedCall(ReleaseCalls(Heap), n)
    /\ UNCHANGED programVars

\* An event cannot be recorded: the block stays allocated, with its stream uses.  So nothing
\* changes.
FailedFree(addr, n) ==
    /\ Holds(addr)
    /\ \E b \in AllocatedAt(Heap, addr) : FailedCall(RecordCalls(Heap, b.uses), n)
    /\ UNCHANGED programVars

\* The first attempt at memory from the driver finds none, whatever the device has.
RefusedMalloc(stream, bytes) ==
    LET p      == AllocParams(stream, bytes, 0)
        now    == ProcessEvents(Heap)
        result == ObtainAfter(RefusedBlock(now, p), p)
    IN /\ GetFreeBlock(now, p) = {}
       /\ WithinLimit(now, p)
       /\ Become(result.heap)
       /\ given' = Given(result, stream, 0, bytes)
       /\ UNCHANGED touched

NextOrFault ==
    \/ Next
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedMalloc(s, n, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)
    \/ \E s \in Streams, n \in Sizes : RefusedMalloc(s, n)

FaultSpec == Init /\ [][NextOrFault]_vars
=============================================================================
