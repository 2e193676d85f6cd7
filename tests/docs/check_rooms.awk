# Prints the files that the tables of a room's README name and that are not there; fails if there is one. A name is
# looked for beside the README; NAME.* stands for any file of that name.
function readable(path,   line, got)
{
    got = (getline line < path)
    close(path)
    return got >= 0
}
function there(path)
{
    if (!sub(/\*$/, "", path)) return readable(path)
    return readable(path "c") || readable(path "h") || readable(path "def") || readable(path "py")
}
FNR == 1 { folder = FILENAME; if (!sub(/\/[^\/]*$/, "/", folder)) folder = "" }
/^\| *`/ {
    cells = $0
    sub(/^\| */, "", cells)
    sub(/\|.*/, "", cells)
    while (match(cells, /`[a-z][a-z_0-9\/]*\.(c|h|def|py|proto|sh|\*)`/)) {
        name = substr(cells, RSTART + 1, RLENGTH - 2)
        cells = substr(cells, RSTART + RLENGTH)
        named++
        if (!there(folder name)) { print FILENAME ":" FNR ": there is no " name; faults++ }
    }
}
END { exit faults > 0 || named < 100 }
