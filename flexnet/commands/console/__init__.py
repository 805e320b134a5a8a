"""What commands print: lines and errors, a live line while they run, and the signals that end them.

`printing` writes lines to standard output and warnings to standard error, `progress` keeps a live line on a terminal
and says so often what was reached where there is none, `signals` turns SIGINT and SIGTERM into a request to stop.
What comes in are texts and values to show.  May import the rooms below, and nothing of `requests` or `runs`.
"""
