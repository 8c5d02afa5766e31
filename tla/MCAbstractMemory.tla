-------------------------- MODULE MCAbstractMemory --------------------------
(***************************************************************************)
(* The abstract memory by itself, at small bounds: so many pieces of work  *)
(* in a queue, and what the driver can have granted.  Two allocations can  *)
(* be held, though there is memory for one: they must not share it.        *)
(***************************************************************************)
EXTENDS Defaults, Sequences, FiniteSets

Addresses == 0..(Memory - 1)
MaxWork == 1
Graphs == {1}

VARIABLES held, queues, granted, graphs

INSTANCE AbstractMemory WITH
    Names <- 0..1, Home <- [s \in Streams |-> Addresses], Align <- 1,
    Needs <- [n \in Sizes |-> n], Room <- Memory

\* Grants are consecutive bytes, and no two overlap.
Ranges == {{c \in Addresses : a <= c /\ c <= b} : a, b \in Addresses} \ {{}}
GrantSets == {y \in SUBSET Ranges : \A a, b \in y : a = b \/ a \cap b = {}}

BoundedNext ==
    /\ \E y \in GrantSets : granted' = y /\ Next
    /\ \A s \in Streams : Len(queues'[s]) <= MaxWork

BoundedSpec == Init /\ [][BoundedNext]_abstractVars
=============================================================================
