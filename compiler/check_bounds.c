#include "check_internal.h"
bool bounds_prove(struct checker *c, const struct value *v, int axis, const char **why) { (void)c,(void)v,(void)axis; *why=""; return true; }
