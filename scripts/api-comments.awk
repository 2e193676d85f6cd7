# Public headers as Doxygen reads them, and a count of what has no comment. One reader for both, so that what is counted
# is what the reference shows.
#
#   awk -f scripts/api-comments.awk data/data.h            prints the header with documentation comments (a filter)
#   awk -v check=1 -f scripts/api-comments.awk FILE...     prints "FILE:LINE: NAME" for each undocumented symbol,
#                                                          and the number of symbols at the end; fails if there is one
#
# A symbol is a function, type, enumeration, or macro with arguments. It is documented by a comment in the lines before
# it, up to a blank line, or after it on its own lines. So one comment may stand for a group without blank lines in it.
# A keyword macro, hr_shuffle(...), is documented with hr_shuffle_with, and so are its options, hr_shuffle_opts, whose
# members say what each is for. A type that is only named (typedef struct x x;) and what ends in "_" need no comment.

FNR == 1 { comment = text = ""; gathering = 0; in_comment = 0; described = 0 }

# Prose as Doxygen takes it for itself; examples, indented by four more, stay as they are.
function escaped(line) {
    if (line ~ /^ *\*? {4}/) return line
    gsub(/[\\<@#]/, "\\\\&", line)
    return line
}

function missing(name) { if (check) { print FILENAME ":" first ": " name; faults++ } }

# The name that a declaration declares, or "".
function declared(d,   m) {
    if (d ~ /^typedef struct [a-z_0-9]+ [a-z_0-9]+;/ || d ~ /^struct [A-Za-z_0-9]+;/) return ""
    if (d ~ /^#define +[A-Za-z_0-9]+\(/) {
        m = d; sub(/^#define +/, "", m); sub(/\(.*/, "", m)
        return m ~ /_$/ ? "" : m
    }
    if (d ~ /^#/ || d ~ /^extern "C"/ || d ~ /^}/) return ""
    if (d ~ /^typedef (struct|enum)/ || d ~ /^struct [A-Za-z_0-9]+ *{/) {
        m = d; sub(/^typedef /, "", m); sub(/^(struct|enum) /, "", m); sub(/[ {].*/, "", m)
        return m
    }
    if (d ~ /^enum *{/) { m = d; sub(/^enum *{ */, "", m); sub(/[ ,=].*/, "", m); return m == "" ? "enum" : m }
    if (d ~ /^(typedef|HR_API|extern|static inline)/) {
        m = d
        sub(/^extern HR_API /, "HR_API ", m)
        if (m ~ /\(/) sub(/\(.*/, "", m); else sub(/[;=].*/, "", m)
        sub(/.*[ *]/, "", m)
        return m
    }
    return ""
}

# Text with comments taken out; trailing[] remembers whether there was one.
function without_comments(d,   a, b) {
    had_comment = 0
    while ((a = index(d, "/*")) > 0) {
        had_comment = 1
        b = index(substr(d, a + 2), "*/")
        if (b == 0) return substr(d, 1, a - 1)
        d = substr(d, 1, a - 1) substr(d, a + 2 + b + 1)
    }
    return d
}

# Counts braces and parentheses: a declaration ends where none is open, with ";" or, of a macro, without "\".
function balance(d,   n, t) {
    t = d; n = gsub(/[{(]/, "", t); t = d
    return n - gsub(/[})]/, "", t)
}

function end_declaration(   name, keyword, bare, options) {
    bare = code
    gsub(/[ \t]+/, " ", bare)
    sub(/^ /, "", bare)
    name = declared(bare)
    if (name != "") {
        symbols++
        keyword = name "_with"
        options = name ~ /_opts$/
        if (comment == "" && !trailing && !(keyword in seen) && !options) missing(name)
        seen[name] = 1
    }
    if (!check) {
        if (name != "" && comment != "" && !fresh && !trailing) print comment
        if (options && comment == "") print "/** Options: what each is for, and its default. */"
        printf "%s", shown
    }
    fresh = 0; code = ""; shown = ""; trailing = 0; gathering = 0; open = 0
}

# A comment after code documents what stands before it.
function as_trailing(line,   at) {
    at = index(line, "/* ")
    return substr(line, 1, at - 1) "/**< " escaped(substr(line, at + 3))
}

{
    line = $0
    # A comment on lines of its own.
    if (!gathering && (in_comment || line ~ /^[ \t]*\/\*/) ) {
        heading = !in_comment && line ~ /^\/\* ----/
        if (in_comment) text = text "\n" escaped(line)
        else if (heading) text = line
        else text = "/**" (described++ ? "" : " \\file\n *") escaped(substr(line, index(line, "/*") + 2))
        in_comment = index(line, "*/") == 0
        if (!in_comment) {
            if (heading) comment = ""
            else { comment = text; fresh = 1 }
            if (!check) print text
            text = ""
        }
        next
    }
    if (!gathering && line ~ /^[ \t]*$/) { comment = ""; fresh = 0; if (!check) print line; next }

    # Code: a directive, or a declaration of one line or more.
    if (!gathering) { gathering = 1; first = FNR; directive = line ~ /^#/; code = ""; shown = ""; open = 0 }
    if (!check) shown = shown (line ~ /[^ \t].*\/\* / ? as_trailing(line) : line) "\n"
    bare = line
    if (carry) { # inside a comment that began after code
        if ((at = index(bare, "*/")) == 0) next
        bare = substr(bare, at + 2); carry = 0
    }
    stripped = without_comments(bare)
    if (had_comment && index(bare, "/*") > 0 && index(substr(bare, index(bare, "/*")), "*/") == 0) carry = 1
    # Comments inside of braces are those of members.
    if (had_comment && (open == 0 || open + balance(stripped) == 0)) trailing = 1
    code = code " " stripped
    open += balance(stripped)
    if (carry) next
    if (directive ? line !~ /\\$/ : (open <= 0 && stripped ~ /[;}][ \t]*$/)) end_declaration()
    else if (!directive && stripped ~ /^extern "C" *{/) end_declaration()
}

END {
    if (check) {
        print symbols " public symbols, " faults + 0 " without a comment"
        exit faults > 0 || symbols < 100 # fewer: they were not found
    }
}
