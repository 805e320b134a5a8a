"""Networks without switches, wired link by link: made for a demand (`wire`), and changed a little (`propose`).

What comes in is a demand and a degree, or a network; what goes out is a `flexnet.network.topology.Topology` with
cycles, or a `flexnet.network.network.Network`.  No server ever has more links than before, or than the degree allows,
and all stay connected.  A kind of change is a file, and a line in `propose`.  May import what `flexnet.network` may,
and what lies there.
"""
