------------------------- MODULE UpstreamWeaknesses -------------------------
(***************************************************************************)
(* Weaknesses of PyTorch that the reference has too: properties that fail  *)
(* in the specification as it is.  More of them are in the modules         *)
(* themselves, marked FAILS.                                               *)
(***************************************************************************)
EXTENDS PrivatePools

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)

\* kept/pool-count
EmptyPoolsAreErased ==
    [][EmptyCache => \A id \in Freeable(PoolHeap)' : \E g \in segments' : g.pool = id]_vars

(***************************************************************************)
(* kept/use-not-captured: its work is on the device.                       *)
(***************************************************************************)
TouchesByStream(addr, stream) ==
    touched' = touched \cup {[addr |-> addr, stream |-> stream,
                              captured |-> \E c \in Range(captures) : c.stream = stream]}
=============================================================================
