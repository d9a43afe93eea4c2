#!/usr/bin/env bash
# zsh.sh - completion in a real zsh on a pseudo-terminal: what stands there after Tab, what it lists.
set -u
cd "$(dirname "$0")/../.."
command -v zsh >/dev/null || { echo "make zsh needs zsh" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/abrd completion zsh >"$dir/_abrd"
ln -s "$PWD/build/abrd" "$dir/abrd"
cat >"$dir/try" <<'END'
zmodload zsh/zpty
zpty -b shell TERM=dumb zsh -f -i
hear() # until $1 has been said
{
    local piece i
    heard=
    for i in {1..400}; do
        while zpty -r -t shell piece 2>/dev/null; do heard+=$piece; done
        [[ $heard == *$1* ]] && return
        sleep .05
    done
    print -r "no $1 in: $heard"
    exit 1
}
# keys are taken one after the other, so Ctrl-X tells the line when Tab is done
zpty -w shell "PS1= PS2=; path=(${(q)1} \$path); fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; tell() { print -r \"<\$BUFFER>\" }; zle -N tell; bindkey '^X' tell; LISTMAX=1000; print READ''Y"
hear READY
zpty -n -w shell "$2"$'\C-x'
hear '>'
print -r -- "$heard"
END
passed=0 failed=0
gives() # KEYS PART...
{
    local keys=$1 part said
    shift
    said=$(timeout 60 zsh -f "$dir/try" "$dir" "$keys" | tr -d '\0\r')
    for part in "$@"; do
        if [[ $said == *$part* ]]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED ${keys@Q}: no $part in: $said"
        fi
    done
}
tab=$'\t'
gives "abrd emu$tab" '<abrd emulate >'
gives "abrd tra$tab$tab" 'trace  train'
gives "abrd trace co$tab" '<abrd trace convert >'
gives "abrd trace $tab$tab" check convert generate overlap stats
gives "abrd lab mer$tab" '<abrd lab merge >'
gives "abrd eval --mu-$tab" '<abrd eval --mu-draws >'
gives "abrd lab shift --pre$tab" '<abrd lab shift --preset >'
gives "abrd eval --traces READ$tab" '<abrd eval --traces README.md >'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
