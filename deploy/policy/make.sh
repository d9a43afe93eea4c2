#!/usr/bin/env bash
# Retrains the shipped policy and prints how the new one differs from it.
#
#   deploy/policy/make.sh [DIR...]     folders of real traces, beside the generated links
#
# VIDEO=PATH (default: the generated video), STEPS and SEED change what is trained; EVAL="DIR..."
# adds scores on more traces to the provenance file; SHIP=1 puts the result into
# deploy/policy. Without real traces the policy is made from generated links alone and scores
# a little lower on real ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-1} steps=${STEPS:-0}
abrd=build/abrd to=build/policy
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"

train=("$abrd" train --preset tuned --variant pamoe --seed "$seed" --out "$to/moe.safetensors")
[ "$steps" = 0 ] || train+=(--steps "$steps")
for dir in "$@"; do train+=(--traces "$dir"); done
[ -z "${VIDEO:-}" ] || train+=(--video "$VIDEO")
printf '%s ' "${train[@]}"; echo
start=$SECONDS
"${train[@]}" --csv "$to/curve.csv" --json "$to/training.json"
took=$((SECONDS - start))

# the same bundled traces for both; differences are paired against the shipped policy
shipped=moe:deploy/policy/moe.safetensors made=moe:$to/moe.safetensors
if [ -f deploy/policy/moe.safetensors ]; then
    "$abrd" eval --policy "$shipped,$made,mpc,mpc-default" --profile all --quiet
fi
"$abrd" eval --gain "$made" --profile all --quiet --json "$to/eval.json"

commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- src include 2>/dev/null)" ] || commit="$commit+changes"
# paths as a reader can use them: folders by name, never where they lay
shown=()
for word in "${train[@]}"; do
    case $word in
    /* | ../*) shown+=("$(basename "$word")") ;;
    *) shown+=("$word") ;;
    esac
done
{
    printf '{\n  "command": "%s",\n' "${shown[*]}"
    printf '  "commit": "%s",\n  "seconds": %d,\n' "$commit" "$took"
    printf '  "sha256": "%s",\n' "$(sha256sum "$to/moe.safetensors" | cut -d' ' -f1)"
    printf '  "metadata": '
    head -c 65536 "$to/moe.safetensors" | grep -ao '"__metadata__": *{[^}]*}' | head -n 1 |
        sed 's/^"__metadata__": *//'
    printf '  ,\n  "eval_bundled_test": '
    cat "$to/eval.json"
    for dir in ${EVAL:-}; do
        "$abrd" eval --gain "$made" --profile all --quiet --traces "$dir" \
            ${VIDEO:+--video "$VIDEO"} --json "$to/eval-$(basename "$dir").json" > /dev/null
        printf '  ,\n  "eval_%s": ' "$(basename "$dir")"
        cat "$to/eval-$(basename "$dir").json"
    done
    printf '}\n'
} | sed "s,moe:$to/moe.safetensors,moe,g" > "$to/provenance.json"

if [ "${SHIP:-}" = 1 ]; then
    cp "$to/moe.safetensors" "$to/provenance.json" deploy/policy/
    echo "deploy/policy now holds the new policy"
else
    echo "the new policy is $to/moe.safetensors; SHIP=1 puts it into deploy/policy"
fi
