-------------------- MODULE MCCheckpointFaultsRefinement --------------------
(***************************************************************************)
(* Driver calls that fail break no promise, with checkpoints.              *)
(***************************************************************************)
EXTENDS MCCheckpointFaults, MCCheckpointRefinement
=============================================================================
