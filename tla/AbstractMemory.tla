--------------------------- MODULE AbstractMemory ---------------------------
(***************************************************************************)
(* Memory of a GPU that a program allocates: who owns it, and in which     *)
(* order streams work on it.  This is what every allocator promises.       *)
(* Nothing is here of how it keeps the promise: no segments, no free       *)
(* lists, no best fit, no events.                                          *)
(*                                                                         *)
(* A program mallocs memory on a stream, the owner's stream.  Other        *)
(* streams may use the memory too, after the program has recorded them.    *)
(* A free does not wait: work that uses the memory may be pending then.    *)
(*                                                                         *)
(* An allocator has to keep two rules.                                     *)
(*                                                                         *)
(*   MayBeTaken     A malloc returns memory that nobody owns, and that no  *)
(*                  other stream has work on.                              *)
(*   BelongsAfter   After every step, memory belongs to at most one        *)
(*                  stream, and what is owned to the owner's.  Memory      *)
(*                  begins to belong to a stream only when no other has    *)
(*                  pending work on it.                                    *)
(*                                                                         *)
(* OneOwner and InOrder, at the end, follow from them.  Refinement.tla     *)
(* says how the allocator of CachingAllocator.tla keeps them.              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Streams,    \* the work of one stream runs in order, that of two at the same time
    Sizes,      \* what programs request, in bytes
    Addresses   \* those of all bytes

VARIABLES
    owned,      \* what the program holds: set of [memory, stream, users]
    work,       \* the pending work of streams that used memory of another stream:
                \* for each stream, the memory of each piece, oldest first
    belongs     \* for each stream, the memory that it may work on as the owner's stream

abstractVars == <<owned, work, belongs>>

Pending(w, s) == UNION {w[s][i] : i \in DOMAIN w[s]}

(***************************************************************************)
(* Time.                                                                   *)
(***************************************************************************)

\* Work completes at any time, in the order of its stream.  So there may be less of it
\* after any step; an allocator may wait for it in any call.
Rest(queue) == {SubSeq(queue, n + 1, Len(queue)) : n \in 0..Len(queue)}
AfterSomeTime == {w \in [Streams -> UNION {Rest(work[s]) : s \in Streams}] :
                     \A s \in Streams : w[s] \in Rest(work[s])}

\* Work of the owner's stream is not in the variable work: the program says nothing of it,
\* and some of it may be pending after the free.  The variable belongs stands for it.
\* Memory belongs to a stream from the malloc, or from before it, until that work is known
\* to have completed.  After that it may belong to another stream.  Nothing here says when
\* that is known, and a step may take memory from a stream at any time: this is for the
\* mapping to justify (Refinement.tla).
BelongsAfter(o, w) ==
    {b \in [Streams -> SUBSET Addresses] : \A s \in Streams :
        /\ \A x \in o : x.stream = s => x.memory \subseteq b[s]
        /\ \A t \in Streams \ {s} : /\ b[s] \cap b[t] = {}
                                    /\ (b[s] \ belongs[s]) \cap Pending(w, t) = {}}

\* A step after which o is owned and w is pending.
Become(o, w) ==
    /\ work' = w
    /\ owned' = o
    /\ belongs' \in BelongsAfter(o, w)

(***************************************************************************)
(* What a program does, and what may come of it.                           *)
(***************************************************************************)

\* A malloc on a stream may return this memory, while w is pending.  What belongs to whom
\* is asked after the malloc (belongs'): in it the allocator may have got the memory from
\* the driver, and before that it belonged to nobody, or to another stream.
MayBeTaken(memory, stream, w) ==
    /\ \A x \in owned : memory \cap x.memory = {}
    /\ \A s \in Streams \ {stream} : memory \cap (Pending(w, s) \cup belongs'[s]) = {}

\* It returns consecutive bytes, at least as many as were requested.  What was requested is
\* in no variable.  So of all Sizes Next depends on the least only; the others are there for
\* properties that name the request (MallocsServe in MCRefinement.tla).
Malloc(stream, bytes) ==
    \E w \in AfterSomeTime : \E low, high \in Addresses :
        LET memory == {a \in Addresses : low <= a /\ a <= high} IN
        /\ Cardinality(memory) >= bytes
        /\ Become(owned \cup {[memory |-> memory, stream |-> stream, users |-> {}]}, w)
        /\ MayBeTaken(memory, stream, w)

\* The program gets no memory and gives none back: a malloc is out of memory, cached memory
\* is released, or work completes.
NothingIsTaken == \E w \in AfterSomeTime : Become(owned, w)

\* Another stream uses what the program holds (recordStream).
RecordStream(x, stream) ==
    Become((owned \ {x}) \cup {[x EXCEPT !.users = @ \cup {stream}]}, work)

\* The uses of the memory come before the free.  So the last work of each user, which uses
\* it, is the newest in that user's stream.
Free(x) ==
    \E w \in AfterSomeTime :
        Become(owned \ {x},
               [s \in Streams |-> IF s \in x.users THEN Append(w[s], x.memory) ELSE w[s]])

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

\* No byte has two owners.
OneOwner == \A x, y \in owned : x = y \/ x.memory \cap y.memory = {}

\* While memory is owned, no other stream has work of an earlier owner on it.
InOrder ==
    \A x \in owned : \A s \in Streams \ {x.stream} :
        x.memory \cap (Pending(work, s) \cup belongs[s]) = {}
=============================================================================
