"""The flags of every command, and a parser that answers wrong ones with one sentence.

Values stay text here; `flexnet.config` reads them.  Nothing heavy is imported, so help and errors come at once.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from flexnet.errors import FlexNetError
from flexnet.wording import did_you_mean

__all__ = [
    "DP",
    "NEGATIVE_NUMBER",
    "NO_EFFECT",
    "PROFILE",
    "SEARCH",
    "SIMULATE",
    "VALIDATE",
    "Given",
    "Option",
    "command_help",
    "parse_arguments",
    "parse_model_command",
]

Given = Mapping[str, str]
"""What was given: the flag's first spelling to its value as text; ``""`` for a switch."""


@dataclass(frozen=True, slots=True)
class Option:
    """A flag of a command.

    Parameters
    ----------
    names : tuple of str
        All spellings; errors, ``run.json`` and `Given` use the first.
    value : str or None
        What its value is called in the help; None for a switch.
    help : str
    """

    names: tuple[str, ...]
    value: str | None
    help: str


_BATCH = Option(("--batch-size", "-b"), "N", "samples of the global batch (default 64)")
_SERVERS = Option(("--nsimnode",), "N", "servers (default 1)")
_BIG_GPU = Option(("--big-gpu",), "G", "GPUs of a server that act as one (default 0: one GPU a server)")
_PARAMETER = Option(("--enable-parameter-parallel",), None, "Linear operators may be cut along their output channels")

SEARCH: tuple[Option, ...] = (
    _BATCH,
    _SERVERS,
    Option(("--topology",), "NAME", "topoopt, fattree, random or fc (full mesh); required"),
    Option(("--node-degree", "--degree"), "D", "interfaces of a server, for topoopt and random (default 4)"),
    Option(("--interface-bandwidth",), "GBPS", "bandwidth of one interface (default 20.97152)"),
    Option(("--network-latency",), "US", "latency of a link in microseconds (default 0)"),
    _BIG_GPU,
    Option(("--inter-gpu-bandwidth",), "GBPS", "bandwidth between the GPUs of a server (default 167.77216)"),
    Option(("--mfile",), "FILE", "measurement file; without one, times are estimated for --gpu"),
    Option(("--gpu",), "NAME", "GPU to estimate times for: a100, h100, h200 or v100 (default a100)"),
    Option(("--gpu-memory",), "GB", "memory of a GPU; strategies that need more are refused (default: no limit)"),
    Option(
        ("--net-opt",), "0|1", "1 spreads the parts of an operator evenly over the servers (default 0: side by side)"
    ),
    Option(("--enable-propagation",), None, "a quarter of the proposals copy a config along the model's edges"),
    _PARAMETER,
    Option(
        ("--search-budget", "--budget"),
        "N",
        "proposals; one more is made, as in the original (default 0, with a warning)",
    ),
    Option(("--search-alpha", "--alpha"), "A", "inverse temperature of the search, per ms (default 1.0)"),
    Option(("--seed",), "N", "same seed, same plan (default 0)"),
    Option(("--semantics",), "NAME", "what a plan costs: corrected (default) or original"),
    Option(
        ("--network",),
        "NAME",
        "fast (default): proposals are priced fast, the best ones again exactly; fair: all are priced exactly",
    ),
    Option(("--segment-bytes",), "N", "cut transfers into messages; original semantics only (default 0: whole)"),
    Option(("--start",), "NAME", "data: data parallelism (default), or dp: the best of dynamic programming and it"),
    Option(("--import", "--import-strategy"), "FILE", "strategy to start from, in either format"),
    Option(("--export", "--export-strategy"), "FILE", "write the best strategy: JSON if FILE ends in .json, else text"),
    Option(("--taskgraph",), "FILE", "write the task graph of the best plan, for the packet simulator"),
    Option(("--output", "-o"), "DIR", "write run.json, strategy.json, taskgraph.fbuf and checkpoint.json there"),
    Option(("--overwrite",), None, "replace the run that --output DIR holds; without it, such a directory is refused"),
    Option(("--resume",), "DIR", "go on with a stopped run, with its flags; only --search-budget may differ"),
)

