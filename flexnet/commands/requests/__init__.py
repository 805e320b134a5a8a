"""What commands are asked: flags, what their values may be, and the domain objects that are made of them, once.

What comes in are words of a command line, those of the original programs rewritten first (`legacy`); what goes out are
requests in SI units, made of objects of the rooms below.  May import those, and nothing heavy before a command runs.
"""
