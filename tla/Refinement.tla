----------------------------- MODULE Refinement -----------------------------
(***************************************************************************)
(* The allocator keeps the promise of AbstractMemory.tla: under this       *)
(* mapping each of its steps is one of an abstract memory.                 *)
(*                                                                         *)
(*   abstract   is here                                                    *)
(*                                                                         *)
(*   held       the program's pointers (given), each with the memory that  *)
(*              the program may use: its request, rounded; and the streams *)
(*              recorded on it outside of captures (touched).  A use that  *)
(*              is recorded in a capture goes into the graph.  An          *)
(*              allocation's name is its address                           *)
(*   queues     the pending uses of freed memory by recorded streams, and  *)
(*              what is launched on an allocation's own stream (work)      *)
(*   granted    the memory that the driver has granted (device)            *)
(*   graphs     none; MCPoolsRefinement.tla has them                       *)
(*                                                                         *)
(* The mapping does not read what the allocator remembers: no block, no    *)
(* event, no free list.  (Only RoundSize is the allocator's: see           *)
(* MallocsServe.)  Nor do the guards of the program's actions Free and     *)
(* RecordStream, which read given.  So an allocator that forgets           *)
(* something, such as a stream that was recorded, cannot hide it by that:  *)
(* the step in which a malloc returns memory that MayBeTaken forbids is    *)
(* none of Abstract!Next.                                                  *)
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
(* MallocsServe names the actions: a malloc that returns something is a    *)
(* malloc of so many bytes there, with a new name, and one that returns    *)
(* nothing is OutOfMemory, which may be only when it must.                 *)
(*                                                                         *)
(* With checkpoints a restore need not be a step of Abstract!Next, and     *)
(* IsAbstractMemory is false; IsAbstractMemoryWithRestores of              *)
(* MCCheckpointRefinement takes its place, where a restore may be the      *)
(* action Restore of AbstractRestore.tla.                                  *)
(***************************************************************************)
EXTENDS Served

AllocationsHeld ==
    [a \in {x.addr : x \in given} |->
        LET at == {x \in given : x.addr = a}
        IN [memory |-> UNION {BytesOf(MemoryOf(x)) : x \in at},
            stream |-> (CHOOSE x \in at : TRUE).stream, users |-> TouchedBy(a)]]

PendingWork ==
    [s \in Streams |-> [i \in DOMAIN work[s] |->
        [uses |-> BytesOf(work[s][i]), behind |-> [t \in Streams |-> IF t = s THEN i - 1 ELSE 0]]]]

Grants == {BytesOf(y) : y \in device}

\* One device has all memory.  What a malloc needs is said by numbers, in Served.tla.
AllAddresses == [s \in Streams |-> Addresses]
MostGranted ==
    [n \in Sizes |-> Max(IF ExpandableSegments THEN PagesNeeded(n) ELSE 0, SegmentNeeded(n))]
NoGraphs == [g \in {} |-> {}]

\* The constants Streams and Sizes are those of Defaults.tla.  A byte is a unit of memory.
Abstract == INSTANCE AbstractMemory WITH
    held <- AllocationsHeld, queues <- PendingWork, granted <- Grants, graphs <- NoGraphs,
    Names <- Addresses, Graphs <- {}, Home <- AllAddresses, Align <- MinBlock, Needs <- MostGranted, Room <- Room

\* What the program holds is allocated: the allocator knows it when it is called with it.
CallsAreAccepted == \A x \in given : AllocatedAt(Heap, x.addr) # {}

\* What the program has freed is not allocated any more.  (A property of steps.)
FreesAreAccepted ==
    [][\A x \in given : (\A y \in given' : y.addr # x.addr) => AllocatedAt(Heap', x.addr) = {}]_<<given, blocks>>

IsAbstractMemory == Abstract!Spec /\ []CallsAreAccepted /\ FreesAreAccepted

\* A malloc of so many bytes that returned something is a malloc of so many bytes there; one that
\* returned nothing is out of memory.  (For the properties MallocsServe.)
Serves(returned, stream, bytes) ==
    IF returned = {} THEN Abstract!OutOfMemory(stream, bytes) ELSE Abstract!Malloc(stream, bytes)

\* These follow.  Where there are restores they are tested.
AllocationsAreDisjoint == Abstract!AllocationsAreDisjoint
InOrder == Abstract!InOrder
=============================================================================
