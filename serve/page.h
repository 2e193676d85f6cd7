/* The page that GET / shows: page.html, as a string. Not a public header. */
#ifndef HR_SERVE_PAGE_H
#define HR_SERVE_PAGE_H

extern const char hr__serve_page[];

#endif
