/* SPDX-License-Identifier: MIT
** Shared by the files of the front end: the state of one run, and how they fail.  Everything that
** is built belongs to the graph's arena or to the Lua state, so that Lua's error jumps leak
** nothing.
*/
#ifndef STRATA_FRONT_H
#define STRATA_FRONT_H

#include "embedded.h"
#include "hash.h"
#include "heap.h"
#include "spec.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdarg.h>

enum {
    MAXSTRING = 16384, /* bytes of a Lua string: what one instruction can cost */
    MAXLIST = 65536,   /* elements of a list given to a primitive */
    MAXNAME = 200,     /* bytes of a parameter's name */
    MAXNOTE = 300,     /* bytes of a note */
    MAXNOTES = 100     /* of a model; one more says that there are more */
};

/* A source file that was read, kept for its error lines. */
typedef struct SourceFile {
    struct SourceFile *next;
    char *path; /* as shown to the user */
    char *text;
    size_t size;
    int64_t ids; /* of a tokenizer's file; 0: Lua */
} SourceFile;

/* What happens if nothing reads a parameter: a note, an error, or nothing. */
typedef enum Unread { UNREAD_NOTED, UNREAD_REFUSED, UNREAD_SPARE } Unread;

struct Front {
    lua_State *L;
    Graph *g;
    Model *m;
    SpecLimits limit;
    Heap heap;                  /* Lua's */
    size_t used;                /* bytes of it */
    const void *tensors;        /* the metatable of tensors */
    const char *files[2];       /* of the last places that the user was at: interned */
    int refused;                /* allocations that did not fit */
    bool starved;               /* the system had no memory */
    int64_t left;               /* instructions */
    size_t longest;             /* bytes of a string, so far */
    bool dense;                 /* layers are built without their routes */
    int opened;                 /* Lua's status of the library's start */
    double start;               /* sandbox_seconds() when the run began */
    size_t built;               /* bytes of graph, about */
    int status;                 /* 0; else a limit (3) or a file (4) stopped the run for good */
    bool raised;                /* the error under way has its location */
    char stuck[512];            /* where memory ran out: "file:line" */
    const char *loading;        /* path of the file being parsed */
    char *folder;               /* the spec's, resolved: where require may look */
    const char *tokenizer_from; /* where the tokenizer's file is instead; NULL: in the folder */
    size_t shown;               /* length of the folder part of the spec's path as typed */
    SourceFile *source;         /* newest first */
    int64_t streams;            /* of random numbers, so far */
    int list;                   /* whose tokens are worked on; 0: all */
    int prints;                 /* lines that it printed */
    bool settled;               /* options can no longer be declared: layers are built */
    Unread *unread;             /* by parameter */
    int readcap, notecap, sourcecap, unreadcap, optioncap;
};

static inline Front *front(lua_State *L) { return *(Front **)lua_getextraspace(L); }

/* raise.c: where the user is, and failing there */
Loc spec_here(lua_State *L);
_Noreturn void spec_fail(lua_State *L, const char *fmt, ...); /* at spec_here() */
_Noreturn void spec_fail_at(lua_State *L, Loc at, const char *fmt, ...);
_Noreturn void spec_raise(lua_State *L, Loc at, const char *fmt, va_list ap);
int spec_call_at(lua_State *L); /* (file, line, f, ...): f(...), blamed on file:line */

/* message.c: telling the user */
int spec_handle_error(lua_State *L); /* message handler of the outermost call */
void spec_relocate(Front *f, const char *text, char *out, size_t size);
void spec_out_of_memory(const Front *f, char *out, size_t size); /* that it was, and where */
void spec_report(Front *f, int status, Error *e);                /* from the error on the stack */

/* spec.c: running something in the sandbox, with nothing that escapes */
Front *front_new(const SpecLimits *limits); /* NULL: there is no memory for it */
void front_free(Front *f);                  /* but for its model */
int front_call(Front *f, lua_CFunction function, void *argument);
void front_library(lua_State *L); /* pushes what init.lua returns */

/* sandbox.c: what a spec may use */
void *sandbox_alloc(void *front, void *p, size_t old, size_t size);
void sandbox_hook(lua_State *L);
/* Sets the status: from now on every call fails, whatever the spec catches. */
_Noreturn void spec_stop(lua_State *L, int status, const char *fmt, ...);
double sandbox_seconds(void); /* of processor time, by this process */
void sandbox_charge(lua_State *L, int64_t instructions);
/* lua_pcall, for all results; what limits raised goes on up. */
int sandbox_call(lua_State *L, int arguments, int handler);
/* sandbox_library.c */
void sandbox_open(lua_State *L); /* pushes a table of Lua's own functions */

