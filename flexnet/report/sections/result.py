"""The result: iteration time against the start and the bound."""

from flexnet.report.page import Bar, BarChart, Block, Part, Row, Section, Table, Text
from flexnet.report.values import RunValues
from flexnet.units import ms_text

__all__ = ["result_section"]


def result_section(values: RunValues, start_name: str, given: str) -> Section:
    """How the plan compares; all plans are ``given`` in so many micro-batches, or groups, if any."""
    best, start, bound = values.seconds, values.start_seconds, values.bound
    if best < start:
        lead = f"An iteration takes {ms_text(best)}, {start / best:.2f} times faster than the {start_name} start on a "
        lead += f"network of the same kind ({ms_text(start)})."
    else:
        lead = f"An iteration takes {ms_text(best)}; nothing faster than the {start_name} start was found."
    if bound is not None:
        lead += f" No plan{given} can take less than {ms_text(bound)}, so at most {best / bound:.2f}x is left to gain."
    rows = [("this plan", best, "compute"), (f"start: {start_name}", start, "link")]
    if bound is not None:
        told = {bound}
        for where, (words, seconds) in zip(("any network", "this network"), values.fixed_bounds, strict=False):
            if seconds not in told:  # what is no higher says nothing more
                rows.append((f"bound on {where} with these cuts and places: {words}", seconds, "bound"))
            told.add(seconds)
        rows.append(("bound: no plan is faster", bound, "bound"))
    widest = max(seconds for _, seconds, _ in rows)
    bars = tuple(Bar(label, ms_text(seconds), (Part(seconds / widest, colour),)) for label, seconds, colour in rows)
    blocks: list[Block] = [BarChart("Iteration time", bars)]
    if values.bound_terms:
        terms = tuple(Row((words, f"{100 * share:.0f} %")) for words, share in values.bound_terms)
        blocks.append(Table("What the bound rests on", ("term", "weight"), terms, numeric=(1,), folded=True))
    elif bound is None:
        blocks.append(Text("No bound was proven: the search was interrupted, or its semantics do not allow one."))
    return Section("result", "Result", lead, tuple(blocks))
