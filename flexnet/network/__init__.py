"""Networks: who is linked to whom, how fast, and along which routes.

What comes in is a number of servers and, for topologies that follow it, the demand of a strategy (`demand`); what goes
out is a `Topology` (`topology`: links and rings), and with speeds and routes a `Network` (`network`), which is all that
simulation sees of it.  Families of topologies stand in `topologies`, one a file, behind the contract of `family`;
`build` makes them by name.  Of networks that others have drawn, `graphs` says what nodes and links must have, and
`graph_file` reads the formats.  May import `plan` and what lies below it, and knows nothing of simulation or search.
"""
