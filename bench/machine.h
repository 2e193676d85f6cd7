/* The line of the results that describes the machine. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

/* Prints it: processor, how many there are and how many the control group gives (0: all), caches, and how fast the
 * system copies files of `folder` from its cache. Warns on standard error of what would falsify figures. */
void print_machine(const char *folder);

#endif
