#include "cli/optfile.h"

#include <assert.h>
#include <string.h>

#include "base/conf.h"

#define NAME 32

/* One key of the file for one option; the other spelling of a hyphen is a second key. */
struct table {
    int n;
    struct conf_key key[CONF_KEYS_MAX + 1];
    char name[CONF_KEYS_MAX][NAME];
};

static void optfile_add(struct table *t, const struct conf_key *key, const char *name,
                        char hyphen)
{
    assert(t->n < CONF_KEYS_MAX && strlen(name) < NAME);
    char *own = t->name[t->n];
    strcpy(own, name);
    for (char *p = own; *p; p++)
        if (*p == '-') *p = hyphen;
    t->key[t->n] = *key;
    t->key[t->n++].name = own;
}

/* In place. */
static int optfile_split(struct opt_list *l, char *value, const char *path,
                         const char *name, struct err *e)
{
    char *rest = NULL;
    l->n = 0;
    for (char *item = strtok_r(value, ", \t", &rest); item;
         item = strtok_r(NULL, ", \t", &rest)) {
        if (l->n == OPT_LIST_MAX)
            return err_field(e, ERR_RANGE, path, "%s has more than %d items", name,
                             OPT_LIST_MAX);
        l->item[l->n++] = item;
    }
    return 0;
}

int optfile_read(struct optfile *f, const char *path, const struct opt *opts,
                 const char *except, struct err *e)
{
    struct table t = {0};
    int texts = 0;
    for (const struct opt *o = opts; o->name; o++) {
        if (strcmp(o->name, except) == 0) continue;
        struct conf_key key = {.flag = o->flag,
                               .i = o->i,
                               .u64 = o->u64,
                               .d = o->d,
                               .lo = o->lo,
                               .hi = o->hi};
        if (o->text || o->list) {
            assert(texts < OPTFILE_TEXTS);
            key.text = f->text[texts++];
            key.size = OPTFILE_TEXT;
            key.text[0] = '\0';
        } else if (!key.flag && !key.i && !key.u64 && !key.d) {
            continue;
        }
        optfile_add(&t, &key, o->name, '_');
        if (strchr(o->name, '-')) optfile_add(&t, &key, o->name, '-');
    }

    int rc = conf_read(path, t.key, e);
    if (rc) return rc;
    texts = 0;
    for (const struct opt *o = opts; o->name; o++) {
        if (strcmp(o->name, except) == 0 || (!o->text && !o->list)) continue;
        char *value = f->text[texts++];
        if (*value && o->text) *o->text = value;
        if (*value && o->list && (rc = optfile_split(o->list, value, path, o->name, e)))
            return rc;
    }
    return 0;
}
