#!/usr/bin/env bash
# Trains the experts that are merged for viewers without a hint.
#
#   deploy/policy/merge.sh [DIR...]     folders of recorded traces, in addition to generated links
#
# First a common start: one expert for all four profiles, which does not observe the profile, since
# these viewers give no hint. Then one specialist per profile, tuned from that start with a small step,
# so that their weights can be averaged. `abrd policy join` packs them into one file.
#
# Variables: VIDEO=PATH (default: the generated video), SEED, START_STEPS, STEPS, PART (of the traces)
# and TO (a folder, default build/policy-merge). Policies that TO already has are not trained again.
# SHIP=1 copies the result into deploy/policy.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-1} part=${PART:-all} start_steps=${START_STEPS:-12000000} steps=${STEPS:-5000000}
abrd=build/abrd to=${TO:-build/policy-merge}
profiles=(documentary live news pensieve)
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

common=("$abrd" train --preset tuned --variant mlp --no-hint --part "$part")
for dir in "$@"; do common+=(--traces "$dir"); done
[ -z "${VIDEO:-}" ] || common+=(--video "$VIDEO")

# told COMMAND...: prints the command with the names of folders instead of their paths
commands=
told()
{
    local words=()
    for word in "$@"; do
        case $word in
        "$to"/*) words+=("build/policy-merge/$(basename "$word")") ;;
        /* | ../*) words+=("$(basename "$word")") ;;
        *) words+=("$word") ;;
        esac
    done
    echo "${words[*]}"
    commands+="${commands:+,}
    \"${words[*]}\""
}

# make_policy NAME OPTION...: trains TO/NAME.safetensors, unless it is there
make_policy()
{
    local file=$to/$1.safetensors
    shift
    local train=("${common[@]}" "$@" --out "$file")
    told "${train[@]}"
    [ -f "$file" ] || "${train[@]}" --threads 1 --quiet > "$file.log"
}

make_policy start --share-custom 0 --steps "$start_steps" --seed "$seed"
number=100
for profile in "${profiles[@]}"; do
    number=$((number + seed))
    make_policy "$profile" --profile "$profile" --lr 3e-4,2e-5 --entropy .01,.002 \
        --steps "$steps" --seed "$number" --start "$to/start.safetensors"
done

join=("$abrd" policy join)
for profile in "${profiles[@]}"; do join+=("$to/$profile.safetensors"); done
join+=(--out "$to/merge.safetensors")
told "${join[@]}"
"${join[@]}"

list=moe:$to/start.safetensors
for profile in "${profiles[@]}"; do list+=,moe:$to/$profile.safetensors; done
"$abrd" eval --policy "$list" --profile all --quiet --json "$to/eval.json"

commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- src include 2>/dev/null)" ] || commit="$commit+changes"
{
    printf '{\n  "commands": [%s],\n' "$commands"
    printf '  "commit": "%s",\n' "$commit"
    printf '  "sha256": "%s",\n' "$(sha256sum "$to/merge.safetensors" | cut -d' ' -f1)"
    printf '  "metadata": '
    head -c 65536 "$to/merge.safetensors" | grep -ao '"__metadata__": *{[^}]*}' | head -n 1 |
        sed 's/^"__metadata__": *//'
    printf '  ,\n  "eval_bundled_test": '
    cat "$to/eval.json"
    printf '}\n'
} | sed "s,moe:$to/\([a-z]*\).safetensors,\1,g" > "$to/merge-provenance.json"

if [ "${SHIP:-}" = 1 ]; then
    cp "$to/merge.safetensors" "$to/merge-provenance.json" deploy/policy/
    echo "deploy/policy now holds the new experts"
else
    echo "the new experts are $to/merge.safetensors; SHIP=1 puts them into deploy/policy"
fi
