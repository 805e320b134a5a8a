#!/usr/bin/env bash
# The README's first command: sets flexnet up if need be, then searches strategy and network of a DLRM on 16 servers.
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
if ! "$venv/bin/python" -P -c 'import flexnet.commands.search' 2>/dev/null; then # -P: as installed, not from this directory
    echo "installing flexnet and what it needs"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable .
fi

tables=10000000-10000000-10000000-10000000-10000000-10000000-10000000-10000000
bottom=1024-1024-1024-1024-1024-1024-1024-1024
top=2048-2048-2048-2048-2048-2048-2048-2048

echo "searching (the first time, compiling takes about half a minute)"
exec "$venv/bin/python" -P -m flexnet search dlrm \
    --embedding-bag-size 100 --arch-sparse-feature-size 256 --arch-embedding-size "$tables-$tables" \
    --arch-mlp-bot "$bottom" --arch-mlp-top "$top-$top-1" \
    --batch-size 16384 --nsimnode 16 --big-gpu 4 --mfile measurements/roofline-a100/dlrm16.json \
    --topology topoopt --node-degree 4 --interface-bandwidth 100 --network-latency 1 --inter-gpu-bandwidth 200 \
    --net-opt 1 --enable-propagation --search-budget 5000 --seed 0 -o runs/dlrm16 --overwrite
