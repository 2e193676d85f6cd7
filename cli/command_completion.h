/* The scripts of `headrace completion`, one a shell, all made from the descriptors. */
#ifndef COMPLETION_H
#define COMPLETION_H

void print_bash_completion(void);
void print_zsh_completion(void);
void print_fish_completion(void);

#endif
