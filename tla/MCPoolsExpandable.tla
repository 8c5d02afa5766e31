------------------------- MODULE MCPoolsExpandable --------------------------
(***************************************************************************)
(* Private pools with expandable segments.  A stream can have more than    *)
(* one expandable segment for each kind of each pool: a request that finds *)
(* no room in the first, because another has mapped its last page,         *)
(* reserves a second.  There must be more addresses than usual.            *)
(***************************************************************************)
EXTENDS PrivatePools

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
