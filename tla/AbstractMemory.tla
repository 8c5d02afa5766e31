--------------------------- MODULE AbstractMemory ---------------------------
(***************************************************************************)
(* Memory of a GPU that a program allocates, and the order in which        *)
(* streams work on it.  It describes allocators that return memory only    *)
(* after the work of other streams on it has completed.  (It is also safe  *)
(* to return it earlier and to let the stream wait on the device, as       *)
(* cudaMallocAsync may.  That is not described.)  Nothing is here of how:  *)
(* no segments, no free lists, no best fit, no events; nor of how          *)
(* addresses are aligned.  It is about safety only: an allocator that is   *)
(* always out of memory is one of these.                                   *)
(*                                                                         *)
(* A program mallocs memory on a stream, the allocation's stream.  Other   *)
(* streams may use the memory too, if the program records them             *)
(* (record_stream) before it frees the memory; a use that is not recorded  *)
(* is the program's mistake, and not covered.  A free need not wait: work  *)
(* on the memory may be pending then.  There are two kinds of such work.   *)
(*                                                                         *)
(*   of recorded streams         The variable work has it.                 *)
(*   of the allocation's stream  No variable has it: the program does not  *)
(*                               say when that stream uses the memory.     *)
(*                               Instead the variable belongs has, for     *)
(*                               each stream, the memory on which it can   *)
(*                               have such work.                           *)
(*                                                                         *)
(* An allocator has to keep two rules about them.                          *)
(*                                                                         *)
(*   MayBeTaken     A malloc returns memory that is in no other            *)
(*                  allocation, and on which no other stream has recorded  *)
(*                  work pending.                                          *)
(*   BelongsAfter   After every step                                       *)
(*                  (1) the memory of an allocation belongs to its stream, *)
(*                  (2) no memory belongs to two streams,                  *)
(*                  (3) no memory that has begun to belong to a stream in  *)
(*                      this step has recorded work of another pending.    *)
(*                                                                         *)
(* A malloc also returns at least as many bytes as were requested.  An     *)
(* allocation ends only by a free.  Who calls is in no variable: a step    *)
(* that ends an allocation is a free, so a refinement has to map to        *)
(* allocations what the program holds, and not what the allocator          *)
(* remembers.                                                              *)
(*                                                                         *)
(* Nothing here says how long memory belongs to a stream: it may stop in   *)
(* any step.  If belongs were hidden, BelongsAfter would forbid nothing,   *)
(* since the memory of the allocations on each stream would do for         *)
(* belongs.  So it is worth as much as the mapping from an allocator to    *)
(* belongs.  In Refinement.tla memory belongs to the stream whose malloc   *)
(* obtained it from the driver, until it is returned to the driver.  Under *)
(* that mapping (1) and (2) forbid that memory which was obtained for one  *)
(* stream is allocated on another.  (3) forbids that memory is returned to *)
(* the driver, and obtained again for a stream, while another stream still *)
(* has recorded work on it, although no malloc has returned it yet.        *)
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
    belongs      \* for each stream, the memory on which it can have work as the stream of an
                 \* allocation, also of one that has been freed

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

\* What may belong to the streams after a step.  Some work of an allocation's stream may be
\* pending after the free.  A refinement mapping has to let the memory belong to the stream
\* until that work has completed.  No formula here tests that.
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

\* Memory may become an allocation on a stream, beside others and while w is pending, whether
\* or not it has belonged to the stream before.
MayBeTaken(memory, stream, others, w) ==
    /\ \A x \in others : memory \cap x.memory = {}
    /\ \A s \in Streams \ {stream} : memory \cap Pending(w, s) = {}

\* A malloc returns consecutive bytes, at least as many as were requested.  What was requested
\* is in no variable, and what serves a malloc serves every smaller one.  So Next depends only
\* on the least of Sizes; the others are for properties that name the request (MallocsServe
\* in MCRefinement.tla).
Malloc(stream, bytes) ==
    \E w \in AfterSomeTime(work) : \E low, high \in Addresses :
        LET memory == {a \in Addresses : a \in low..high} IN  \* low..high, but TLC prints it as a set
        /\ high - low + 1 >= bytes
        /\ MayBeTaken(memory, stream, allocations, w)
        /\ StepTo(allocations \cup {[memory |-> memory, stream |-> stream, users |-> {}]}, w)

\* For example a malloc is out of memory, cached memory is released, work completes, or nothing
\* happens.
NoAllocationChanges == \E w \in AfterSomeTime(work) : StepTo(allocations, w)

\* The program calls record_stream: until the free this stream may use the memory too.
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

\* NoAllocationChanges allows the step in which no variable changes.  StepsAreSafe would allow it
\* anyway; properties that name the action need it, since a malloc that fails may have that
\* image (MallocsServe in MCRefinement.tla).
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
