/* SPDX-License-Identifier: Apache-2.0 */
/* sett completion bash|zsh|fish: a script by which the shell completes this command, written from the tables that the command itself
 * goes by. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---------------------------------------------------------------------- */
/* The verbs in "[layers | ls [SOURCE...] | pack ...]": what each alternative begins with. */
static void verbs(FILE *f, const char *args, const char *between)
{
    bool first = true;
    if (*args != '[')
        return;
    for (const char *at = args + 1; at; at = strstr(at, " | ") ? strstr(at, " | ") + 3 : NULL, first = false)
        fprintf(f, "%s%.*s", first ? "" : between, (int)strcspn(at, " |]"), at);
}

static bool takes_kernel(const char *args)
{
    return strstr(args, "KERNEL") != NULL;
}

/* What its first operand may be, but for files. */
static void operands(FILE *f, size_t command)
{
    const char *args, *name = command_known(command, &args, NULL);
    if (takes_kernel(args))
        kernel_names(f, " ");
    else if (!strcmp(name, "completion"))
        fputs("bash zsh fish", f);
    else
        verbs(f, args, " ");
}

static bool wants(const option_known *o, const char *word)
{
    return o->value && !strcmp(o->value, word);
}
static bool wants_file(const option_known *o)
{
    return wants(o, "FILE") || wants(o, "KEY");
}

/* One line, without what a quoted string of the shells would read. */
static void quoted(FILE *f, const char *s, const char *leave)
{
    for (; *s; s++) {
        fputc(*s == '\n' || strchr(leave, *s) ? ' ' : *s, f);
        if (*s == '\n')
            s += strspn(s + 1, " ");
    }
}

/* ---- bash ------------------------------------------------------------------------------ */
static void bash_options(FILE *f, int of, const char *(*pick)(const option_known *), const char *between)
{
    option_known o;
    bool first = true;
    for (size_t i = 0; option_at(i, of, &o); i++)
        if (o.of & of && pick(&o)) {
            fprintf(f, "%s--%s", first ? "" : between, o.name);
            first = false;
        }
}
static const char *any(const option_known *o) { return o->name; }
static const char *file(const option_known *o) { return wants_file(o) ? o->name : NULL; }
static const char *folder(const option_known *o) { return wants(o, "DIR") ? o->name : NULL; }
static const char *value(const option_known *o) { return o->value && !wants_file(o) && !wants(o, "DIR") ? o->name : NULL; }

static void bash(FILE *f)
{
    const char *name, *args;
    fputs("# bash completion for sett, by `sett completion bash`\n_sett() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= options= words= i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]} && break ;; esac\n    done\n"
          "    case $command in\n", f);
    for (size_t i = 0; (name = command_known(i, &args, NULL)); i++) {
        fprintf(f, "    %s)\n        options='", name);
        bash_options(f, 1 << i, any, " ");
        fputs("'\n        words='", f);
        operands(f, i);
        fputs("' ;;\n", f);
    }
    fputs("    *)\n        options='--help --version'\n        words='help", f);
    for (size_t i = 0; (name = command_known(i, &args, NULL)); i++)
        fprintf(f, " %s", name);
    fputs("' ;;\n    esac\n    case $prev in\n    -o | ", f);
    bash_options(f, -1, file, " | ");
    fputs(") mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") && return ;;\n    ", f);
    bash_options(f, -1, folder, " | ");
    fputs(") mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") && return ;;\n    -j | ", f);
    bash_options(f, -1, value, " | ");
    fputs(") COMPREPLY=() && return ;;\n    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
          "    *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; [ -z \"$command\" ] || compgen -f -- \"$cur\") ;;\n    esac\n}\n"
          "complete -o filenames -F _sett sett\n", f);
}

/* ---- zsh ------------------------------------------------------------------------------- */
static void zsh(FILE *f)
{
    static const char leave[] = "'[]:`$\\";
    const char *name, *args, *what;
    option_known o;
    fputs("#compdef sett\n# zsh completion for sett, by `sett completion zsh`\n_sett() {\n    local -a commands\n    commands=(\n", f);
    for (size_t i = 0; (name = command_known(i, &args, &what)); i++) {
        fprintf(f, "        '%s:", name);
        quoted(f, what, leave);
        fputs("'\n", f);
    }
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n    local command=$words[2]\n"
          "    shift words\n    ((CURRENT--))\n    case $command in\n", f);
    for (size_t i = 0; (name = command_known(i, &args, NULL)); i++) {
        fprintf(f, "    %s)\n        _arguments \\\n", name);
        for (size_t k = 0; option_at(k, 1 << i, &o); k++) {
            if (!(o.of & 1 << i))
                continue;
            fprintf(f, "            '--%s%s[", o.name, o.value ? "=" : "");
            quoted(f, o.what, leave);
            fprintf(f, "]%s%s%s' \\\n", o.value ? ":" : "", o.value ? o.value : "", !o.value ? "" : wants_file(&o) ? ":_files" : wants(&o, "DIR") ? ":_files -/" : ":");
        }
        fputs("            '1::operand:(", f);
        operands(f, i);
        fputs(")' \\\n            '*:file:_files' ;;\n", f);
    }
    fputs("    esac\n}\n_sett \"$@\"\n", f);
}

/* ---- fish ------------------------------------------------------------------------------ */
static void fish_option(FILE *f, const char *command, const option_known *o)
{
    fprintf(f, "complete -c sett -n '__fish_seen_subcommand_from %s' -l %s%s -d '", command, o->name,
        !o->value ? "" : wants_file(o) ? " -r -F" : wants(o, "DIR") ? " -x -a '(__fish_complete_directories)'" : " -x");
    quoted(f, o->what, "'\\");
    fputs("'\n", f);
}

static void fish(FILE *f)
{
    const char *name, *args, *what;
    option_known o;
    fputs("# fish completion for sett, by `sett completion fish`\n", f);
    for (size_t i = 0; (name = command_known(i, &args, &what)); i++) {
        fprintf(f, "complete -c sett -f -n '__fish_use_subcommand' -a %s -d '", name);
        quoted(f, what, "'\\");
        fprintf(f, "'\ncomplete -c sett -n '__fish_seen_subcommand_from %s' -a '", name);
        operands(f, i);
        fputs("'\n", f);
        for (size_t k = 0; option_at(k, 1 << i, &o); k++)
            if (o.of & 1 << i)
                fish_option(f, name, &o);
    }
}

/* ---- the command ------------------------------------------------------------------------- */
static const struct shell {
    const char *name;
    void (*write)(FILE *);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

int completion_command(const options *o)
{
    sett__guess g = sett__guess_of(o->argc == 1 ? o->argv[0] : "", o->argc == 1 ? strlen(o->argv[0]) : 0);
    int code = o->argc == 1 ? output_open(o) : usage("completion: of which shell? bash, zsh or fish");
    if (code)
        return code;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (!strcmp(o->argv[0], shells[i].name))
            return shells[i].write(stdout), EXIT_OK;
        sett__guess_add(&g, shells[i].name);
    }
    return usage("completion: %s is none of bash, zsh and fish%s", o->argv[0], sett__guess_text(&g));
}
