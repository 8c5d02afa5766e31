------------------------- MODULE MCPoolsRefinement --------------------------
(***************************************************************************)
(* Private pools and captures refine the abstract memory.                  *)
(***************************************************************************)
EXTENDS MCPools, Refinement

\* See MCRefinement.tla.
MallocsServe ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) => Serves(MallocResult(PoolHeap, s, n).returned, s, n)]_vars
=============================================================================