PROFILE: tuple[Option, ...] = (
    _BATCH,
    _SERVERS,
    _BIG_GPU,
    Option(("--device",), "NAME", "cuda (default) or cpu: measured there with PyTorch; or analytic: estimates"),
    Option(("--gpu",), "NAME", "GPU to estimate for: a100 (default), h100, h200 or v100"),
    Option(("--dtype",), "NAME", "arithmetic to measure: fp32 (default, without TF32), tf32, bf16 or fp16"),
    Option(("--time-cap",), "S", "seconds a pass is repeated at most while its times spread by 2 % (default 0.2)"),
    Option(("--resume",), None, "go on with an interrupted profile, if FILE.partial holds one"),
    _PARAMETER,
    Option(("--enable-attribute-parallel",), None, "operators on images may be cut along width and height"),
    Option(("--max-localsz",), "N", "most samples on one GPU (default: no limit)"),
    Option(
        ("--output", "-o"),
        "FILE",
        "measurement file to write (default measure_<batch>_<servers>.json, if it is not there)",
    ),
)

SIMULATE: tuple[Option, ...] = (
    Option(("--network",), "NAME", "fair (default): flows share links max-min fairly; fifo: the original's link model"),
    Option(
        ("--topology",),
        "NAME",
        "file (default), star or fattree (an ideal switch), leafspine, kary (fat-tree of k-port switches), fc (full "
        "mesh), random, topoopt",
    ),
    Option(("--interface-bandwidth",), "GBPS", "bandwidth of one interface (default: the file's)"),
    Option(("--network-latency",), "US", "latency of a hop in microseconds (default 1)"),
    Option(("--node-degree", "--degree"), "D", "interfaces of a server, for random and topoopt (default 4)"),
    Option(("--servers-per-leaf",), "N", "servers of a leaf switch, for leafspine (default 16)"),
    Option(("--oversubscription",), "R", "links down over links up of a leaf switch, for leafspine (default 1)"),
    Option(("--ports",), "K", "ports of a switch, for kary (default: the fewest that have room)"),
    Option(("--allreduce",), "NAME", "ring (default) or ps: through a parameter server, the first of the group"),
    Option(
        ("--rings",),
        "NAME",
        "rings of a flat network start at each member (default) or, as in FlexNetPacket, at each member's index",
    ),
    Option(("--protocol",), "NAME", "packet (default): connections and packets take time; fluid: they do not"),
    Option(("--segment-bytes",), "N", "cut transfers into messages; --network fifo only (default 0: whole)"),
    Option(
        ("--draws",), "N", "draws of the paths flows take, where there are several; the median is shown (default 5)"
    ),
    Option(("--seed",), "N", "same seed, same draws (default 0)"),
    Option(("--json",), None, "print one JSON object"),
)

DP: tuple[Option, ...] = (
    Option(("--procs", "-p"), "N", "devices (default 8); an operator is cut into at most as many parts"),
    Option(("--batch-size", "-b", "--batch"), "N", "samples of the global batch (default 128)"),
    Option(("--model", "-m"), "N", "model size: all widths times N/128 (default 128, the published size)"),
    Option(("--flops",), "TFLOPS", "speed of a device (default 10)"),
    Option(("--bw",), "GB/S", "bandwidth of a link in GB/s (default 16)"),
    Option(("--algo",), "0|1", "elimination order: 0 the best found (default), 1 breadth first; exact both"),
    Option(("--memory",), "GB", "memory that tables may take (default 8)"),
    Option(("--pase-compat",), None, "of tensors between the same two operators only the last counts, as in PaSE"),
    Option(("--output", "-o"), "FILE", "write cost and configurations as JSON"),
    Option(("--dump-graph", "-d"), "FILE", "write the graph with configurations and costs, for Graphviz"),
    Option(("--measure",), None, "solve twice to warm up and five times more, and tell how long it takes"),
    Option(("--profile",), None, "tell which functions the solver spends its time in"),
)

