#!/usr/bin/env bash
# Retrains the shipped policy and prints how the new one differs from it.
#
#   deploy/policy/make.sh [DIR...]     folders of real traces, beside the generated links
#
# First teachers, one per CPU at a time: for each profile a specialist that knows the standard
# player alone, one for all profiles with drawn players, one for drawn weights, which begins as
# RobustMPC decides, and a generalist for drawn ladders. Then a student, which begins by
# imitating whoever knows the episode at hand and ends as PPO leaves it.
#
# VIDEO=PATH (default: the generated video), SEED, STUDENT_SEED, TEACHER_STEPS, STEPS, PART (of the traces) and
# TO (a folder, default build/policy) change what is made, TEACHERS="FILE ..." are taken as
# they are; EVAL="DIR..." adds scores on more traces to the provenance file; SHIP=1 puts the
# result into deploy/policy. Without real traces the policy is made from generated links alone
# and scores a little lower on real ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-1} student_seed=${STUDENT_SEED:-2} part=${PART:-all}
teacher_steps=${TEACHER_STEPS:-10000000} steps=${STEPS:-40000000}
abrd=build/abrd to=${TO:-build/policy}
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

common=("$abrd" train --preset tuned --variant pamoe --part "$part" --caution 1)
for dir in "$@"; do common+=(--traces "$dir"); done
[ -z "${VIDEO:-}" ] || common+=(--video "$VIDEO")

# told COMMAND...: as a reader can use it: folders by name, never where they lay
commands=
told()
{
    local words=()
    for word in "$@"; do
        case $word in
        /* | ../*) words+=("$(basename "$word")") ;;
        *) words+=("$word") ;;
        esac
    done
    echo "${words[*]}"
    commands+="${commands:+,}
    \"${words[*]}\""
}

start=$SECONDS list=${TEACHERS:-} number=0
list=${list// /,}

# teach NAME OPTION...: trains a teacher in the background
teach()
{
    local file=$to/$1.safetensors
    shift
    number=$((number + 1))
    local train=("${common[@]}" "$@" --steps "$teacher_steps" --seed $((1000 * seed + number))
        --out "$file")
    told "${train[@]}"
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
    "${train[@]}" --threads 1 --quiet >"$file.log" &
    list+=${list:+,}$file
}

if [ -z "$list" ]; then
    teach drawn --profile drawn --share-simplex .75 --share-ladders 0 --advice .95
    teach ladders --share-ladders .8 --share-custom .4 --share-simplex .75
    teach players --share-players 1 --share-live .3 --share-ladders 0 --share-custom 0
    for profile in documentary live news pensieve; do
        teach $profile --profile $profile --share-ladders 0 --share-players 0 --share-live 0
    done
fi
while [ -n "$(jobs -p)" ]; do wait -n; done

train=("${common[@]}" --share-custom .4 --share-simplex .75 --entropy ".01,.002"
    --steps "$steps" --seed "$student_seed" --teacher "$list" --out "$to/moe.safetensors")
told "${train[@]}"
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
{
    printf '{\n  "commands": [%s],\n' "$commands"
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
