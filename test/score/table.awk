# One row per line: name, unit (%, +% for gains, or 1), floor, aim, command, figure, low, high; "-" = none. A
# floor that begins with < is an upper limit. Prints the table, or with json=1 JSON objects.

function shown(x, unit, digits)
{
    if (x == "-" || x == "") return "-"
    if (unit == "+%") return sprintf("%+.1f %%", 100 * x)
    if (unit == "%") return sprintf("%.1f %%", 100 * x)
    return sprintf("%.*f", digits, x)
}

function limit(x, unit) { return x ~ /^</ ? "<= " shown(substr(x, 2), unit, 0) : shown(x, unit, 3) }

function reached(figure, bar) { return bar ~ /^</ ? figure + 0 <= substr(bar, 2) + 0 : figure + 0 >= bar + 0 }

function verdict(figure, floor, aim)
{
    if (figure == "-" || (floor == "-" && aim == "-")) return "-"
    if (floor != "-" && !reached(figure, floor)) return "SHORT"
    if (aim != "-" && reached(figure, aim)) return "aim"
    return floor == "-" ? "below aim" : "pass"
}

function text(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); sub(/^ +/, "", s); return s }

function number(x) { sub(/^</, "", x); return x == "-" || x == "" ? "null" : x + 0 }

{ v = verdict($6, $3, $4) }

json {
    printf "{\"row\": \"%s\", \"figure\": %s, \"lo\": %s, \"hi\": %s, \"floor\": %s, ",
           text($1), number($6), number($7), number($8), number($3)
    printf "\"upper_limit\": %s, \"aim\": %s, \"verdict\": \"%s\", \"command\": \"%s\"}",
           $3 ~ /^</ ? "true" : "false", number($4), v, text($5)
    next
}

NR == 1 { printf "%-66s %9s  %-19s %8s %8s  %-9s %s\n", "", "figure", "95 % interval", "floor", "aim", "", "by" }
{
    interval = $7 == "-" ? "" : shown($7, $2, 3) " .. " shown($8, $2, 3)
    gsub(/ %/, "", interval)
    printf "%-66s %9s  %-19s %8s %8s  %-9s [%s]\n", $1, shown($6, $2, $7 == "-" ? 4 : 3),
           interval, limit($3, $2), limit($4, $2), v, $5
}
