// Each of these adds one subcommand, or a family of them, to the parser. Its callback puts what is
// to be done into `chosen`.

#pragma once

#include "arguments.hpp"

namespace command {

void add_patterns(CLI::App &root, action &chosen);
void add_probe(CLI::App &root, action &chosen);
void add_keygen(CLI::App &root, action &chosen);
void add_run(CLI::App &root, action &chosen);
void add_stats(CLI::App &root, action &chosen);
void add_top(CLI::App &root, action &chosen);
void add_bench(CLI::App &root, action &chosen);
void add_dump(CLI::App &root, action &chosen);
void add_doctor(CLI::App &root, action &chosen);
void add_proxy(CLI::App &root, action &chosen);
void add_completion(CLI::App &root, action &chosen);
void add_version(CLI::App &root, action &chosen);
void add_help(CLI::App &root, action &chosen);

}  // namespace command
