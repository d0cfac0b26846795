// Nothing but the headers that tests/CMakeLists.txt has compiled beforehand: a target must have a
// source.
