#!/usr/bin/env bash
# Trains the shipped policy again and prints how the new one differs.
#
#   deploy/policy/make.sh [DIR...]     folders of recorded traces, in addition to generated links
#
# It trains three generations, one training per CPU at a time. First the specialists: one per profile
# with only the standard player, one for all profiles with drawn players, one for drawn weights that
# starts by imitating RobustMPC, and a generalist for drawn ladders. Then two students: each starts by
# imitating the teachers that were trained for the episode at hand, and continues with PPO. Then the
# policy: it starts by imitating both students, with more short buffers and live streams.
#
# Variables: VIDEO=PATH (default: the generated video), SEED (of specialists and students), LAST_SEED,
# SPECIALIST_STEPS, STUDENT_STEPS, STUDENTS, STEPS, CAUTION (the additional cost of a stall with a short
# buffer in training), PART (of the traces) and TO (a folder, default build/policy). Policies that TO
# already has are not trained again, and then no seconds are printed. EVAL="DIR..." adds scores on more
# traces to the provenance file. SHIP=1 copies the result into deploy/policy. Without recorded traces the
# policy is trained on generated links alone and scores a little lower on recorded ones.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-1} part=${PART:-all} caution=${CAUTION:-.5} students=${STUDENTS:-2}
specialist_steps=${SPECIALIST_STEPS:-10000000} student_steps=${STUDENT_STEPS:-30000000}
steps=${STEPS:-25000000} last_seed=${LAST_SEED:-3}
abrd=build/abrd to=${TO:-build/policy}
export OPENBLAS_NUM_THREADS=1
mkdir -p "$to"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

common=("$abrd" train --preset tuned --variant pamoe --part "$part")
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

viewers=(--share-custom .4 --share-simplex .75 --caution "$caution")

list= number=$((1000 * seed))
specialist()
{
    local name=$1
    shift
    number=$((number + 1))
    make "$name" $number "$specialist_steps" "$@"
}
specialist drawn --profile drawn --share-simplex .75 --share-ladders 0 --advice .95 \
    --caution "$caution"
specialist ladders --share-ladders .8 "${viewers[@]}"
specialist players --share-players 1 --share-live .3 --share-ladders 0 --share-custom 0 \
    --caution "$caution"
for profile in documentary live news pensieve; do
    specialist $profile --profile $profile --share-ladders 0 --share-players 0 --share-live 0
done
made

specialists=$list list=
for ((i = 1; i <= students; i++)); do
    make "student$i" $((100 * seed - 100 + i)) "$student_steps" "${viewers[@]}" --entropy .01,.002 \
        --teacher "$specialists"
done
made

train=("${common[@]}" "${viewers[@]}" --share-players .5 --share-live .25 --share-ladders .35
    --balance .03 --entropy .01,.002 --steps "$steps" --seed "$last_seed" --teacher "$list"
    --out "$to/moe.safetensors")
told "${train[@]}"
if [ -f "$to/moe.safetensors" ]; then
    seconds=null
else
    "${train[@]}" --csv "$to/curve.csv" --json "$to/training.json"
fi
[ "$seconds" = null ] || seconds=$((SECONDS - start))

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
    printf '  "commit": "%s",\n  "seconds": %s,\n' "$commit" "$seconds"
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