/* order.c: visits tables in a defined order, however they were filled */
int order_keys(lua_State *L); /* (what, table): its keys, a list */
int order_next(lua_State *L); /* (table, key): as next */

/* files.c: reading sources */
void files_open(lua_State *L, const char *path);
void files_spec(lua_State *L, const char *path); /* pushes the chunk */
/* the same for a text that is in no file yet */
void files_text(lua_State *L, const char *path, const char *text, size_t size);
/* Reads a regular file of at most 'most' bytes, shown as 'path'.  Returns 0, or a status and what
** was found. */
int files_read(Front *f, const char *file, const char *path, size_t most, SourceFile **s,
               char found[256]);
/* Pushes the real path of a file in the spec's folder.  A file that does not exist, or lies
** outside, is an error that names 'what' asked for it. */
const char *files_real(lua_State *L, const char *what, const char *file);
int files_require(lua_State *L);     /* upvalue 1: the environment, 2: modules by name */
void files_hash(const Front *f);     /* of what was read, into the model */
void files_list(Front *f, Graph *g); /* what was read, into the model; g owns the names */
void files_free(Front *f);

/* tokenizer_source.c */
int tokenizer_call(
    lua_State *L);              /* (name, vocab): reads and checks a file; false: no file's name */
void tokenizer_carry(Front *f); /* the file of the finished model, into it */

/* library.c: the Lua files embedded in the compiler */
extern const Embedded library_file[];
extern const int library_count;
extern const Embedded importers_file[]; /* of specs/library/import */
extern const int importers_count;
extern const Embedded exporters_file[]; /* of specs/library/export */
extern const int exporters_count;
void library_load(lua_State *L, const char *name); /* pushes the chunk */

/* tensor.c, bindings.c: primitives */
const char *tensor_nothing(lua_State *L); /* "nothing"; while layers are built, what there is */
Node **tensor_at(lua_State *L, int arg);  /* NULL: it is none */
Node *tensor_get(lua_State *L, int arg, const char *what); /* numbers become fills */
int tensor_push(lua_State *L, Node *n);
Node *tensor_build(lua_State *L, Op op, int nin, Node **in, Attr attr);
void tensor_open(lua_State *L); /* the metatable */
void ops_open(lua_State *L);    /* pushes a table of the primitives */
int64_t tensor_list_length(lua_State *L, int arg, const char *what);
int64_t tensor_list_integer(lua_State *L, int arg, int64_t i, const char *what);
void tensor_list_shape(lua_State *L, int arg, const char *what, Shape *s);

/* spec_options.c: what the library's options.lua asks; into the key of the model */
void options_push(lua_State *L); /* pushes { { name, text }, ... }, as typed */
int options_call_declare(lua_State *L);
int options_call_undeclared(lua_State *L);
void options_keep(Model *m, Graph *g); /* strings and all, in g */
void options_hash(const Model *m, Sha256 *h);

int places_call_field(lua_State *L); /* field_places.c */

/* values.c */
int values_fill(lua_State *L);  /* (number, shape): a constant */
int values_zeros(lua_State *L); /* (shape) */
int values_power(lua_State *L); /* (x, number): x ^ number */

/* tensor_names.c: a parameter with a tensor whose name a tensor of another parameter has too, and
** the name; NULL if there is none */
Node *tensor_names_clash(const Graph *g, char *text, size_t size);

/* rules.c: the outputs 'always' and statistics, NULL-ended; what rules make of the buffers that
** a model kept, NULL: there are none */
const char **rules_outputs(const Graph *g, const char *const *always);
Graph *rules_graph(const Graph *g, const Graph *kept);

/* causal.c: the first sites at which the form that generates sees later tokens, and chooses among
** them; NULL if there is none */
/* What of the logits takes the ids to predict; NULL: nothing. */
Node *causal_leak(const Graph *g, const Node *logits);
void causal_sites(const Graph *g, const Node *logits, const char **acausal, const char **ahead);

/* notes.c */
void spec_note(Front *f, const char *text); /* adds to the model's notes */
int notes_call(lua_State *L);               /* (text): the same */
int notes_call_print(lua_State *L);         /* (text): a line on the console of the limits */

/* core.c: what the library's Lua files ask of C */
void core_open(lua_State *L); /* pushes the table 'core' */

#endif