VALIDATE: tuple[Option, ...] = (Option(("--data",), "DIR", "directory with measurements/, taskgraphs/ and costs/"),)

# Flags the original parses and never uses in these programs, or that steer what is not here; True if they have a value.
NO_EFFECT = {
    "-e": True,
    "--epochs": True,
    "--lr": True,
    "--learning-rate": True,
    "--wd": True,
    "--weight-decay": True,
    "-p": True,
    "--print-freq": True,
    "-d": True,
    "--dataset": True,
    "--nodes": True,
    "--nsimgpu": True,
    "--no-gpu": False,
    "--profiling": False,
    "--fusion": False,
    "--overlap": False,
    "--machine-model-version": True,
    "--machine-model-file": True,
    "--simulator-segment-size": True,
    "--simulator-max-num-segments": True,
    "--simulator-workspace-size": True,
    "--allow-tensor-op-math-conversion": False,
    "--gpu-dram-bandwidth": True,
    "--topo-file": True,
    "--control-replication": False,
    "--python-data-loader-type": True,
}

_HELP = Option(("--help", "-h"), None, "show this help")
NEGATIVE_NUMBER = re.compile(r"-[0-9.]")
_ARGPARSE = re.compile(r"argument (?P<flags>\S+): (?P<what>.*)", re.DOTALL)


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, and speaks of flags instead of arguments."""

    def error(self, message: str) -> NoReturn:
        match = _ARGPARSE.fullmatch(message)
        if match is None:
            raise FlexNetError(message)
        flag = match["flags"].split("/")[0]
        if match["what"].startswith("expected"):
            raise FlexNetError(f"{flag} needs a value")
        if match["what"].startswith("ignored explicit argument"):
            raise FlexNetError(f"{flag} takes no value; got{match['what'].removeprefix('ignored explicit argument')}")
        raise FlexNetError(f"{flag}: {match['what']}")


class _Once(argparse.Action):
    """Stores a value; a second one that differs contradicts the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        earlier = getattr(namespace, self.dest, values)
        if earlier != values:
            raise FlexNetError(f'{self.dest} is given twice, as "{earlier}" and as "{values}"; give it once')
        setattr(namespace, self.dest, values)


