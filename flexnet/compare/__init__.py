"""Networks beside each other: each searched equally hard, its plan replayed, its components paid for.

`measure` searches one network and tells its figures, `contest` puts several into one table, and `page` makes a page of
them.  What comes in are problems, settings and what networks are bought as (`flexnet.prices`); what goes out are values
and text.  May import everything but `commands`, `sweep` and `plot`.
"""
