# Holds docs/tf_data.md to a list of TensorFlow's names: awk -f check_tf_data.awk tensorflow_names.txt CMakeLists.txt
# tf_data.md. A heading of the page is a prefix, and the first column of its table has the names after it. Fails where a
# name has no row, or several, where a row is no name, and where a row names an example that no test runs.
FNR == 1 { file++ }
file == 1 && /^tf\./ { listed[$1] = 1 }
file == 2 && /^hr_example\(queues_/ { split($1, part, "queues_"); tested[part[2]] = 1 }
file == 3 && /^## / { prefix = $2 ~ /^tf(\.|$)/ ? $2 : "" }
file == 3 && prefix && /^\| `/ {
    cells = split($0, cell, / \| /)
    if (cells != 3) fail($0, "a row has three columns")
    names = split(substr(cell[1], 3), name, /, /)
    for (i = 1; i <= names; i++) {
        gsub(/`/, "", name[i])
        full = prefix "." name[i]
        if (!(full in listed)) fail(full, "no name of TensorFlow")
        if (full in rows) fail(full, "it has two rows")
        rows[full] = 1
    }
    if (cell[2] == "") fail(full, "what is used here is not said")
    text = cell[3]
    while (match(text, /`queues [A-Za-z_]+`/)) {
        word = substr(text, RSTART + 8, RLENGTH - 9)
        if (!(word in tested)) fail(word, "no test runs this example")
        used[word] = 1
        text = substr(text, RSTART + RLENGTH)
    }
}
END {
    for (full in listed) if (!(full in rows)) fail(full, "it has no row")
    for (word in tested) if (!(word in used)) fail(word, "no row has this example")
    if (length(listed) < 200) fail("tensorflow_names.txt", "expected more than 200 names")
    exit failed
}
function fail(what, why) {
    print what ": " why
    failed = 1
}
