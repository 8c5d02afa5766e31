---------------------------- MODULE MCPoolFaults ----------------------------
(***************************************************************************)
(* Private pools and failing driver calls at small bounds, and a mutant:   *)
(* see MCCore.tla.                                                         *)
(***************************************************************************)
EXTENDS PoolFaults

\* DriverSegmentsAreCounted: a malloc counts the segment before the driver call that fails.
CountsBefore(h, p) == IF WithinLimit(h, p) THEN <<CountDriverSegments(h, p.pool, 1)>> ELSE <<>>

\* There must be more addresses than usual: see MCPoolsExpandable.tla.
EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
