# count.sh - how many tests a runner's log says passed and failed; sourced by the runners.
#
# A runner says it in a line "N passed, N failed" (the last such line counts), or in libcheck's
# closing line. One that says nothing is one test, judged by its exit code. An exit code
# other than 0 is at least one failure, and a log without a single test is a failure too.

# count LOG CODE: sets passed and failed
count()
{
    local line checks failures errors
    passed=0 failed=0
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$1" | tail -n 1)
    if [ -n "$line" ]; then
        passed=${line%% passed*}
        failed=${line##*, }
        failed=${failed%% failed}
    elif line=$(grep -oE 'Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+' "$1" | tail -n 1) &&
        [ -n "$line" ]; then
        read -r checks failures errors <<<"${line//[^0-9 ]/}"
        failed=$((failures + errors))
        passed=$((checks - failed))
    elif [ "$2" -eq 0 ]; then
        passed=1
    fi
    if [ "$failed" -eq 0 ] && { [ "$2" -ne 0 ] || [ "$passed" -eq 0 ]; }; then
        failed=1
    fi
}
