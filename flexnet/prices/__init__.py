"""What a network costs: prices of its components, how many of which it takes, and what the same money buys elsewhere.

`table` reads prices (``prices.json`` here, or a file in its place), `bill` holds components and adds them up, `fabrics`
knows how many a kind of network takes, and `equal` gives different networks the same money, the same bandwidth or the
same interfaces.  What comes in are kinds of networks with interfaces in Gbps, in which prices are quoted; what goes out
are dollars, and watts where a price file has them.  May import `flexnet.network` and those below.
"""

__all__ = ["PANELS", "READINGS"]

PANELS = {"patch": "patch_panel_port", "ocs": "ocs_port"}
"""What joins the fibres of servers that are linked directly: a patch panel, or an optical circuit switch."""

READINGS = ("cost", "bandwidth", "degree")
"""What networks that are compared have in common; see `flexnet.prices.equal`."""
