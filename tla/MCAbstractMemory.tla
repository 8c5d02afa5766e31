-------------------------- MODULE MCAbstractMemory --------------------------
(***************************************************************************)
(* The abstract memory by itself, at small bounds.                         *)
(***************************************************************************)
EXTENDS Defaults

Addresses == 0..(Memory - 1)

VARIABLES owned, work, belongs

INSTANCE AbstractMemory
=============================================================================
