----------------------------- MODULE Refinement -----------------------------
(***************************************************************************)
(* The allocator keeps the promise of AbstractMemory.tla: under this       *)
(* mapping each of its steps is one of an abstract memory.                 *)
(*                                                                         *)
(*   abstract   is here                                                    *)
(*                                                                         *)
(*   owned      the program's pointers (given), each with the memory that  *)
(*              the program may use: its request, rounded; and the streams *)
(*              recorded on it outside of captures (touched).  A use that  *)
(*              is recorded in a capture goes into the graph, and is not   *)
(*              in the image                                               *)
(*   work       the work of the device                                     *)
(*   belongs    the memory that the driver has granted (device), to the    *)
(*              stream whose malloc obtained it                            *)
(*                                                                         *)
(* So memory stops belonging to a stream when the allocator returns it to  *)
(* the driver.  That the stream's work on it has completed then is assumed *)
(* of two others, and tested by nothing here: of the driver, that cudaFree *)
(* returns only when all work on the memory has completed; and of the      *)
(* allocator, that it synchronizes a segment's stream before it unmaps     *)
(* pages.  Work of other streams is not assumed away: it is in work, and   *)
(* WorkIsAwaited says that events wait for it.                             *)
(*                                                                         *)
(* Nothing that the allocator remembers is in the mapping: no block, no    *)
(* event, no free list.  So an allocator that forgets something, such as a *)
(* stream that was recorded, cannot hide it: the step in which a malloc    *)
(* returns memory that MayBeTaken forbids is none of Abstract!Next.        *)
(*                                                                         *)
(* A restore of a checkpoint is the exception: what the program holds      *)
(* afterwards is read from the allocator's blocks.  That it is what was    *)
(* saved is CheckpointRestoresWhatItSaved, which the configurations of     *)
(* MCCheckpoint test, and those here do not.                               *)
(*                                                                         *)
(* The image is by value.  A malloc that returns what the program holds    *)
(* already, to the same stream and for the same bytes, changes nothing in  *)
(* given.  MallocsServe (MCRefinement.tla) forbids that too: a malloc that *)
(* returns something must be a malloc there.                               *)
(*                                                                         *)
(* MCRefinement, MCPoolsRefinement, MCCheckpointRefinement,                *)
(* MCTwoStepRefinement and the four of them with failing driver calls      *)
(* (MC*FaultsRefinement) have this mapping.  A restore of a checkpoint     *)
(* need not be a step of Abstract!Next; it may be the action of            *)
(* AbstractRestore.tla.                                                    *)
(***************************************************************************)
EXTENDS Invariants

Owned ==
    {[memory |-> BytesOf(MemoryOf(x)), stream |-> x.stream, users |-> TouchedBy(x.addr)] : x \in given}

PendingWork == [s \in Streams |-> [i \in DOMAIN work[s] |-> BytesOf(work[s][i])]]

Belongs == [s \in Streams |-> UNION {BytesOf(y) : y \in {z \in device : z.stream = s}}]

\* The constants are substituted too, each by what has its name here: Streams and Sizes are
\* those of Defaults.tla, Addresses is that of Driver.tla.  A byte is a unit of memory.
Abstract == INSTANCE AbstractMemory WITH
    owned <- Owned, work <- PendingWork, belongs <- Belongs

IsAbstractMemory == Abstract!Spec

\* These follow.  Where there are restores they are tested.
OneOwner == Abstract!OneOwner
InOrder == Abstract!InOrder
=============================================================================
