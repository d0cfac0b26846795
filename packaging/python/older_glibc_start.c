/* How a program begins that is to run on a GLIBC older than 2.34 (older_glibc.py). Since then the C library itself calls what a program has to do
   before main; until then the program told it what. It is still heeded. */
#include <stddef.h>

#if defined __x86_64__
#define OF_THEN "GLIBC_2.2.5"
#else
#define OF_THEN "GLIBC_2.17"
#endif

typedef int main_function(int, char **, char **);
typedef void step(int, char **, char **);

int start_of_then(main_function *, int, char **, step *, void (*)(void), void (*)(void), void *);
__asm__(".symver start_of_then, __libc_start_main@" OF_THEN);

/* The linker's. */
extern step *const first_steps[] __asm__("__init_array_start") __attribute__((visibility("hidden")));
extern step *const behind_them[] __asm__("__init_array_end") __attribute__((visibility("hidden")));
void _init(void);

static void prepare(int count, char **arguments, char **environment) {
    _init();
    for (step *const *next = first_steps; next != behind_them; ++next)
        (*next)(count, arguments, environment);
}

/* Takes the place of the C library's, for this program alone. */
__attribute__((visibility("hidden"))) int __libc_start_main(main_function *entry, int count, char **arguments, step *none, void (*end)(void),
                                                            void (*end_of_linker)(void), void *stack) {
    (void)none;
    return start_of_then(entry, count, arguments, prepare, end, end_of_linker, stack);
}
