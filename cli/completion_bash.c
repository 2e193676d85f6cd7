/* The completion for bash: commands, flags, their values, and names of files and folders. */
#include "cli/commands.h"
#include "cli/command_completion.h"
#include <string.h>

/* What the cursor's word may be follows from three facts: which command the words before it name, whether the word
 * before it is a flag that takes a value, and the word itself. bash splits "--flag=value" at the "=". */
static const char script_head[] =
    "# Completes the words of the headrace command. Made by: headrace completion bash\n"
    "_headrace() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} IFS=$' \\t\\n'\n"
    "    local words= flags= files= folders= compressions= others= argument=\n";
static const char script_start[] = "    if [ \"$word\" = = ]; then\n"
                                   "        word=\n"
                                   "    elif [ \"$before\" = = ]; then\n"
                                   "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
                                   "    fi\n"
                                   "    case \" ${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n";
static const char script_tail[] =
    "    esac\n"
    "    COMPREPLY=()\n"
    "    case \" $files \" in *\" $before \"*) argument=file words= flags= ;; esac\n"
    "    case \" $folders \" in *\" $before \"*) argument=folder words= flags= ;; esac\n"
    "    case \" $compressions \" in *\" $before \"*) argument= flags= words='%s none' ;; esac\n"
    "    case \" $others \" in *\" $before \"*) argument= words= flags= ;; esac\n";
static const char script_end[] = "    case $word in\n"
                                 "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")); return ;;\n"
                                 "    esac\n"
                                 "    IFS=$'\\n'\n"
                                 "    case $argument in\n"
                                 "    file) compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                                 "    folder) compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\")) ;;\n"
                                 "    *) IFS=$' \\t\\n'; COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
                                 "    esac\n"
                                 "}\n"
                                 "complete -F _headrace headrace\n";

static void bash_put_flags(const command *c, const char *variable, int kind)
{
    printf(" %s='", variable);
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) {
        if (kind >= 0 && (!f->value || kind_of_value(f->value) != (value_kind)kind)) continue;
        printf("--%s ", f->name);
        if (f->letter) printf("-%c ", f->letter);
    }
    printf(kind < 0 ? "--help'" : "'");
}

/* `words_FORMAT='--from --to'`: the flags that take one of these words. */
static void bash_put_flags_of_words(const command *c, const value_words *words)
{
    printf(" words_%s='", words->name);
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++)
        if (f->value && strcmp(f->value, words->name) == 0) printf("--%s ", f->name);
    putchar('\'');
}

static void bash_put_case_of_command(const command *c)
{
    const value_kind kind = kind_of_value(c->arguments);
    printf("    \" %s \"*)\n       ", c->name);
    bash_put_flags(c, "flags", -1);
    bash_put_flags(c, "files", VALUE_FILE);
    bash_put_flags(c, "folders", VALUE_FOLDER);
    bash_put_flags(c, "compressions", VALUE_COMPRESSION);
    bash_put_flags(c, "others", VALUE_OTHER);
    for (int i = 0; value_words_at(i); i++) bash_put_flags_of_words(c, value_words_at(i));
    printf(" argument=%s words='%s' ;;\n",
           kind == VALUE_FILE     ? "file"
           : kind == VALUE_FOLDER ? "folder"
                                  : "",
           kind == VALUE_WORD ? words_of_argument(c) : "");
}

/* The words that may stand in the first place, or after a group's. */
static void bash_put_case_of_group(const char *group)
{
    word_view word;
    printf("    \" %s%s*) words='", group ? group : "", group ? " \"" : "\"");
    for (int i = 0; next_in_group(group, &i, &word);) printf("%.*s ", word.size, word.text);
    puts(group ? "' ;;" : "help' ;;");
}

void print_bash_completion(void)
{
    fputs(script_head, stdout);
    for (int i = 0; value_words_at(i); i++) printf("    local words_%s=\n", value_words_at(i)->name);
    fputs(script_start, stdout);
    for (int i = 0; i < count_commands(); i++) bash_put_case_of_command(command_at(i));
    for (int i = 0; group_at(i); i++) bash_put_case_of_group(group_at(i));
    bash_put_case_of_group(NULL);
    printf(script_tail, compression_words(" "));
    const value_words *w;
    for (int i = 0; (w = value_words_at(i)); i++)
        printf("    case \" $words_%s \" in *\" $before \"*) words='%s' ;; esac\n", w->name, w->words);
    fputs(script_end, stdout);
}
