/* What a picture and the page around it share. */
#ifndef CLI_EXPLAIN_SVG_H
#define CLI_EXPLAIN_SVG_H

#include "cli/explain.h"

/* The colours and the picture's rules; for inside of <style>. */
void explain_css(struct text *text);
/* The mark of a style, with its middle there. */
void explain_mark(enum explain_style style, int x, int y, struct text *text);

#endif
