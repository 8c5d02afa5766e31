-------------------------- MODULE StreamOrderedPool --------------------------
(***************************************************************************)
(* A stream-ordered pool, as the driver's (cudaMallocAsync), with blocks   *)
(* of one size.  It waits for nothing: a free is a point in a stream, and  *)
(* a malloc on another stream lets that stream wait on the device for the  *)
(* point.  It is an abstract memory too.                                   *)
(***************************************************************************)
EXTENDS Defaults, Sequences, FiniteSets

VARIABLES held, queues, granted,  \* as in AbstractMemory.tla
          freed                   \* what can be allocated: set of [memory, behind]: when so many pieces of each
                                  \* queue have completed, its uses are over

Addresses == 0..(Memory - 1)
MaxWork == 2                      \* pieces in a queue

\* The point that comes after some points.
Latest(points) == [t \in Streams |-> CHOOSE n \in {p[t] : p \in points} : \A p \in points : p[t] <= n]

NoGraphs == [g \in {} |-> {}]
Abstract == INSTANCE AbstractMemory WITH
    Names <- Addresses, Graphs <- {}, Home <- [s \in Streams |-> Addresses], Align <- 1,
    Needs <- [n \in Sizes |-> n], Room <- Memory, graphs <- NoGraphs

poolVars == <<held, queues, granted, freed>>

\* A stream waits for a point, if it does not come after it anyway.
WaitsFor(q, s, point) ==
    LET all == Latest({Abstract!Behind(q, s), point})
    IN IF all = Abstract!Behind(q, s) THEN q ELSE Abstract!Waiting(q, s, all)

\* Allocations are named by their address.
Hold(s, memory) ==
    LET at == CHOOSE a \in memory : \A b \in memory : a <= b
    IN held' = [y \in DOMAIN held \cup {at} |->
                   IF y = at THEN [memory |-> memory, stream |-> s, users |-> {}] ELSE held[y]]

ReuseOf(f, s) ==
    /\ Hold(s, f.memory) /\ freed' = freed \ {f} /\ UNCHANGED granted
    /\ queues' = WaitsFor(queues, s, f.behind)

Reuse(s) == \E f \in freed : ReuseOf(f, s)

Grow(s) ==
    /\ freed = {}
    /\ \E a \in Addresses \ UNION granted :
          /\ \A b \in Addresses \ UNION granted : a <= b
          /\ Hold(s, {a}) /\ granted' = granted \cup {{a}}
    /\ UNCHANGED <<queues, freed>>

Fail == freed = {} /\ UNION granted = Addresses /\ UNCHANGED poolVars

Malloc(s) == Reuse(s) \/ Grow(s) \/ Fail

\* The stream of the allocation waits for its users, so that the free is one point.
Free(x) ==
    LET used == Abstract!Used(queues, held[x].users, held[x].memory)
        s == held[x].stream
    IN /\ queues' = WaitsFor(used, s, Latest({Abstract!Behind(used, t) : t \in {s} \cup held[x].users}))
       /\ held' = [y \in DOMAIN held \ {x} |-> held[y]]
       /\ freed' = freed \cup {[memory |-> held[x].memory, behind |-> Abstract!Behind(queues', s)]}
       /\ UNCHANGED granted

RecordStream(x, s) ==
    /\ s # held[x].stream
    /\ held' = [held EXCEPT ![x].users = @ \cup {s}]
    /\ UNCHANGED <<queues, granted, freed>>

Launch(x) ==
    /\ queues' = Abstract!Used(queues, {held[x].stream}, held[x].memory)
    /\ UNCHANGED <<held, granted, freed>>

\* The oldest work of a stream completes.
Complete(s) ==
    LET n == [t \in Streams |-> IF t = s THEN 1 ELSE 0]
    IN /\ queues[s] # <<>> /\ Abstract!Completable(queues, n)
       /\ queues' = Abstract!Left(queues, n)
       /\ freed' = {[f EXCEPT !.behind[s] = IF @ = 0 THEN 0 ELSE @ - 1] : f \in freed}
       /\ UNCHANGED <<held, granted>>

\* Memory of which the uses are over is returned.
Trim ==
    LET over == {f \in freed : \A t \in Streams : f.behind[t] = 0}
    IN /\ granted' = granted \ {f.memory : f \in over} /\ freed' = freed \ over
       /\ UNCHANGED <<held, queues>>

Init ==
    /\ held = [x \in {} |-> {}] /\ queues = [s \in Streams |-> <<>>] /\ granted = {} /\ freed = {}

Next ==
    /\ \/ \E s \in Streams : Malloc(s) \/ Complete(s)
       \/ \E x \in DOMAIN held : Free(x) \/ Launch(x) \/ \E s \in Streams : RecordStream(x, s)
       \/ Trim
    /\ \A s \in Streams : Len(queues'[s]) <= MaxWork

Spec == Init /\ [][Next]_poolVars

IsAbstractMemory == Abstract!Spec
MallocsServe == [][\A s \in Streams : Reuse(s) \/ Grow(s) => Abstract!Malloc(s, 1)]_poolVars
FailuresAreReal == \A s \in Streams : (ENABLED Fail) /\ ~ENABLED Reuse(s) => Abstract!CannotServe(s, 1)

AllocationsAreDisjoint == Abstract!AllocationsAreDisjoint
InOrder == Abstract!InOrder
AllIsGranted == Abstract!AllIsGranted
=============================================================================
