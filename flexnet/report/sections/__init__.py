"""Sections of the report of a run, a file for each: from values (`flexnet.report.values`) to what is on the page."""
