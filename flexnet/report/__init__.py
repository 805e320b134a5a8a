"""Reports: what a search found, as one page people look at.

What is told comes first, as plain values (`values`, of a run's directory that `run_files` read); then its drawings
(`drawings`, matplotlib to SVG that follows the page's colours); then the page (`page`, Jinja2).  `timelines` and
`attribution` say where every server's time went; `trace` writes the same for Perfetto.  What comes in are the files of
a run or a replay, what goes out is text.  matplotlib and Jinja2 come with the extra ``report`` and are imported when a
page is made.  May import `search` and what lies below it.
"""
