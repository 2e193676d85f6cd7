/* The page of GET /, as it lies beside this file. The build makes page.inc of it. */
#include "serve/page.h"

const char hr__serve_page[] =
#include "page.inc"
    ;
