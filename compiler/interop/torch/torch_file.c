/* SPDX-License-Identifier: MIT
** Assembles a modelling file from its parts: see torch_file.h.
*/
#include "torch_print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "fatal.h"
#include "site.h"

#include "torch_text.inc"

/* == Parts ================================================================ */

static bool depends_on_positions_only(const TorchPrinter *p, const Node *n) {
    switch (n->op) {
    case OP_position:
    case OP_tokens:
    case OP_fill:
    case OP_generating:
    case OP_training:
    case OP_decoding:
    case OP_sampling:
    case OP_random: return true;
    case OP_param: return false;
    default: break;
    }
    for (int k = 0; k < torch_operands(n); k++) {
        const Node *x = torch_operand(n, k);
        if (x->op == OP_tokens || p->part[x->id] != PART_FIRST) return false;
    }
    return torch_operands(n) > 0;
}

static const char *torch_file_site_of(const Node *n) { return n->site ? n->site : "model"; }

static void count_uses(TorchPrinter *p) {
    const Graph *g = p->g;
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        bool needed = n == p->logits || p->uses[i];
        for (int k = 0; needed && !torch_is_alias(n) && k < torch_operands(n); k++)
            if (!torch_literal(n, k)) p->uses[torch_operand(n, k)->id]++;
    }
}

/* The parts in order; returns how many. */
static int find_parts(TorchPrinter *p, const char **site) {
    int parts = 0;
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        p->part[i] = PART_NONE;
        if (n->op == OP_param || torch_is_alias(n) || !(p->uses[i] || n == p->logits)) continue;
        if (depends_on_positions_only(p, n)) {
            p->part[i] = PART_FIRST;
            continue;
        }
        if (n->op == OP_side) {
            p->part[i] = p->part[n->in[0]->id];
            continue;
        }
        if (!parts || strcmp(site[parts - 1], torch_file_site_of(n)))
            site[parts++] = torch_file_site_of(n);
        p->part[i] = parts - 1;
    }
    return parts;
}

static void find_outer(TorchPrinter *p) {
    const Graph *g = p->g;
    p->outer[p->logits->id] = true;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        for (int k = 0; p->part[i] != PART_NONE && k < torch_operands(n); k++) {
            const Node *x = torch_operand(n, k);
            if (p->part[x->id] != p->part[i]) p->outer[x->id] = true;
        }
    }
}

/* == Functions ============================================================ */

/* The function with this body, a new one if there is none. */
static int function_of(TorchPrinter *p, Text *body, const char *site, Text *names) {
    for (int i = 0; i < p->functions; i++)
        if (!strcmp(p->function[i], body->at)) {
            text_free(body);
            return i;
        }
    p->function[p->functions] = body->at;
    p->called[p->functions] = torch_name(names, site_last(site));
    return p->functions++;
}

static int print_parts(TorchPrinter *p, const char *const *site, int parts) {
    Text names = { 0 };
    int status = STATUS_OK;
    for (int i = 0; i < parts && !status; i++) {
        Text body = { 0 };
        p->call[i].site = site[i];
        p->calls = i + 1;
        status = torch_part(p, i, &p->call[i], &body);
        if (!status) status = text_status(&body, p->e);
        if (!status) p->call[i].function = function_of(p, &body, site[i], &names);
        else text_free(&body);
    }
    text_free(&names);
    return status;
}

/* == The file ============================================================= */

static bool calls(const char *text, const char *name, size_t n) {
    for (const char *at = text; at && (at = strstr(at, name)); at += n)
        if (at[n] == '(' && (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
            return true;
    return false;
}

/* Length of a block: up to the blank lines before the next one. */
static size_t block(const char *at) {
    const char *end = strstr(at, "\n\n\n");
    return end ? (size_t)(end - at) + 3 : strlen(at);
}

/* Blocks that define a function come with those that call it only. */
static void add_blocks(Text *t, const char *at, const Text *functions) {
    Text later = { 0 };
    if (!*at) {
        text_bytes(t, functions->at, functions->length);
        return;
    }
    size_t n = block(at);
    add_blocks(&later, at + n, functions);
    bool helper = !strncmp(at, "def ", 4);
    size_t name = helper ? strcspn(at + 4, "(") : 0;
    char word[64] = "";
    if (helper && name < sizeof word) memcpy(word, at + 4, name);
    if (!helper || calls(later.at, word, name)) text_bytes(t, at, n);
    text_bytes(t, later.at, later.length);
    text_free(&later);
}

static void assemble(Text *t, const Text *functions, const Text *logits) {
    static const char mark[] = "# -- functions\n\n\n";
    const char *text = (const char *)torch_text_file[1].text;
    const char *middle = strstr(text, mark), *end = strstr(text, "# -- logits");
    Text before = { 0 }, all = { 0 };
    text_bytes(&before, text, (size_t)(middle - text));
    text_bytes(&all, functions->at, functions->length);
    text_bytes(&all, middle + sizeof mark - 1, (size_t)(end - middle) - sizeof mark + 1);
    text_bytes(&all, logits->at, logits->length);
    add_blocks(t, before.at, &all);
    text_free(&before);
    text_free(&all);
}

void torch_config_file(Text *t) {
    text_bytes(t, (const char *)torch_text_file[0].text, torch_text_file[0].size);
}

static int print(TorchPrinter *p, Text *t) {
    const char **site = checked_new((size_t)p->g->n + 1, sizeof *site);
    Text functions = { 0 }, logits = { 0 };
    count_uses(p);
    int parts = find_parts(p, site);
    find_outer(p);
    p->call = checked_new((size_t)parts + 1, sizeof *p->call);
    p->function = checked_new((size_t)parts + 1, sizeof *p->function);
    p->called = checked_new((size_t)parts + 1, sizeof *p->called);
    text_add(&logits, "    def logits(self, ids):\n");
    int status = torch_first(p, &logits);
    if (!status) status = print_parts(p, site, parts);
    for (int i = 0; i < p->functions; i++)
        text_add(&functions, "def %s%s\n\n", p->called[i], p->function[i]);
    if (!status) {
        torch_calls(p, &logits);
        text_add(&logits, "        return %s\n", p->name[p->logits->id]);
        assemble(t, &functions, &logits);
        status = text_status(t, p->e);
    }
    text_free(&functions);
    text_free(&logits);
    free(site);
    return status;
}

static void free_calls(TorchPrinter *p) {
    for (int i = 0; i < p->calls; i++) {
        for (int k = 0; k < p->call[i].arguments; k++)
            free(p->call[i].argument[k].node);
        free(p->call[i].argument);
        free(p->call[i].out);
    }
    for (int i = 0; i < p->functions; i++)
        free(p->function[i]), free(p->called[i]);
    free(p->call), free(p->function), free(p->called);
}

int torch_file(const Graph *g, Text *t, Error *e) {
    if (torch_check(g, e)) return e->status;
    size_t n = (size_t)g->n + 1;
    TorchPrinter p = { .g = g, .logits = graph_find(g, "logits"), .e = e };
    p.part = checked_new(n, sizeof *p.part);
    p.uses = checked_new(n, sizeof *p.uses);
    p.outer = checked_new(n, sizeof *p.outer);
    p.at = checked_new(n, sizeof *p.at);
    p.name = checked_new(n, sizeof *p.name);
    int status = print(&p, t);
    free_calls(&p);
    for (int i = 0; i < g->n; i++)
        free(p.name[i]), free(p.at[i].text);
    free(p.part), free(p.uses), free(p.outer), free(p.at), free(p.name);
    text_free(&p.taken);
    return status;
}
