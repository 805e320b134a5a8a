"""The original programs: what they are called here, and flags of theirs that do nothing here."""

__all__ = ["NO_EFFECT", "PROGRAMS"]

PROGRAMS = {
    "dlrmsim": "dlrm",
    "candle_unosim": "candle_uno",
    "transformersim": "transformer",
    "vggsim": "vgg",
    "alexnetsim": "alexnet",
    "resnetsim": "resnet",
    "inceptionsim": "inception",
    "ncfsim": "ncf",
    "moesim": "moe",
}

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
