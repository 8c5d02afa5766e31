----------------------------- MODULE Refinement -----------------------------
(***************************************************************************)
(* The allocator keeps the promise of AbstractMemory.tla: each of its      *)
(* steps is one of an abstract memory, or changes nothing there.           *)
(*                                                                         *)
(*   abstract   is here                                                    *)
(*                                                                         *)
(*   owned      the program's pointers (given), and for each the streams   *)
(*              that the program has used its memory on (touched)          *)
(*   work       the work of the device                                     *)
(*   belongs    the memory that the driver has granted (device), to the    *)
(*              stream whose malloc obtained it.  The driver takes memory  *)
(*              back when all work on it has completed (cudaFree waits)    *)
(*                                                                         *)
(* Nothing that the allocator remembers is in the mapping: no block, no    *)
(* event, no free list.  So an allocator that forgets something, such as a *)
(* stream that was recorded, cannot hide it: some malloc returns memory    *)
(* that MayBeTaken forbids, and that step is none of Abstract!Next.        *)
(*                                                                         *)
(* The other modules with the same variables have the same mapping:        *)
(* PrivatePools, Checkpoint and TwoStepMalloc.                             *)
(***************************************************************************)
EXTENDS Invariants

BytesOf(x) == x.addr..(End(x) - 1)

Owned ==
    {[memory |-> BytesOf(MemoryOf(x)), stream |-> x.stream, users |-> TouchedBy(x.addr)] : x \in given}

PendingWork == [s \in Streams |-> [i \in 1..Len(work[s]) |-> BytesOf(work[s][i])]]

Belongs == [s \in Streams |-> UNION {BytesOf(y) : y \in {z \in device : z.stream = s}}]

Abstract == INSTANCE AbstractMemory WITH
    owned <- Owned, work <- PendingWork, belongs <- Belongs

IsAbstractMemory == Abstract!Spec
=============================================================================