def parse_arguments(options: Sequence[Option], arguments: Sequence[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """Split arguments into what is known and what is not.

    Returns
    -------
    given : dict of str to str
        See `Given`.
    words : list of str
        Arguments that belong to no flag.
    unknown : list of str
        Flags that are not among ``options``.

    Raises
    ------
    FlexNetError
        If a flag lacks its value, has one too many, or is given twice with different ones.

    Examples
    --------
    >>> parse_arguments(VALIDATE, ["--data", "d", "more", "--dat"])
    ({'--data': 'd'}, ['more'], ['--dat'])
    """
    parser = _Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for option in (*options, _HELP):
        if option.value is None:
            parser.add_argument(*option.names, dest=option.names[0], action="store_const", const="")
        else:
            parser.add_argument(*option.names, dest=option.names[0], action=_Once)
    namespace, extras = parser.parse_known_args(list(arguments))
    unknown = [word for word in extras if word.startswith("-") and not NEGATIVE_NUMBER.match(word)]
    return vars(namespace), [word for word in extras if word not in unknown], unknown


def refuse_unknown(unknown: Sequence[str], options: Sequence[Option], hints: Mapping[str, str]) -> None:
    """Refuse the first unknown flag: with its hint if it has one, or with the closest match.

    Raises
    ------
    FlexNetError
        If there is one.
    """
    if not unknown:
        return
    flag = unknown[0].split("=")[0]
    if flag in hints:
        raise FlexNetError(f"{flag} {hints[flag]}")
    known = [name for option in (*options, _HELP) for name in option.names if name.startswith("--")]
    raise FlexNetError(f"unknown flag {flag}; {did_you_mean(flag, known) or '--help lists the flags'}")


def parse_model_command(
    command: str, options: Sequence[Option], arguments: Sequence[str]
) -> tuple[str | None, dict[str, str], dict[str, str]]:
    """Parse ``MODEL [flags]`` in any order.

    Returns
    -------
    model : str or None
        None if there is no model.
    given, model_given : dict of str to str
        Flags of the command and of the model.

    Raises
    ------
    FlexNetError
        If a flag or the model is unknown, or an argument is too many.
    """
    from flexnet.models import MODELS

    hints = dict.fromkeys(NO_EFFECT, "has no effect; only the original command lines (flexnet dlrmsim ...) take it")
    every: dict[str, Option] = {}
    owners: dict[str, list[str]] = {}
    for name in MODELS:
        for option in model_options(name):
            every.setdefault(option.names[0], option)
            for spelling in option.names:
                owners.setdefault(spelling, []).append(name)
    given, words, unknown = parse_arguments([*options, *every.values()], arguments)
    refuse_unknown(unknown, [*options, *every.values()], hints)
    if not words:
        stray = next((flag for flag in given if flag in every), None)
        if stray is not None and "--help" not in given:
            raise FlexNetError(f"{stray} is a flag of a model, but no model is given; use flexnet {command} MODEL ...")
        return None, given, {}
    model = words[0]
    if model not in MODELS:
        hint = did_you_mean(model, MODELS) or f"choose one of {', '.join(MODELS)}"
        raise FlexNetError(f"unknown model {model!r}; {hint}")
    if len(words) > 1:
        raise FlexNetError(
            f"unexpected argument {words[1]!r} after {model}; flexnet {command} takes one model and flags"
        )
    own = model_options(model)
    given, _, unknown = parse_arguments([*options, *own], arguments)
    allowed = ", ".join(option.names[0] for option in own) or "no flags of its own"
    others = {
        flag: f"is a flag of model {', '.join(names)}; {model} has {allowed}"
        for flag, names in owners.items()
        if model not in names
    }
    refuse_unknown(unknown, [*options, *own], others)
    names = {option.names[0] for option in own}
    return (
        model,
        {flag: value for flag, value in given.items() if flag not in names},
        {flag: value for flag, value in given.items() if flag in names},
    )


def model_options(model: str) -> tuple[Option, ...]:
    """Flags of a model as options."""
    from flexnet.models import MODELS

    kinds = {"int list": "N-N-..", "int": "N", "float": "X", "str": "WORD"}
    return tuple(
        Option(
            (flag.name, *flag.aliases),
            kinds[flag.kind],
            f"{flag.help} (default {flag.default_text})" if flag.effective else f"no effect: {flag.help}",
        )
        for flag in MODELS[model].flags
    )


_TAKES = {"search": "MODEL", "profile": "MODEL", "simulate": "FILE", "dp": "GRAPH"}


def command_help(command: str, about: str, options: Sequence[Option], model: str | None = None) -> str:
    """Help text of a command, with the flags of ``model`` if one is given."""
    from flexnet.models import MODELS

    takes = model or _TAKES.get(command, "")
    lines = [" ".join(filter(None, ("usage: flexnet", command, takes, "[flags]"))), "", about]
    lines += [f"{model} is the original's {MODELS[model].summary}."] if model else []
    lines += ["", "flags:"]
    lines += [_help_line(option) for option in (*options, _HELP)]
    own = model_options(model) if model else ()
    if own:
        lines += ["", f"flags of {model}:", *(_help_line(option) for option in own)]
    if takes == "MODEL":
        lines += ["", f"models: {', '.join(MODELS)}; flexnet {command} MODEL --help tells a model's own flags"]
    return "\n".join(lines)


def _help_line(option: Option) -> str:
    left = ", ".join(option.names) + (f" {option.value}" if option.value else "")
    return f"  {left:<38} {option.help}"
