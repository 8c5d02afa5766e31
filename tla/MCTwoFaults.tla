---------------------------- MODULE MCTwoFaults ----------------------------
(***************************************************************************)
(* Two failing driver calls in one operation at small bounds, and a        *)
(* mutant: see MCCore.tla.                                                 *)
(***************************************************************************)
EXTENDS TwoFaults

\* NothingIsLost: what the second attempt is to use is dropped before it is freed.
DropsBefore(h, p) ==
    LET dropped == ReleaseAvailableCachedBlocks(h, p).heap
    IN [i \in 1..(Cardinality(h.segments) - Cardinality(dropped.segments)) |-> [dropped EXCEPT !.device = h.device]]

\* There must be more addresses than usual: see MCPoolsExpandable.tla.
EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
