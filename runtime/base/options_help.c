/*
** --help, from options.def, and the limits that this version has.
*/
#include "options.h"

#include "file_limits.h"

/* Columns of UTF-8 text, one a character: enough for this table. */
static int columns(const char *s) {
    int n = 0;
    for (; *s; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}

static void pad(Text *t, const char *s, int width) {
    text_add(t, "%s%*s", s, width > columns(s) ? width - columns(s) : 0, "");
}

static void limits(Text *t) {
    text_add(t,
             "\nLimits\n  sequences up to the model's context; safetensors: header %d bytes, %d "
             "tensors, rank %d;\n"
             "  JSON: depth %d; 1024 threads; text and files up to the machine's memory\n",
             SAFETENSORS_HEADER, SAFETENSORS_TENSORS, SAFETENSORS_RANK, JSON_DEPTH);
    text_add(t,
             "Exit status\n  0 done, 1 the user's mistake, 2 usage, 3 a limit was hit, 4 input or "
             "output failed,\n"
             "  5 internal error, 6 training diverged, 128+n stopped by signal n\n");
}

static void option_help(Text *t, const OptionRow *r) {
    char left[96];
    print_text(left, sizeof left, "  --%s %s", r->name, r->argument);
    pad(t, left, 27);
    text_add(t, " %s", r->help);
    if (*r->initial) text_add(t, " (%s)", r->initial);
    text_add(t, "\n");
}

void options_help(Text *t, const char *program, CommandId command) {
    if (command == COMMANDS) {
        text_add(t, "%s COMMAND [OPTION …]\n\nCommands\n", program);
        for (int i = 0; i < COMMANDS; i++) {
            text_add(t, "  ");
            pad(t, command_table[i].name, 12);
            text_add(t, "%s\n", command_table[i].summary);
        }
        text_add(t,
                 "\n'%s COMMAND --help' lists a command's options; --version says what this is.\n"
                 "NO_COLOR in the environment turns colours off.\n",
                 program);
        limits(t);
        return;
    }
    const CommandRow *c = &command_table[command];
    text_add(t, "%s %s%s%s [OPTION …]\n  %s\n", program, c->name, *c->positional ? " " : "",
             c->positional, c->summary);
    text_add(t, "\nOptions\n");
    for (int i = 0; i < OPTIONS; i++)
        if (option_table[i].commands >> command & 1) option_help(t, &option_table[i]);
    text_add(t,
             "  --help                    this text\n  --version                 what this program "
             "is\n");
    limits(t);
}
