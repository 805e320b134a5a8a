#!/usr/bin/env bash
# Makes the cost tables of the nine models for 16 and 128 servers, resumable: what is finished is not made again, what
# was interrupted goes on where it stopped, and what another file of the folder has of the same parts is taken there.
#
#   measurements/make.sh                          on a CUDA GPU, into measurements/<GPU>-fp32
#   measurements/make.sh analytic                 estimates, into measurements/roofline-a100
#   measurements/make.sh cuda DIR [flags]         into DIR, with more flags of flexnet profile, such as --dtype bf16, or
#                                                 --time 60, after which a file is unfinished and goes on next time
#   measurements/make.sh bf16 [DIR [flags]]       newer models on a CUDA GPU, into measurements/<GPU>-bf16
#   measurements/make.sh cpu                      small models on this machine's processor, into measurements/cpu-fp32
#   measurements/make.sh list                     only say what the first would make
#
# Variables: MODELS="vgg16 dlrm16" makes only these; PYTHON names the interpreter that has flexnet and torch.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
device=${1:-cuda}
case $device in
    analytic) default=measurements/roofline-a100 ;;
    cuda | bf16)
        gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-' || true)
        arithmetic=${device/cuda/fp32}
        default=measurements/${gpu:-gpu}-$arithmetic
        ;;
    cpu) default=measurements/cpu-fp32 ;;
    list) default=/dev/null ;;
    *) echo "make.sh: $device is not cuda, bf16, analytic, cpu or list" >&2 && exit 2 ;;
esac
directory=${2:-$default}
shift $(($# < 2 ? $# : 2))
case $device in list) ;; *) mkdir -p "$directory" ;; esac

# n times x, joined by dashes
times() { printf "$2%.0s" $(seq "$1") | sed "s/$2/$2-/g; s/-\$//"; }

failed=0
make() { # name model batch servers [model flags]
    local name=$1 model=$2 batch=$3 servers=$4
    shift 4
    case " ${MODELS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    local command=("$python" -m flexnet profile "$model" --batch-size "$batch" --nsimnode "$servers" --big-gpu "$gpus")
    command+=("$@" --device "${device/bf16/cuda}" "${extra[@]}" -o "$directory/$name.json")
    if [ "$device" = list ]; then
        echo "$name: ${command[*]:2}" | sed 's| --device list.*||'
    elif [ "$device" != analytic ] && [ -s "$directory/$name.json" ] && [ ! -e "$directory/$name.json.partial" ] &&
        ! grep -q '"unfinished"' "$directory/$name.json"; then
        echo "$name: finished before"
    else
        echo "$name:"
        if [ "$device" != analytic ]; then
            command+=(--resume)
            local files=("$directory"/*.json)
            [ ! -e "${files[0]}" ] || command+=(--reuse "$(IFS=, && echo "${files[*]}")")
        fi
        local status=0
        "${command[@]}" || status=$?
        [ $status = 130 ] && exit 130
        [ $status = 0 ] || failed=1
    fi
}
extra=("$@")
[[ "$device" = cuda || "$device" = bf16 ]] || extra=(--cuts batch "${extra[@]}")  # small files, to try things out

if [ "$device" = cpu ]; then
    gpus=0
    make dlrm dlrm 1024 16
    make ncf ncf 1024 16
    make moe moe 1280 16
    make transformer transformer 256 16 --num-layers 2 --hidden-size 128 --num-heads 4 --sequence-length 32
    make candle candle_uno 1024 16 --dense-layers 1024-1024-1024 --dense-feature-layers 512-512-512
    make alexnet alexnet 16 4
    make vgg vgg 4 4
    make resnet resnet 8 4
    make inception inception 4 4
    exit $failed
fi

gpus=4  # of a server, which act as one
if [ "$device" = bf16 ]; then  # which these models compute in by default
    make gpt16 gpt 512 16
    make bert16 bert 2048 16
    make vit16 vit 4096 16
    make t5_16 t5 1024 16
    make llama16 llama 64 16
    make mixtral16 mixtral 64 16
    exit $failed
fi

# Batches, servers and flags are those of the published measurements; where there is none, 64 to 256 samples a GPU.
dlrm=(--embedding-bag-size 100 --arch-sparse-feature-size)
make moe16 moe 5120 16
make moe128 moe 40960 128
make ncf16 ncf 8192 16 --ntables 32 --unum_per_table 1000000 --inum_per_table 1000000 --factor_num 64 \
    --edim_per_table 128 --embedding-bag-size 100 --arch-mlp-top "$(times 8 4096)"
make ncf128 ncf 65536 128 --ntables 32 --unum_per_table 1000000 --inum_per_table 1000000 --factor_num 64 \
    --edim_per_table 128 --embedding-bag-size 100 --arch-mlp-top "$(times 8 4096)"
make transformer16 transformer 1024 16 --num-layers 6 --sequence-length 256 --hidden-size 768 --num-heads 12
make transformer128 transformer 8192 128 --num-layers 12 --sequence-length 64 --hidden-size 1024 --num-heads 16
make dlrm16 dlrm 16384 16 "${dlrm[@]}" 256 --arch-embedding-size "$(times 16 10000000)" \
    --arch-mlp-bot "$(times 8 1024)" --arch-mlp-top "$(times 16 2048)-1"
make dlrm128 dlrm 65536 128 "${dlrm[@]}" 128 --arch-embedding-size "$(times 64 10000000)" \
    --arch-mlp-bot "$(times 8 2048)" --arch-mlp-top "$(times 16 4096)-1"
make alexnet16 alexnet 4096 16
make alexnet128 alexnet 32768 128
make vgg16 vgg 4096 16
make vgg128 vgg 32768 128
make resnet16 resnet 8192 16
make resnet128 resnet 65536 128
make inception16 inception 4096 16
make inception128 inception 32768 128
make candle16 candle_uno 16384 16 --dense-feature-layers "$(times 12 4096)" --dense-layers "$(times 8 4096)-1"
make candle128 candle_uno 131072 128 --dense-feature-layers "$(times 16 16384)" --dense-layers "$(times 8 16384)-1"
exit $failed
