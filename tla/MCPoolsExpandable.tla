------------------------- MODULE MCPoolsExpandable --------------------------
(***************************************************************************)
(* Private pools with expandable segments.  What is taken from a segment   *)
(* while another request has mapped its last page leaves a stream with     *)
(* more ranges of addresses than one for each kind of each pool: there     *)
(* must be more addresses than usual.                                      *)
(***************************************************************************)
EXTENDS PrivatePools

EnoughAddresses == 0..(4 * Cardinality(Streams) * (ReserveSize("small") + ReserveSize("large")) - 1)
=============================================================================
