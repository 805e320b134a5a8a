#!/usr/bin/env bash
# The README's first command: sets flexnet up if need be, then searches strategy and network of VGG-16 on 16 servers.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${FLEXNET_VENV:-.venv}
if [ ! -x "$venv/bin/python" ]; then
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "first_search.sh: python3 is missing or too old; flexnet needs Python 3.11 or later" >&2
        exit 2
    fi
    echo "making a virtual environment in $venv"
    python3 -m venv "$venv"
fi
if ! "$venv/bin/python" -P -c 'import flexnet' 2>/dev/null; then # -P: as installed, which pip does last, not from here
    echo "installing flexnet and what it needs"
    # Python compiles what it imports, a fourth of what is installed, and keeps that; this once even if it is told not to,
    # or every run would compile it anew
    unset PYTHONDONTWRITEBYTECODE
    "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[report]'
    echo "searching; this first time, kernels are compiled, which takes about 20 seconds"
fi

exec "$venv/bin/python" -P -m flexnet search vgg \
    --batch-size 4096 --nsimnode 16 --big-gpu 4 --mfile measurements/roofline-a100/vgg16.json \
    --topology topoopt --node-degree 4 --interface-bandwidth 25 --network-latency 1 --inter-gpu-bandwidth 200 \
    --search-budget 1000 --seed 1 -o runs/vgg16 --overwrite
