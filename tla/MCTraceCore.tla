---------------------------- MODULE MCTraceCore -----------------------------
(***************************************************************************)
(* Recorded runs, and one that is no behaviour: see MCCore.tla.            *)
(***************************************************************************)
EXTENDS TraceCore

\* The malloc that is out of memory got the block that it waited for.
SearchedAgain == [Recorded EXCEPT ![5].result = 0]

\* The last one reuses memory before the other stream has finished.
WithoutWaiting ==
    [i \in 1..10 |-> IF i < 10 THEN Recorded[i]
                      ELSE [Recorded[11] EXCEPT !.args = <<1, 2>>, !.result = 2]]
=============================================================================
