-------------------------- MODULE MCAbstractMemory --------------------------
(***************************************************************************)
(* The abstract memory by itself, at small bounds.                         *)
(***************************************************************************)
EXTENDS Defaults

Addresses == 0..(Memory - 1)

VARIABLES allocations, work, belongs

INSTANCE AbstractMemory
=============================================================================
