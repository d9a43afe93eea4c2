/* mpd_tree.c - a manifest's text as a tree, by expat. It is given neither a way to read external
 * entities nor a document type: the declaration of one ends the parsing where it stands, before any
 * entity of it is looked at. */
#include "mpd_priv.h"

#include "base/text.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

/* One block each: the node, and behind it the name and the attributes as texts. */
struct builder {
    XML_Parser parser;
    struct mpd_node *root, *open; /* the innermost that is not closed */
    struct mpd_node **after;      /* where the next one belongs */
    bool doctype, no_memory;
};

static void give_up(struct builder *b, bool *why)
{
    *why = true;
    XML_StopParser(b->parser, XML_FALSE);
}

/* Behind the prefix. */
static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

static struct mpd_node *make(const char *name, const char **attributes, int line)
{
    size_t size = strlen(name) + 1;
    int n = 0;
    for (const char **a = attributes; *a; a++, n++)
        size += strlen(*a) + 1;
    struct mpd_node *node = malloc(sizeof *node + size);
    if (!node) return NULL;
    *node = (struct mpd_node){.line = line, .attributes = n / 2};
    char *to = node->texts;
    to = stpcpy(to, name) + 1;
    for (const char **a = attributes; *a; a++)
        to = stpcpy(to, *a) + 1;
    return node;
}

static void begins(void *ctx, const char *name, const char **attributes)
{
    struct builder *b = ctx;
    struct mpd_node *node =
        make(local(name), attributes, (int)XML_GetCurrentLineNumber(b->parser));
    if (!node) {
        give_up(b, &b->no_memory);
        return;
    }
    node->parent = b->open;
    *b->after = node;
    b->open = node;
    b->after = &node->children;
}

static void ends(void *ctx, const char *name)
{
    (void)name;
    struct builder *b = ctx;
    struct mpd_node *node = b->open;
    if (!node) return; /* an empty one is closed even after the parser was told to stop */
    b->after = &node->next;
    b->open = node->parent;
}

/* Of a BaseURL, which alone is asked for its content. */
static void says(void *ctx, const char *text, int len)
{
    struct builder *b = ctx;
    struct mpd_node *node = b->open;
    if (!node || strcmp(node->texts, "BaseURL") != 0) return;
    size_t had = node->content ? strlen(node->content) : 0, n = (size_t)len;
    if (had + n > SEGMENTS_URL)
        n = SEGMENTS_URL - had; /* already more than a URL may have */
    char *more = realloc(node->content, had + n + 1);
    if (!more) {
        give_up(b, &b->no_memory);
        return;
    }
    memcpy(more + had, text, n);
    more[had + n] = '\0';
    node->content = more;
}

static void refuse_doctype(void *ctx, const char *name, const char *system,
                           const char *external, int internal)
{
    (void)name;
    (void)system;
    (void)external;
    (void)internal;
    struct builder *b = ctx;
    give_up(b, &b->doctype);
}

void mpd_tree_free(struct mpd_node *root)
{
    /* a child is hung out before its parent goes, so that no depth is too deep */
    struct mpd_node *at = root;
    while (at) {
        struct mpd_node *next = at->children;
        if (next) {
            at->children = next->next;
            next->next = NULL;
            next->parent = at;
        } else {
            next = at->parent;
            free(at->content);
            free(at);
        }
        at = next;
    }
}

static int refuse(const struct builder *b, const char *name, struct err *e)
{
    int line = (int)XML_GetCurrentLineNumber(b->parser);
    enum XML_Error why = XML_GetErrorCode(b->parser);
    if (b->no_memory || why == XML_ERROR_NO_MEMORY)
        return err_set(e, ERR_MEMORY, "no memory for the manifest");
    if (b->doctype)
        return text_refuse(name, line, ERR_INVALID, e,
                           "has a document type declaration, which no manifest needs");
    return text_refuse(name, line, ERR_INVALID, e, "not XML: %s", XML_ErrorString(why));
}

struct mpd_node *mpd_tree(const char *text, size_t len, const char *name, struct err *e)
{
    struct builder b = {.parser = XML_ParserCreate(NULL)};
    if (!b.parser) {
        err_set(e, ERR_MEMORY, "no memory to parse XML");
        return NULL;
    }
    b.after = &b.root;
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, begins, ends);
    XML_SetCharacterDataHandler(b.parser, says);
    XML_SetStartDoctypeDeclHandler(b.parser, refuse_doctype);
    if (XML_Parse(b.parser, text, (int)len, XML_TRUE) != XML_STATUS_OK) {
        refuse(&b, name, e);
        mpd_tree_free(b.root);
        b.root = NULL;
    }
    XML_ParserFree(b.parser);
    return b.root;
}
