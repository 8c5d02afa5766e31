---------------------------- MODULE MCCheckpoint ----------------------------
(***************************************************************************)
(* Checkpoints at small bounds, and a mutant: see MCCore.tla.              *)
(***************************************************************************)
EXTENDS Checkpoint

\* CheckpointRestoresWhatItSaved: what was free at the checkpoint stays allocated.
LeavesAllAllocated(h, layout) == AllocateSaved(h, layout)
=============================================================================
