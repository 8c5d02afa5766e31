----------------------------- MODULE Refinement -----------------------------
(***************************************************************************)
(* The allocator keeps the promise of AbstractMemory.tla: under this       *)
(* mapping each of its steps is one of an abstract memory.                 *)
(*                                                                         *)
(*   abstract     is here                                                  *)
(*                                                                         *)
(*   allocations  the program's pointers (given), each with the memory     *)
(*                that the program may use: its request, rounded; and the  *)
(*                streams recorded on it outside of captures (touched).  A *)
(*                use that is recorded in a capture goes into the graph,   *)
(*                and is not in the image                                  *)
(*   work         the pending uses of freed memory by recorded streams     *)
(*   belongs      the memory that the driver has granted (device), to the  *)
(*                stream whose malloc obtained it                          *)
(*                                                                         *)
(* So memory stops belonging to a stream when the allocator returns it to  *)
(* the driver.  That the stream has no more work on it then is assumed,    *)
(* and tested by nothing here: of the driver, that cudaFree returns only   *)
(* when all work on the memory has completed; of the allocator, that it    *)
(* synchronizes a segment's stream before it unmaps pages; and of the      *)
(* program, that it uses memory on other streams than the allocation's     *)
(* only if it records them.  Work of recorded streams is not assumed away: *)
(* it is in work, and WorkIsAwaited says that events wait for it.          *)
(*                                                                         *)
(* The mapping does not read what the allocator remembers: no block, no    *)
(* event, no free list.  (Only RoundSize is the allocator's: see           *)
(* MallocsServe in MCRefinement.tla.)  Nor do the guards of the program's  *)
(* actions Free and RecordStream, which read given.  So an allocator that  *)
(* forgets something, such as a stream that was recorded, cannot hide it   *)
(* by that: the step in which a malloc returns memory that MayBeTaken      *)
(* forbids is none of Abstract!Next.                                       *)
(*                                                                         *)
(* A call that the allocator refuses changes nothing in the allocator, and *)
(* the program goes on as after one that was accepted.  A refused free is  *)
(* safe: the memory is never allocated again.  So two properties are       *)
(* needed beside Abstract!Spec, in which every allocation can be freed.    *)
(* CallsAreAccepted forbids that the allocator does not know what the      *)
(* program holds, FreesAreAccepted that it refuses a free for whatever     *)
(* reason.  A refused record_stream is a use that the allocator does not   *)
(* know: a malloc can then return memory that MayBeTaken forbids.          *)
(*                                                                         *)
(* The action that restores a checkpoint sets given from the checkpoint,   *)
(* which the allocator has written.  That what is saved as allocated is    *)
(* what the program holds is a part of CheckpointRestoresWhatItSaved,      *)
(* which the configurations of MCCheckpoint test, and those here do not.   *)
(*                                                                         *)
(* The image has no names of allocations.  A malloc that returns an        *)
(* address that the program holds already, on the same stream and with the *)
(* same rounded size, does not change it.  MallocsServe (MCRefinement.tla) *)
(* forbids that: a malloc that returns something must be a malloc there.   *)
(*                                                                         *)
(* MCRefinement, MCPoolsRefinement, MCCheckpointRefinement,                *)
(* MCTwoStepRefinement and their counterparts with failing driver calls    *)
(* (MC*FaultsRefinement) have this mapping.  With checkpoints a restore    *)
(* need not be a step of Abstract!Next, and IsAbstractMemory is false;     *)
(* IsAbstractMemoryWithRestores of MCCheckpointRefinement takes its place, *)
(* where a restore may be the action Restore of AbstractRestore.tla.       *)
(***************************************************************************)
EXTENDS Invariants

AllocationsHeld ==
    {[memory |-> BytesOf(MemoryOf(x)), stream |-> x.stream, users |-> TouchedBy(x.addr)] : x \in given}

PendingWork == [s \in Streams |-> [i \in DOMAIN work[s] |-> BytesOf(work[s][i])]]

Belongs == [s \in Streams |-> UNION {BytesOf(y) : y \in {z \in device : z.stream = s}}]

\* The constants are substituted too, each by what has its name here: Streams and Sizes are
\* those of Defaults.tla, Addresses is that of Driver.tla.  A byte is a unit of memory.
Abstract == INSTANCE AbstractMemory WITH
    allocations <- AllocationsHeld, work <- PendingWork, belongs <- Belongs

\* What the program holds is allocated: the allocator knows it when it is called with it.
CallsAreAccepted == \A x \in given : AllocatedAt(Heap, x.addr) # {}

\* What the program has freed is not allocated any more.  (A property of steps.)
FreesAreAccepted ==
    [][\A x \in given : (\A y \in given' : y.addr # x.addr) => AllocatedAt(Heap', x.addr) = {}]_<<given, blocks>>

IsAbstractMemory == Abstract!Spec /\ []CallsAreAccepted /\ FreesAreAccepted

\* A malloc of so many bytes that returned something is a malloc of so many bytes there; one that
\* returned nothing changes no allocation.  (For the properties MallocsServe.)
Serves(returned, stream, bytes) ==
    IF returned = {} THEN Abstract!NoAllocationChanges ELSE Abstract!Malloc(stream, bytes)

\* These follow.  Where there are restores they are tested.
AllocationsAreDisjoint == Abstract!AllocationsAreDisjoint
InOrder == Abstract!InOrder
=============================================================================
