"""The command line: one file a command, which reads from the top like a recipe.

A command asks (`requests`: what was typed becomes domain objects, once), builds what it needs of the rooms below, does
it, shows it (`console`) and writes it (`runs`: the directory of a search, its ``run.json``, going on with a stopped
one).  `cli` finds the command, and makes one sentence and an exit status of errors.  May import everything; nothing
imports it but ``__main__``.  Nothing heavy is imported at the head of a file, so that help and errors come at once.
"""
