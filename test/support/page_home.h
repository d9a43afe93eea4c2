/* page_home.h - a home of the program with stand-ins for the parts of a page (cli/page.h), so that
 * nothing has to be fetched. */
#ifndef TEST_PAGE_HOME_H
#define TEST_PAGE_HOME_H

/* A fresh folder that ABRD_HOME names, removed at exit. */
const char *page_home_new(void);

#endif
