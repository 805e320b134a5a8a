"""What runs leave behind: the directory of a search, the record of it, and going on with a stopped one.

`directory` holds the files of a run: locked while it runs, written whole or not at all.  `record` makes ``run.json``,
`versions` by what and when it was written, `inputs` reads what a search starts from, `resume` finds in a ``run.json``
what a stopped search was asked.  What comes in are requests and found plans, what goes out are files and what they
held.  May import `requests`, `console` and the rooms below.
"""
