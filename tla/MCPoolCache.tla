---------------------------- MODULE MCPoolCache -----------------------------
(***************************************************************************)
(* The cache of one pool is emptied: PoolCache.tla at small bounds.  There *)
(* must be more addresses than usual: see MCPoolsExpandable.tla.           *)
(***************************************************************************)
EXTENDS PoolCache

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
