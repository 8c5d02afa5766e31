--------------------------- MODULE AbstractMemory ---------------------------
(***************************************************************************)
(* Memory of a GPU that a program allocates: who owns it, and in which     *)
(* order streams work on it.  This is what an allocator promises that      *)
(* returns memory only when the work of other streams on it has completed. *)
(* (It is also safe to return it earlier and to let the stream wait on the *)
(* device, as cudaMallocAsync may.  That is not described.)  Nothing is    *)
(* here of how the promise is kept: no segments, no free lists, no best    *)
(* fit, no events.  It is a promise of safety only: an allocator that is   *)
(* always out of memory keeps it.                                          *)
(*                                                                         *)
(* A program mallocs memory on a stream, the owner's stream.  Other        *)
(* streams may use the memory too, if the program records them before it   *)
(* frees the memory; a use that is not recorded is the program's mistake,  *)
(* and not covered.  A free need not wait: work that uses the memory may   *)
(* be pending then.                                                        *)
(*                                                                         *)
(* An allocator has to keep two rules.                                     *)
(*                                                                         *)
(*   MayBeTaken     A malloc returns memory that nobody owns, and that     *)
(*                  other streams have no pending work on.                 *)
(*   BelongsAfter   After every step, memory belongs to at most one        *)
(*                  stream, and owned memory to its owner's stream.        *)
(*                  Memory begins to belong to a stream only when no other *)
(*                  has pending work on it.                                *)
(*                                                                         *)
(* MayBeTaken is about the work of recorded streams, which is in a         *)
(* variable.  The first sentence of BelongsAfter is about the work of the  *)
(* owner's stream, which is not: the variable belongs stands for it.       *)
(* Memory may stop belonging to a stream in any step, so this rule is      *)
(* worth as much as the mapping from an allocator to belongs               *)
(* (Refinement.tla).  The second sentence is about the work of recorded    *)
(* streams again, when memory is granted.  OneOwner and InOrder do not     *)
(* need it, because MayBeTaken tests each malloc.  But a stream may work   *)
(* on all that belongs to it: to grant memory with pending work is a       *)
(* mistake even if no malloc returns it.                                   *)
(*                                                                         *)
(* OneOwner and InOrder, at the end, follow from the rules.                *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Streams,    \* the work of one stream runs in order, that of two at the same time
    Sizes,      \* what programs request, in bytes
    Addresses   \* those of all bytes

ASSUME
    /\ Addresses \subseteq Nat /\ \A a, b \in Addresses : a..b \subseteq Addresses
    /\ Sizes \subseteq Nat \ {0}

VARIABLES
    owned,      \* what the program holds: set of [memory, stream, users]
    work,       \* the pending work of streams on memory that was another stream's and has been
                \* freed: for each stream, the memory of each piece, oldest first.  Uses of memory
                \* that is still owned are only in users
    belongs     \* for each stream, the memory that it may work on as the owner's stream

abstractVars == <<owned, work, belongs>>

Pending(w, s) == UNION {w[s][i] : i \in DOMAIN w[s]}

(***************************************************************************)
(* Time.                                                                   *)
(***************************************************************************)

\* Work completes at any time, in the order of its stream.  So of what the queues w would be
\* after a step there may be less; an allocator may wait for work in any call.
Suffixes(queue) == {SubSeq(queue, n + 1, Len(queue)) : n \in 0..Len(queue)}
AfterSomeTime(w) == {v \in [Streams -> UNION {Suffixes(w[s]) : s \in Streams}] :
                        \A s \in Streams : v[s] \in Suffixes(w[s])}

\* What may belong to the streams when o is owned and w is pending.  The program does not say
\* when the owner's stream works on memory, and some of that work may be pending after the
\* free.  So memory belongs to the stream from the malloc, or from before it, until that work
\* has completed.  When that is, is an assumption of each mapping: for example, from the
\* driver's grant until the memory is returned to the driver.  (belongs without a prime: what
\* belonged to the streams before the step.)
BelongsAfter(o, w) ==
    {b \in [Streams -> SUBSET Addresses] : \A s \in Streams :
        /\ \A x \in o : x.stream = s => x.memory \subseteq b[s]
        /\ \A t \in Streams \ {s} : /\ b[s] \cap b[t] = {}
                                    /\ (b[s] \ belongs[s]) \cap Pending(w, t) = {}}

\* A step after which o is owned and w is pending.
StepTo(o, w) ==
    /\ work' = w
    /\ owned' = o
    /\ belongs' \in BelongsAfter(o, w)

(***************************************************************************)
(* What a program does, and what may come of it.                           *)
(***************************************************************************)

\* A malloc on a stream may return this memory, while w is pending.  (That it belongs to no
\* other stream afterwards is a part of BelongsAfter.)
MayBeTaken(memory, stream, w) ==
    /\ \A x \in owned : memory \cap x.memory = {}
    /\ \A s \in Streams \ {stream} : memory \cap Pending(w, s) = {}

\* It returns consecutive bytes, at least as many as were requested.  What was requested is
\* in no variable, and what serves a malloc serves every smaller one.  So Next depends only
\* on the least of Sizes; the others are for properties that name the request (MallocsServe
\* in MCRefinement.tla).
Malloc(stream, bytes) ==
    \E w \in AfterSomeTime(work) : \E low, high \in Addresses :
        LET memory == {a \in Addresses : low <= a /\ a <= high} IN
        /\ Cardinality(memory) >= bytes
        /\ MayBeTaken(memory, stream, w)
        /\ StepTo(owned \cup {[memory |-> memory, stream |-> stream, users |-> {}]}, w)

\* The program gets no memory and gives none back.  For example a malloc is out of memory,
\* cached memory is released, work completes, or nothing happens.
NothingIsTaken == \E w \in AfterSomeTime(work) : StepTo(owned, w)

\* Another stream uses what the program holds (recordStream).
RecordStream(x, stream) ==
    \E w \in AfterSomeTime(work) :
        StepTo((owned \ {x}) \cup {[x EXCEPT !.users = @ \cup {stream}]}, w)

\* All uses of the memory come before the free.  The last one of each user becomes the newest
\* work in that user's stream; the earlier ones come before it there, so it stands for all.
\* The stream may have had other work between that use and the free.  The use is behind that
\* work here, so it counts as pending at least as long as it is.
Free(x) ==
    LET used == [s \in Streams |-> IF s \in x.users THEN Append(work[s], x.memory) ELSE work[s]]
    IN \E w \in AfterSomeTime(used) : StepTo(owned \ {x}, w)

Init ==
    /\ owned = {}
    /\ work = [s \in Streams |-> <<>>]
    /\ belongs = [s \in Streams |-> {}]

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ NothingIsTaken
    \/ \E x \in owned : Free(x) \/ \E s \in Streams \ {x.stream} : RecordStream(x, s)

StepsAreSafe == [][Next]_abstractVars

Spec == Init /\ StepsAreSafe

(***************************************************************************)
(* What follows.                                                           *)
(***************************************************************************)

TypeOK ==
    /\ owned \subseteq [memory : SUBSET Addresses, stream : Streams, users : SUBSET Streams]
    /\ DOMAIN work = Streams /\ \A s \in Streams : \A i \in DOMAIN work[s] : work[s][i] \subseteq Addresses
    /\ belongs \in [Streams -> SUBSET Addresses]

\* No byte has two owners.
OneOwner == \A x, y \in owned : x = y \/ x.memory \cap y.memory = {}

\* While memory is owned, no other stream has work of an earlier owner on it, be it work of a
\* recorded stream or of that owner's.
InOrder ==
    \A x \in owned : \A s \in Streams \ {x.stream} :
        x.memory \cap (Pending(work, s) \cup belongs[s]) = {}
=============================================================================
