/* abrd completion: what a shell asks when Tab is pressed. The scripts ask the program for the
 * words that may come next, so they are as true as the tables of commands and options. */
#include "cli/cmd.h"
#include "cli/opt.h"

#include <stdio.h>
#include <string.h>

/* Options once a dash is typed, commands where one may stand, else files. */
static const char bash_script[] =
    "# abrd completion bash > /etc/bash_completion.d/abrd\n"
    "_abrd()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} words\n"
    "    words=$(\"${COMP_WORDS[0]}\" completion words \\\n"
    "        \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\n"
    "    [[ $word == -* ]] || words=$(grep -v '^-' <<<\"$words\")\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _abrd abrd\n";

static const char zsh_script[] =
    "#compdef abrd\n"
    "# abrd completion zsh > a file _abrd in a folder of $fpath\n"
    "_abrd()\n"
    "{\n"
    "    local -a words_next\n"
    "    words_next=(${(f)\"$(\"${words[1]}\" completion words "
    "${words[2,CURRENT-1]} 2>/dev/null)\"})\n"
    "    [[ ${words[CURRENT]} == -* ]] || words_next=(${words_next:#-*})\n"
    "    (( ${#words_next} )) && compadd -a words_next || _files\n"
    "}\n"
    "# loaded by the first Tab it has to answer that one, too\n"
    "if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _abrd \"$@\"\n"
    "else compdef _abrd abrd; fi\n";

/* What may follow the words typed so far: commands at first, then theirs, then options. */
static int print_words(const struct cmd_sub *table, int argc, char **argv)
{
    char ask[] = OPT_WORDS;
    if (argc < 1) {
        cmd_sub_words(table);
        fputs("help\nman\ncompletion\nversion\n", stdout);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(argv[0], "help") || !strcmp(argv[0], "man")) cmd_sub_words(table);
    if (!strcmp(argv[0], "completion")) fputs("bash\nzsh\n", stdout);
    const struct cmd_sub *c = cmd_sub_find(table, argv[0]);
    if (!c) return OPT_EXIT_DONE;
    /* a word that is no option may name a command's command */
    bool deeper = argc > 1 && *argv[1] != '-';
    char *asked[] = {argv[0], deeper ? argv[1] : ask, deeper ? ask : NULL, NULL};
    return c->run(deeper ? 3 : 2, asked);
}

int cmd_completion(const struct cmd_sub *table, int argc, char **argv)
{
    const char *shell = argc > 1 ? argv[1] : "";
    if (!strcmp(shell, "words")) {
        int code = print_words(table, argc - 2, argv + 2);
        return code == OPT_EXIT_USAGE ? OPT_EXIT_DONE : code;
    }
    if (!strcmp(shell, "--help") || !strcmp(shell, "-h"))
        puts(
            "Prints a script that completes commands and options when Tab is pressed.\n\n"
            "usage: abrd completion bash|zsh\n\n"
            "examples:\n  abrd completion bash > /etc/bash_completion.d/abrd\n"
            "  abrd completion zsh > /usr/local/share/zsh/site-functions/_abrd");
    else if (!strcmp(shell, "bash"))
        fputs(bash_script, stdout);
    else if (!strcmp(shell, "zsh"))
        fputs(zsh_script, stdout);
    else
        return opt_usage("completion", "name the shell: bash or zsh");
    return OPT_EXIT_DONE;
}
