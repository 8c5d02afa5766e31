----------------------------- MODULE UpstreamFree ---------------------------
(***************************************************************************)
(* callers/free-beside-restore: a free of PyTorch is two steps, and a      *)
(* restore in between frees the block a second time.  See                  *)
(* UpstreamPools.tla.                                                      *)
(***************************************************************************)
EXTENDS Pools

VARIABLES
    saved,    \* see Checkpoint.tla
    freeing   \* pointers that have left the table and are not freed yet: set of addresses

C == INSTANCE Checkpoint

freeVars == <<vars, saved, freeing>>

BeginFree(addr) ==
    /\ freeing = {}
    /\ \E x \in given : x.addr = addr
    /\ freeing' = {addr}
    /\ GiveBack({addr})
    /\ UNCHANGED <<heapVars, poolVars, saved>>

EndFree(addr) ==
    /\ addr \in freeing
    /\ freeing' = {}
    /\ \E b \in blocks :
        /\ b.addr = addr /\ b.allocated
        /\ BecomeWithPools(C!P!FreeResult(PoolHeap, b))
    /\ UNCHANGED <<programVars, saved>>

Malloc(stream, bytes) == C!Malloc(stream, bytes) /\ UNCHANGED freeing
BeginAllocateToPool(id, stream) == C!BeginAllocateToPool(id, stream) /\ UNCHANGED freeing
EndAllocateToPool(id) == C!EndAllocateToPool(id) /\ UNCHANGED freeing
Checkpoint(id) == C!Checkpoint(id) /\ UNCHANGED freeing
SetCheckpointPoolState(id) == C!SetCheckpointPoolState(id) /\ UNCHANGED freeing

Init == C!Init /\ freeing = {}

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : BeginFree(a) \/ EndFree(a)
    \/ \E id \in PoolIds, s \in Streams : BeginAllocateToPool(id, s)
    \/ \E id \in PoolIds : EndAllocateToPool(id)
    \/ \E id \in PoolIds : Checkpoint(id) \/ SetCheckpointPoolState(id)

Spec == Init /\ [][Next]_freeVars

\* What the program holds is allocated.
HeldIsAllocated == \A x \in given : \E b \in blocks : b.addr = x.addr /\ b.allocated
=============================================================================
