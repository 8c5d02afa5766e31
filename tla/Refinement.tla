----------------------------- MODULE Refinement -----------------------------
(***************************************************************************)
(* The allocator keeps the promise of AbstractMemory.tla: under this       *)
(* mapping each of its steps is one of an abstract memory, or changes      *)
(* nothing there.                                                          *)
(*                                                                         *)
(*   abstract   is here                                                    *)
(*                                                                         *)
(*   owned      the program's pointers (given), and for each the streams   *)
(*              that the program has used its memory on (touched)          *)
(*   work       the work of the device                                     *)
(*   belongs    the memory that the driver has granted (device), to the    *)
(*              stream whose malloc obtained it                            *)
(*                                                                         *)
(* Memory stops belonging to a stream when the allocator returns it to the *)
(* driver.  That this is no cheating is an assumption about the driver:    *)
(* cudaFree returns only when all work on the memory has completed, and    *)
(* pages are unmapped after their stream has been synchronized.  Nothing   *)
(* here checks it.                                                         *)
(*                                                                         *)
(* Nothing that the allocator remembers is in the mapping: no block, no    *)
(* event, no free list.  So an allocator that forgets something, such as a *)
(* stream that was recorded, cannot hide it: the step in which a malloc    *)
(* returns memory that MayBeTaken forbids is none of Abstract!Next.        *)
(*                                                                         *)
(* MC*Refinement.tla have this mapping for each module with the same       *)
(* variables.  Checkpoint.tla has one kind of step that is none of         *)
(* Abstract!Next: a restore.  For it the abstract memory is that of        *)
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
=============================================================================
