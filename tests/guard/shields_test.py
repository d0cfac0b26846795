"""Looks whether the library makes a system call where a thread of the application's, cancelled in it, would end the process.

  shields_test.py LIBRARY PROGRAM...

LIBRARY is shields_library.cpp, which the programs run with; each of them ends there if so. A PROGRAM of several files' tests has
" --of=FILE" behind it.
"""

import os
import subprocess
import sys

LONGEST_RUN_S = 100


def is_shielded(library, program):
    """Runs the program; False when it ended badly."""
    path, _, tests = program.partition(" --of=")
    done = subprocess.run([path, "--gtest_brief=1", "--of=" + tests], env=dict(os.environ, LD_PRELOAD=library), timeout=LONGEST_RUN_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print("%-40s %s" % (os.path.basename(program), "well" if done.returncode == 0 else "status %d" % done.returncode), flush=True)
    if done.returncode != 0:
        print(done.stdout[-4000:])
    return done.returncode == 0


def main():
    library, programs = sys.argv[1], sys.argv[2:]
    results = [is_shielded(library, program) for program in programs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
