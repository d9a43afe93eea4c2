/* mpd.c - ladder and chunk sizes from a DASH manifest (ISO/IEC 23009-1). With its mpd_*
 * sources the one place that knows libxml2, which is called without network, entities or
 * external documents; a document type declaration ends the parsing where it stands, before any
 * entity of it is looked at. */
#include "mpd_priv.h"
#include "video_priv.h"

#include "base/text.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

static bool is_video(const xmlNode *set)
{
    char type[64] = "";
    if (mpd_attribute(type, sizeof type, set, "contentType"))
        return !strcmp(type, "video");
    const xmlNode *r = mpd_child(set, "Representation");
    bool known = mpd_attribute(type, sizeof type, set, "mimeType") ||
                 (r && mpd_attribute(type, sizeof type, r, "mimeType"));
    return known && !strncmp(type, "video/", 6);
}

/* Levels are found in the first set of video; other sets are other codecs or views. */
static int read_set(struct mpd *m, struct segments *out, struct mpd_chain *c,
                    double total_s, struct err *e)
{
    const xmlNode *set = c->at[c->n - 1];
    for (const xmlNode *r = mpd_child(set, "Representation"); r;
         r = mpd_named(r->next, "Representation")) {
        c->at[c->n++] = r;
        int rc = mpd_read_segments(m, out, c, total_s, e);
        c->n--;
        if (rc) return rc;
    }
    if (out->levels >= 2) return 0;
    return text_refuse(m->name, mpd_line(set), ERR_RANGE, e,
                       "%d Representations of video, 2 needed", out->levels);
}

/* A Period's length: what it says, until the next one begins, or to the end of all; <= 0 when
 * it is unknown. */
static int read_length(double *out, const struct mpd *m, const xmlNode *root,
                       const xmlNode *period, struct err *e)
{
    char text[64], next_at[64];
    const xmlNode *next = mpd_named(period->next, "Period");
    *out = 0.0;
    if (mpd_attribute(text, sizeof text, period, "duration")) {
        *out = mpd_seconds(text);
    } else {
        bool begins = mpd_attribute(text, sizeof text, period, "start");
        double start_s = begins ? mpd_seconds(text) : 0.0;
        bool ends = next ? mpd_attribute(next_at, sizeof next_at, next, "start")
                         : mpd_attribute(next_at, sizeof next_at, root,
                                         "mediaPresentationDuration");
        if (!ends) return 0;
        snprintf(text, sizeof text, "%s", next_at);
        *out = mpd_seconds(text) - start_s;
    }
    if (*out > 0.0) return 0;
    return text_refuse(m->name, mpd_line(next ? period : root), ERR_INVALID, e,
                       "'%s' is not a duration above 0", text);
}

static int read_period(struct mpd *m, struct segments *out, const xmlNode *root,
                       const xmlNode *period, struct err *e)
{
    double total_s;
    int rc = read_length(&total_s, m, root, period, e);
    if (rc) return rc;
    const xmlNode *set = mpd_child(period, "AdaptationSet");
    while (set && !is_video(set))
        set = mpd_named(set->next, "AdaptationSet");
    if (!set)
        return text_refuse(m->name, mpd_line(period), ERR_ABSENT, e,
                           "no AdaptationSet of video");
    struct mpd_chain c = {{root, period, set}, 3};
    rc = read_set(m, out, &c, total_s, e);
    segments_sort(out);
    return rc;
}

/* Periods follow each other in time. */
static int read_document(struct mpd *m, struct segments *out, const xmlDoc *doc,
                         struct err *e)
{
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (!root || !mpd_named(root, "MPD"))
        return text_refuse(m->name, mpd_line(root), ERR_INVALID, e, "is not a DASH MPD");
    const xmlNode *period = mpd_child(root, "Period");
    if (!period)
        return text_refuse(m->name, mpd_line(root), ERR_INVALID, e, "has no Period");
    int rc = read_period(m, out, root, period, e);
    while (!rc && (period = mpd_named(period->next, "Period"))) {
        struct segments more = {.name = m->name};
        rc = read_period(m, &more, root, period, e);
        if (!rc) rc = segments_append(out, &more, e);
        segments_free(&more);
    }
    return rc;
}

/* Called where a document type declaration begins. */
static void refuse_doctype(void *ctx, const xmlChar *name, const xmlChar *external,
                           const xmlChar *system)
{
    (void)name;
    (void)external;
    (void)system;
    xmlParserCtxt *parser = ctx;
    parser->_private = parser;
    xmlStopParser(parser);
}

static int refuse_xml(const char *name, xmlParserCtxt *parser, struct err *e)
{
    if (parser->_private)
        return text_refuse(name, xmlSAX2GetLineNumber(parser), ERR_INVALID, e,
                           "has a document type declaration, which no manifest needs");
    const xmlError *why = xmlCtxtGetLastError(parser);
    const char *said = why && why->message ? why->message : "empty";
    return text_refuse(name, why ? why->line : 1, ERR_INVALID, e, "not XML: %.*s",
                       (int)strcspn(said, "\n"), said);
}

struct video *mpd_read_video(const char *text, size_t len, const char *name,
                             const struct segments_source *source,
                             const struct video_cfg *cfg, struct err *e)
{
    /* libxml2 is asked not to print; what it found last is kept in its own context */
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser) {
        err_set(e, ERR_MEMORY, "no memory to parse XML");
        return NULL;
    }
    parser->sax->internalSubset = refuse_doctype;
    xmlDoc *doc = xmlCtxtReadMemory(parser, text, (int)len, NULL, NULL,
                                    XML_PARSE_NONET | XML_PARSE_NOERROR |
                                        XML_PARSE_NOWARNING | XML_PARSE_NOCDATA);
    struct video *v = NULL;
    struct mpd m = {.name = name, .source = source, .chunks = cfg->chunks};
    struct segments list = {.name = name};
    if (!doc || parser->_private)
        refuse_xml(name, parser, e);
    else if (!read_document(&m, &list, doc, e))
        v = segments_video(&list, source, e);

    segments_free(&list);
    free(m.times.start);
    free(m.times.duration);
    if (doc) xmlFreeDoc(doc);
    xmlFreeParserCtxt(parser);
    return v;
}
