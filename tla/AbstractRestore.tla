-------------------------- MODULE AbstractRestore ---------------------------
(***************************************************************************)
(* An abstract memory in which the program can have a checkpoint restored  *)
(* (Checkpoint.tla): in one step it loses some of what it holds, and is    *)
(* given other memory.                                                     *)
(*                                                                         *)
(* This says whether a step is one, and computes none: owned' is known in  *)
(* a refinement.                                                           *)
(***************************************************************************)
EXTENDS AbstractMemory

Restore ==
    \E w \in AfterSomeTime :
        /\ \A x \in owned \ owned' : x.users = {}
        /\ \A x \in owned' \ owned :
              /\ x.users = {}
              /\ \A y \in owned' : x = y \/ x.memory \cap y.memory = {}
              /\ \A s \in Streams \ {x.stream} : Pending(w, s) \cap x.memory = {}
        /\ Become(owned', w)

RestoresAreSafe == [][Next \/ Restore]_abstractVars

RestoreSpec == Init /\ RestoresAreSafe
=============================================================================
