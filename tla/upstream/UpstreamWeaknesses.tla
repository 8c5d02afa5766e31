------------------------- MODULE UpstreamWeaknesses -------------------------
(***************************************************************************)
(* Weaknesses of PyTorch's that the reference has too (docs/deviations.md, *)
(* "Weaknesses that are kept"): properties that fail in the specification  *)
(* as it is.  More of them are in the modules themselves, marked FAILS.    *)
(***************************************************************************)
EXTENDS PrivatePools

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)

\* "If it stays above 0 the pool is never erased, though it holds nothing."
EmptyPoolsAreErased ==
    [][EmptyCache => \A id \in Freeable(PoolHeap)' : \E g \in segments' : g.pool = id]_vars

(***************************************************************************)
(* "So does a use on a stream that is not captured at all but is recorded  *)
(* while requests are routed": its work is on the device.                  *)
(***************************************************************************)
TouchesByStream(addr, stream) ==
    touched' = touched \cup {[addr |-> addr, stream |-> stream,
                              captured |-> \E c \in Range(captures) : c.stream = stream]}
=============================================================================
