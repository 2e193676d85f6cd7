# The examples in the first comments of public headers, as C: each header's in a function of its own. An example is
# indented by four more than the prose; one of YAML, which begins with a key alone, is left out. One that begins with a
# type or a function is a file's. In any other comment, one that begins with an #include is a whole file, too.
FNR == 1 {
    if (open_function == 1) print "}"
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.h$/, "", name)
    first = 1
    open_function = 0
    yaml = 0
}
!first && /^ \*     #include </ { whole = 1 }
/\*\// { whole = 0 }
whole {
    if (FNR != last + 1) print "#line " FNR " \"" FILENAME "\""
    last = FNR
    print substr($0, 8)
}
!first { next }
/^ \*     / {
    line = $0
    sub(/^ \*     /, "", line)
    if (line ~ /^[a-z]+:$/) yaml = 1
    if (yaml) next
    if (!open_function && line ~ /^(typedef|static) /) open_function = 2
    if (!open_function) print "void example_of_" name "(void);\nvoid example_of_" name "(void)\n{"
    if (!open_function) open_function = 1
    if (sub(/ *\*\/$/, "", line)) first = 0
    if (FNR != last + 1) print "#line " FNR " \"" FILENAME "\""
    last = FNR
    print "    " line
    next
}
{ yaml = 0 }
/\*\// { first = 0 }
END { if (open_function == 1) print "}" }
