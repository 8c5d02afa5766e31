--------------------------- MODULE AbstractMemory ---------------------------
(***************************************************************************)
(* Memory of a GPU that a program allocates, and the order in which        *)
(* streams work on it.  It describes allocators that return memory only    *)
(* after the work of other streams on it has completed.  (It is also safe  *)
(* to return it earlier and to let the stream wait on the device, as       *)
(* cudaMallocAsync may.  That is not described.)  Nothing is here of how:  *)
(* no segments, no free lists, no best fit, no events.  It is about safety *)
(* only: an allocator that is always out of memory is one of these.        *)
(*                                                                         *)
(* A program mallocs memory on a stream, the allocation's stream.  Other   *)
(* streams may use the memory too, if the program records them             *)
(* (recordStream) before it frees the memory; a use that is not recorded   *)
(* is the program's mistake, and not covered.  A free need not wait: work  *)
(* that uses the memory may be pending then.                               *)
(*                                                                         *)
(* An allocator has to keep two rules about streams.                       *)
(*                                                                         *)
(*   MayBeTaken     A malloc returns memory that is in no other            *)
(*                  allocation, and on which no other stream has recorded  *)
(*                  work pending.                                          *)
(*   BelongsAfter   After every step                                       *)
(*                  (1) the memory of an allocation belongs to its stream, *)
(*                  (2) no memory belongs to two streams,                  *)
(*                  (3) none has begun to belong to a stream while another *)
(*                      had recorded work pending on it.                   *)
(*                                                                         *)
(* It also returns at least as many bytes as were requested, and takes     *)
(* nothing away that the program has not freed.                            *)
(*                                                                         *)
(* MayBeTaken is about the work of recorded streams, which is in a         *)
(* variable.  (1) and (2) are about the work of the allocation's stream,   *)
(* which is not: the variable belongs has the memory on which a stream can *)
(* have work that no variable records.  Memory may stop belonging to a     *)
(* stream in any step, so they are worth as much as the mapping from an    *)
(* allocator to belongs (Refinement.tla).  Under that mapping, memory that *)
(* begins to belong to a stream was just obtained from the driver.  If     *)
(* another stream still has recorded work on it, the allocator returned it *)
(* to the driver too early.  (3) forbids that, although no malloc has      *)
(* returned the memory yet.                                                *)
(*                                                                         *)
(* AllocationsAreDisjoint and InOrder, at the end, follow from MayBeTaken, *)
(* (1) and (2).                                                            *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    Streams,    \* work of one stream runs in order, work of different streams may run concurrently
    Sizes,      \* what programs request, in bytes
    Addresses   \* those of all bytes

ASSUME
    /\ Addresses \subseteq Nat /\ \A a, b \in Addresses : a..b \subseteq Addresses
    /\ Sizes \subseteq Nat \ {0}

VARIABLES
    allocations, \* those that the program has not freed: set of [memory, stream, users], with the
                 \* recorded streams as users
    work,        \* for each stream, its uses, as a recorded stream, of allocations that have been
                 \* freed.  An entry is the memory of one of these allocations, oldest first.  Uses
                 \* of an allocation that is not freed have no entry; its users stand for them
    belongs      \* for each stream, the memory on which it can have other work

abstractVars == <<allocations, work, belongs>>

Allocation == [memory : SUBSET Addresses, stream : Streams, users : SUBSET Streams]

Pending(w, s) == UNION {w[s][i] : i \in DOMAIN w[s]}

(***************************************************************************)
(* Time.                                                                   *)
(***************************************************************************)

\* Work completes at any time, in the order of its stream; an allocator may wait for work in
\* any call.  w is what the queues would hold after a step if no work completed in it,
\* AfterSomeTime(w) is what they can hold when some has.
Suffixes(queue) == {SubSeq(queue, n + 1, Len(queue)) : n \in 0..Len(queue)}
AfterSomeTime(w) == {v \in [Streams -> UNION {Suffixes(w[s]) : s \in Streams}] :
                        \A s \in Streams : v[s] \in Suffixes(w[s])}

\* What may belong to the streams after a step.  The program does not say when the stream of
\* an allocation works on its memory, and some of that work may be pending after the free.
\* The mapping has to let the memory belong to the stream until that work has completed.  No
\* formula here tests that.  Refinement.tla, for example, lets memory belong to a stream from
\* the driver's grant until it is returned to the driver.
BelongsAfter ==
    /\ belongs' \in [Streams -> SUBSET Addresses]
    /\ \A x \in allocations' : x.memory \subseteq belongs'[x.stream]         \* (1)
    /\ \A s, t \in Streams : s # t =>
          /\ belongs'[s] \cap belongs'[t] = {}                               \* (2)
          /\ (belongs'[s] \ belongs[s]) \cap Pending(work', t) = {}          \* (3)

\* A step after which these are the allocations, and w is pending.
StepTo(all, w) ==
    /\ allocations' = all
    /\ work' = w
    /\ BelongsAfter

(***************************************************************************)
(* What a program does, and what may come of it.                           *)
(***************************************************************************)

\* Memory may become an allocation on a stream, beside others and while w is pending.  Here
\* the memory may have belonged to the stream before; (3) is about memory that is new to it.
MayBeTaken(memory, stream, others, w) ==
    /\ \A x \in others : memory \cap x.memory = {}
    /\ \A s \in Streams \ {stream} : memory \cap Pending(w, s) = {}

\* A malloc returns consecutive bytes, at least as many as were requested.  What was requested
\* is in no variable, and what serves a malloc serves every smaller one.  So Next depends only
\* on the least of Sizes; the others are for properties that name the request (MallocsServe
\* in MCRefinement.tla).
Malloc(stream, bytes) ==
    \E w \in AfterSomeTime(work) : \E low, high \in Addresses :
        LET memory == {a \in Addresses : a \in low..high} IN  \* TLC prints low..high as it is
        /\ high - low + 1 >= bytes
        /\ MayBeTaken(memory, stream, allocations, w)
        /\ StepTo(allocations \cup {[memory |-> memory, stream |-> stream, users |-> {}]}, w)

\* For example a malloc is out of memory, cached memory is released, work completes, or nothing
\* happens.
NoAllocationChanges == \E w \in AfterSomeTime(work) : StepTo(allocations, w)

\* The program calls record_stream: from here to the free another stream may use the memory.
RecordStream(x, stream) ==
    \E w \in AfterSomeTime(work) :
        StepTo((allocations \ {x}) \cup {[x EXCEPT !.users = @ \cup {stream}]}, w)

\* All uses of the memory come before the free.  The last use of each user gets an entry at the
\* end of that user's queue; the earlier ones come before it in the stream, so it stands for
\* all.  The order of the queue is that of the frees, not of the uses.  So a use counts as
\* pending until the uses of all memory that was freed before it have completed.  An allocator
\* that records its events before the free may know better; that is not described.
Free(x) ==
    LET used == [s \in Streams |-> IF s \in x.users THEN Append(work[s], x.memory) ELSE work[s]]
    IN \E w \in AfterSomeTime(used) : StepTo(allocations \ {x}, w)

\* Nothing belongs to a stream at first.  An allocator that has memory before the first malloc
\* maps it to the stream in that malloc or in a step before it.
Init ==
    /\ allocations = {}
    /\ work = [s \in Streams |-> <<>>]
    /\ belongs = [s \in Streams |-> {}]

\* NoAllocationChanges includes the step in which no variable changes, so that every step of a
\* refinement has an image in Next.
Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ NoAllocationChanges
    \/ \E x \in allocations : Free(x) \/ \E s \in Streams \ {x.stream} : RecordStream(x, s)

StepsAreSafe == [][Next]_abstractVars

Spec == Init /\ StepsAreSafe

(***************************************************************************)
(* What follows.                                                           *)
(***************************************************************************)

TypeOK ==
    /\ allocations \subseteq Allocation
    /\ work \in [Streams -> Seq(SUBSET Addresses)]
    /\ belongs \in [Streams -> SUBSET Addresses]

\* No byte is in two allocations.
AllocationsAreDisjoint == \A x, y \in allocations : x # y => x.memory \cap y.memory = {}

\* No other stream has a recorded use pending on the memory of an allocation, and the memory
\* belongs to no other stream.  If the mapping to belongs is honest, no stream of an earlier
\* allocation has work on it.
InOrder ==
    \A x \in allocations : \A s \in Streams \ {x.stream} :
        x.memory \cap (Pending(work, s) \cup belongs[s]) = {}
=============================================================================
