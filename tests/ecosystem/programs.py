"""The table of programs, in the order in which they run."""

import debian_programs
import native_programs
import python_programs
import wire_programs

PROGRAMS = [*python_programs.PROGRAMS, *native_programs.PROGRAMS, *debian_programs.PROGRAMS, *wire_programs.PROGRAMS]
