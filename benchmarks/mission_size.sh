#!/bin/sh
# The mission's real size on one GPU: 10,000 pairs, the KV room of an L4 beside a 16-bit model (65,000 tokens), once
# with every pair written and once with as many as the service model writes. Not yet run on a GPU.
#
#   sh benchmarks/mission_size.sh /models/my-gemma-3 [/models/my-gemma-3-awq]
#
# What the original team measured on an L4 (seconds, decide + generate): vLLM without cache 538, all decisions first
# 305, chunks of 256 with the cache kept 261; with 55 % written 202 against 193.
set -e
model=${1:?give a model folder}
quantised=${2:+--quantised $2}
for share in 1.0 0.55; do
    .venv/bin/sayu bench --model "$model" --pairs 10000 --write-share $share --max-tokens 64 --kv-tokens 65000 \
        --repeats 3 $quantised --out benchmarks/results --name "gpu-10000-pairs-$share-written"
done
.venv/bin/sayu bench --model "$model" --pairs 10000 --max-tokens 64 --sweep --out benchmarks/results --name gpu-sweep
