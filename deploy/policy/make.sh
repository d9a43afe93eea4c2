#!/usr/bin/env bash
# Trains the shipped policy again and prints how the new one differs.
#
#   deploy/policy/make.sh [DIR...]     folders of recorded traces, in addition to generated links
#
# One policy for every viewer. Its logits begin with the worth of each level in a plan (--prior,
# src/abr/deciders/plan.h), so untrained it decides by the plan; PPO learns what to change. --prior-end keeps 0.6 of
# the change. On two cores that takes about 13 minutes.
#
# Variables: VIDEO=PATH (default: the generated video), SEED, STEPS, PART (of the traces) and TO (a folder,
# default build/policy). A policy that TO already has is not trained again, and then no seconds are printed.
# EVAL="DIR..." adds scores on more traces to the provenance file. SHIP=1 copies the result into
# deploy/policy. Without recorded traces the policy is trained on generated links alone and scores a little
# lower on recorded ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
abrd=build/abrd to=${TO:-build/policy}
made_file=$to/moe.safetensors
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"

train=("$abrd" train --preset tuned --variant pamoe --layout plan --prior 60 --prior-end 100 --profile all --part "${PART:-all}"
    --share-ladders .6 --share-players .7 --share-custom .4 --share-points .5 --share-simplex .75 --share-live .35
    --share-lengths .3 --share-first .35 --ladders 256 --branch 16 --gamma .995 --lambda .95 --entropy .002,.0003
    --lr .0005,.00001 --steps "${STEPS:-30000000}" --seed "${SEED:-1}" --out "$made_file")
traces=
for dir in "$@"; do traces+=${traces:+,}$dir; done
[ -z "$traces" ] || train+=(--traces "$traces")
[ -z "${VIDEO:-}" ] || train+=(--video "$VIDEO")

# the command with the names of folders instead of their paths
words=()
for word in "${train[@]}"; do
    word=${word//"$to/"/build/policy/}
    case $word in
    /* | ../*) words+=("$(basename -a ${word//,/ } | paste -sd,)") ;;
    *) words+=("$word") ;;
    esac
done
echo "${words[*]}"

seconds=null
if [ ! -f "$made_file" ]; then
    start=$SECONDS
    "${train[@]}" --csv "$to/curve.csv" --json "$to/training.json"
    seconds=$((SECONDS - start))
fi

# the same bundled traces for both; differences are paired against the shipped policy
shipped=moe:deploy/policy/moe.safetensors made=moe:$made_file
if [ -f deploy/policy/moe.safetensors ]; then
    "$abrd" eval --policy "$shipped,$made,ceiled:mpc" --profile all --quiet
fi
"$abrd" eval --policy "$made,ceiled:mpc,ceiled:bola" --profile all --quiet --json "$to/eval.json"

commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- src include 2>/dev/null)" ] || commit="$commit+changes"
{
    printf '{\n  "command": "%s",\n' "${words[*]}"
    printf '  "commit": "%s",\n  "seconds": %s,\n' "$commit" "$seconds"
    printf '  "sha256": "%s",\n' "$(sha256sum "$made_file" | cut -d' ' -f1)"
    printf '  "metadata": '
    head -c 65536 "$made_file" | grep -ao '"__metadata__": *{[^}]*}' | head -n 1 | sed 's/^"__metadata__": *//'
    printf '  ,\n  "eval_bundled_test": '
    cat "$to/eval.json"
    for dir in ${EVAL:-}; do
        "$abrd" eval --policy "$made,ceiled:mpc,ceiled:bola" --profile all --quiet --traces "$dir" \
            ${VIDEO:+--video "$VIDEO"} --json "$to/eval-$(basename "$dir").json" > /dev/null
        printf '  ,\n  "eval_%s": ' "$(basename "$dir")"
        cat "$to/eval-$(basename "$dir").json"
    done
    printf '}\n'
} | sed "s,moe:$made_file,moe,g" > "$to/provenance.json"

if [ "${SHIP:-}" = 1 ]; then
    cp "$made_file" "$to/provenance.json" deploy/policy/
    echo "deploy/policy now holds the new policy"
else
    echo "the new policy is $made_file; SHIP=1 puts it into deploy/policy"
fi
