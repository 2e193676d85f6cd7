# Prints lines of prose of 120 characters and more, and links to files that do not exist; fails if there is one. Tables,
# blocks of code and comments of HTML may be longer.
FNR == 1 { code = 0; folder = FILENAME; if (!sub(/\/[^\/]*$/, "/", folder)) folder = "" }
/^ *```/ { code = !code; next }
code || /^    / { next }
{
    line = $0
    while (match(line, /\]\([^)#]+/)) {
        target = substr(line, RSTART + 2, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (target ~ /^[a-z]+:/ || (folder target) in found) continue
        if (system("test -e '" folder target "'") == 0) found[folder target] = 1
        else { print FILENAME ":" FNR ": expected a link to a file, there is no " target; faults++ }
    }
}
/^\|/ || /^<!--/ || !/[^ ] +[^ ]/ { next } # tables, comments, one long word
{
    characters = $0
    gsub(/[\200-\277]/, "", characters) # bytes that continue a character of UTF-8
    if (length(characters) >= 120) { print FILENAME ":" FNR ": expected fewer than 120 characters, found " length(characters); faults++ }
}
END { exit faults > 0 }
