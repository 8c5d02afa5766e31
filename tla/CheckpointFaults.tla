-------------------------- MODULE CheckpointFaults --------------------------
(***************************************************************************)
(* Checkpoints on a driver whose calls can fail: see PoolFaults.tla.       *)
(*                                                                         *)
(* A checkpoint records the events of deferred frees first, and saves      *)
(* nothing if one of them cannot be recorded.  A restore makes no driver   *)
(* call: it obtains no memory, and frees only blocks that no other stream  *)
(* has used.                                                               *)
(***************************************************************************)
EXTENDS Checkpoint

F == INSTANCE PoolFaults

FailedCheckpoint(id, n) ==
    /\ P!UseCount(id) > 0
    /\ ~CapturesUnderway(PoolHeap)
    /\ F!FailedCall(F!DeferredCalls(PoolHeap), n)
    /\ UNCHANGED <<programVars, saved>>

(***************************************************************************)
(* Everything else is as in PoolFaults.                                    *)
(***************************************************************************)
FailedMalloc(stream, bytes, n) == F!FailedMalloc(stream, bytes, n) /\ UNCHANGED saved
FailedEmptyCache(n) == F!FailedEmptyCache(n) /\ UNCHANGED saved
FailedFree(addr, n) == F!FailedFree(addr, n) /\ UNCHANGED saved
RefusedMalloc(stream, bytes) == F!RefusedMalloc(stream, bytes) /\ UNCHANGED saved

NextOrFault ==
    \/ Next
    \/ \E s \in Streams, n \in Sizes, i \in 1..MaxDriverCalls : FailedMalloc(s, n, i)
    \/ \E i \in 1..MaxDriverCalls : FailedEmptyCache(i)
    \/ \E a \in Addresses, i \in 1..MaxDriverCalls : FailedFree(a, i)
    \/ \E s \in Streams, n \in Sizes : RefusedMalloc(s, n)
    \/ \E id \in PoolIds, i \in 1..MaxDriverCalls : FailedCheckpoint(id, i)

FaultSpec == Init /\ [][NextOrFault]_<<vars, saved>>
=============================================================================
