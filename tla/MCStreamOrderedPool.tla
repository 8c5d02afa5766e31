------------------------ MODULE MCStreamOrderedPool -------------------------
(***************************************************************************)
(* A stream-ordered pool at small bounds, and its mutants.                 *)
(***************************************************************************)
EXTENDS StreamOrderedPool

\* StepsAreSafe: a malloc takes memory at once, without a wait.
NeverWaits(q, s, point) == q

\* StepsAreSafe: all that is free is returned, also under pending work.
TrimsAll ==
    /\ granted' = granted \ {f.memory : f \in freed} /\ freed' = {}
    /\ UNCHANGED <<held, queues>>

\* FailuresAreReal: what was freed serves only streams that come after it, and a malloc of another fails.
SameStreamOnly(s) == \E f \in freed : WaitsFor(queues, s, f.behind) = queues /\ ReuseOf(f, s)
FailsBeside == UNION granted = Addresses /\ UNCHANGED poolVars
=============================================================================
