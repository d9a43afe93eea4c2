# ok.sh - named checks of a shell script, and the line that counts them; sourced.
passed=0 failed=0

# ok WHAT COMMAND...: passes when the command does; else what it said is told
ok()
{
    local what=$1 said
    shift
    if said=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $what: $said"
    fi
}

# The script's last command: its exit code is that of the whole.
ok_finish()
{
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
