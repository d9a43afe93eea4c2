#!/usr/bin/env bash
# Trains the shipped policy again and prints how the new one differs.
#
#   deploy/policy/make.sh [DIR...]     folders of recorded traces, in addition to generated links
#
# It trains the policy for viewers in points and puts it beside the policy for the papers' weights,
# papers.safetensors, which stays as it is (papers-provenance.json says how it was made). Two generations,
# one training per CPU at a time. First three specialists, which differ in how far they look ahead. Then
# the policy: it starts by imitating them and continues with PPO.
#
# Variables: VIDEO=PATH (default: the generated video), SEED, SPECIALIST_STEPS, STEPS, PART (of the traces)
# and TO (a folder, default build/policy). Policies that TO already has are not trained again, and then no
# seconds are printed. EVAL="DIR..." adds scores on more traces to the provenance file. SHIP=1 copies the
# result into deploy/policy. Without recorded traces the policy is trained on generated links alone and
# scores a little lower on recorded ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-1} part=${PART:-all}
specialist_steps=${SPECIALIST_STEPS:-30000000} steps=${STEPS:-40000000}
abrd=build/abrd to=${TO:-build/policy}
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

common=("$abrd" train --preset tuned --variant pamoe --layout plan --profile product --part "$part"
    --share-ladders .5 --share-players .6 --share-custom .4 --share-points .5 --share-live .15
    --share-lengths .3 --share-first .15 --ladders 256)
for dir in "$@"; do common+=(--traces "$dir"); done
[ -z "${VIDEO:-}" ] || common+=(--video "$VIDEO")

# told COMMAND...: prints the command with the names of folders instead of their paths
commands=
told()
{
    local words=()
    for word in "$@"; do
        word=${word//"$to/"/build/policy/}
        case $word in
        /* | ../*) words+=("$(basename "$word")") ;;
        *) words+=("$word") ;;
        esac
    done
    echo "${words[*]}"
    commands+="${commands:+,}
    \"${words[*]}\""
}

start=$SECONDS seconds=0

# make NAME SEED STEPS OPTION...: trains $to/NAME.safetensors in the background, for $list
make()
{
    local file=$to/$1.safetensors own_seed=$2 own_steps=$3
    shift 3
    local train=("${common[@]}" "$@" --steps "$own_steps" --seed "$own_seed" --out "$file")
    told "${train[@]}"
    list+=${list:+,}$file
    if [ -f "$file" ]; then
        seconds=null
        return 0
    fi
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
    "${train[@]}" --threads 1 --quiet >"$file.log" &
}

# stop unless all of them exist
made()
{
    while [ -n "$(jobs -p)" ]; do wait -n; done
    for file in ${list//,/ }; do
        [ -f "$file" ] || { echo "make.sh: $file was not made, see $file.log" >&2; exit 1; }
    done
}

list=
make far $((100 * seed + 1)) "$specialist_steps" --gamma .98 --entropy .02,.002
make near $((100 * seed + 2)) "$specialist_steps" --gamma .96 --lambda .8 --entropy .02,.002
make between $((100 * seed + 3)) "$specialist_steps" --gamma .97 --lambda .9 --entropy .02,.002
made

train=("${common[@]}" --gamma .97 --lambda .9 --entropy .01,.002 --steps "$steps" --seed "$seed"
    --teacher "$list" --out "$to/points.safetensors")
told "${train[@]}"
if [ -f "$to/points.safetensors" ]; then
    seconds=null
else
    "${train[@]}" --csv "$to/curve.csv" --json "$to/training.json"
fi
[ "$seconds" = null ] || seconds=$((SECONDS - start))

pair=("$abrd" policy pair "$to/points.safetensors" deploy/policy/papers.safetensors --out "$to/moe.safetensors")
told "${pair[@]}"
"${pair[@]}"

# the same bundled traces for both; differences are paired against the shipped policy
shipped=moe:deploy/policy/moe.safetensors made=moe:$to/moe.safetensors
if [ -f deploy/policy/moe.safetensors ]; then
    "$abrd" eval --policy "$shipped,$made,ceiled:mpc" --profile all --quiet
fi
"$abrd" eval --policy "$made,ceiled:mpc,ceiled:bola" --profile all --quiet --json "$to/eval.json"

commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- src include 2>/dev/null)" ] || commit="$commit+changes"
{
    printf '{\n  "commands": [%s],\n' "$commands"
    printf '  "commit": "%s",\n  "seconds": %s,\n' "$commit" "$seconds"
    printf '  "sha256": "%s",\n' "$(sha256sum "$to/moe.safetensors" | cut -d' ' -f1)"
    printf '  "metadata": '
    head -c 65536 "$to/moe.safetensors" | grep -ao '"__metadata__": *{[^}]*}' | head -n 1 |
        sed 's/^"__metadata__": *//'
    printf '  ,\n  "eval_bundled_test": '
    cat "$to/eval.json"
    for dir in ${EVAL:-}; do
        "$abrd" eval --policy "$made,ceiled:mpc,ceiled:bola" --profile all --quiet --traces "$dir" \
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
