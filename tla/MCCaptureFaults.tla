-------------------------- MODULE MCCaptureFaults --------------------------
(***************************************************************************)
(* Failing questions about captures at small bounds, and a mutant: see     *)
(* MCCore.tla.                                                             *)
(***************************************************************************)
EXTENDS CaptureFaults

\* CapturedPoolsAreKnown: a malloc whose question fails has obtained memory before.
AsksTooLate(stream, bytes) ==
    LET late == P!MallocResult(PoolHeap, stream, bytes).heap
    IN IF Routed(stream) \subseteq capturedPools THEN <<>> ELSE <<late>>

\* There must be more addresses than usual: see MCPoolsExpandable.tla.
EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
