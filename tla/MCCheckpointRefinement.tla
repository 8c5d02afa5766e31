----------------------- MODULE MCCheckpointRefinement -----------------------
(***************************************************************************)
(* Checkpoints refine the abstract memory in which there are restores.  A  *)
(* step may be a restore there only if it is one here.                     *)
(***************************************************************************)
EXTENDS MCCheckpoint, Refinement

WithRestores == INSTANCE AbstractRestore WITH
    held <- AllocationsHeld, queues <- PendingWork, granted <- Grants, graphs <- NoGraphs,
    Names <- Addresses, Graphs <- {}, Home <- AllAddresses, Align <- MinBlock, Needs <- MostGranted, Room <- Room

StepsOrRestores ==
    [][\/ Abstract!Next
       \/ WithRestores!Restore /\ \E id \in PoolIds : SetCheckpointPoolState(id)]_<<vars, saved>>

IsAbstractMemoryWithRestores ==
    Abstract!Init /\ StepsOrRestores /\ []CallsAreAccepted /\ FreesAreAccepted

\* A pool is restored although other streams use its memory.
RestoresUsed(checkpoint) ==
    /\ P!UseCount(checkpoint.pool) > 0
    /\ \A b \in MappedBlocks(PoolHeap, checkpoint.pool) : b.eventCount = 0
    /\ \A x \in checkpoint.blocks : \E b \in MappedBlocks(PoolHeap, checkpoint.pool) : Overlap(b, x)
=============================================================================
