----------------------------- MODULE TraceData ------------------------------
(***************************************************************************)
(* A recorded run, for TraceCore.tla: the calls, their results, and the    *)
(* memory reserved from the driver afterwards.  The result of a malloc is  *)
(* the address, or -1 if it was out of memory; of other calls it is 0.     *)
(* This one is an example: out of memory, and then not.                    *)
(***************************************************************************)
EXTENDS Integers

Recorded == <<
    [action |-> "Malloc",       args |-> <<1, 2>>, result |-> 0,  reserved |-> 4],
    [action |-> "Malloc",       args |-> <<1, 2>>, result |-> 2,  reserved |-> 4],
    [action |-> "RecordStream", args |-> <<0, 2>>, result |-> 0,  reserved |-> 4],
    [action |-> "Free",         args |-> <<0>>,    result |-> 0,  reserved |-> 4],
    [action |-> "Malloc",       args |-> <<1, 1>>, result |-> -1, reserved |-> 4],
    [action |-> "Malloc",       args |-> <<1, 2>>, result |-> 0,  reserved |-> 4],
    [action |-> "RecordStream", args |-> <<2, 2>>, result |-> 0,  reserved |-> 4],
    [action |-> "Free",         args |-> <<2>>,    result |-> 0,  reserved |-> 4],
    [action |-> "Free",         args |-> <<0>>,    result |-> 0,  reserved |-> 4],
    [action |-> "Complete",     args |-> <<2>>,    result |-> 0,  reserved |-> 4],
    [action |-> "Malloc",       args |-> <<2, 2>>, result |-> 0,  reserved |-> 4]
>>
=============================================================================
