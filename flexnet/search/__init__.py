"""Search: strategies and networks, changed in turn.

What comes in is a `Problem` (`flexnet.plan.problem`) and `Settings` (`settings`); what goes out is a `Found` (`found`)
with its `Plan` (`plan`).  `prepare` lays a search out, `driver` runs it, `alternate` is one step of it: a move
(`moves`) is proposed, priced (`pricing`), and the network built anew (`networks`).  Where it begins is in `starts`,
what a plan is written to in `outputs`; `opening` and `found` word what is shown of it.  May import everything but
`commands` and `published`; prints nothing itself.
"""
