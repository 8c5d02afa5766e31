------------------------- MODULE MCPoolsRefinement --------------------------
(***************************************************************************)
(* Private pools and captures refine the abstract memory, with the memory  *)
(* of graphs.  A graph is what is captured with a pool: it works on all    *)
(* that mallocs of its captures returned, until the program gives up its   *)
(* last use of the pool.  No variable of the allocator says that, so a     *)
(* history of the program's actions does.                                  *)
(***************************************************************************)
EXTENDS MCPools, Refinement

VARIABLE captured   \* for each pool [uses, memory]: the uses that the program has of it, and its graphs' memory

GraphsHeld ==
    [id \in PoolIds |-> [streams |-> {c.stream : c \in {d \in Range(captures) : d.pool = id}}, memory |-> captured[id].memory]]

WithGraphs == INSTANCE AbstractMemory WITH
    held <- AllocationsHeld, queues <- PendingWork, granted <- Grants, graphs <- GraphsHeld,
    Names <- Addresses, Graphs <- PoolIds, Home <- AllAddresses, Align <- MinBlock, Needs <- MostGranted, Room <- Room

\* What a step adds to a pool's graphs, or takes away with the last use.
Follow(id) ==
    LET begun == IF \E s \in Streams : BeginAllocateToPool(id, s) THEN 1 ELSE 0
        ended == IF ReleasePool(id) THEN 1 ELSE 0
        uses  == captured[id].uses + begun - ended
        taken == UNION {BytesOf(MemoryOf(x)) : x \in {y \in given' \ given : y.pool = id}}
    IN [uses |-> uses, memory |-> IF uses = 0 THEN {} ELSE captured[id].memory \cup taken]

CapturingSpec ==
    /\ Init /\ captured = [id \in PoolIds |-> [uses |-> 0, memory |-> {}]]
    /\ [][Next /\ captured' = [id \in PoolIds |-> Follow(id)]]_<<vars, captured>>

StepsAreSafe == WithGraphs!StepsAreSafe

IsAbstractMemoryWithGraphs == WithGraphs!Spec /\ []CallsAreAccepted /\ FreesAreAccepted

\* See Refinement.tla.
MallocsServe ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) => IF MallocResult(PoolHeap, s, n).returned = {}
                          THEN WithGraphs!OutOfMemory(s, n)
                          ELSE WithGraphs!Malloc(s, n)]_<<vars, captured>>

FailuresAreReal ==
    \A s \in Streams, n \in Sizes : MallocResult(PoolHeap, s, n).returned = {} => WithGraphs!CannotServe(s, n)
=============================================================================
