------------------------ MODULE MCTwoStepRefinement -------------------------
(***************************************************************************)
(* A malloc of several steps refines the abstract memory: it takes its     *)
(* memory in the last of them.                                             *)
(***************************************************************************)
EXTENDS MCTwoStep, Refinement
=============================================================================
