// Pages of the manual, made of what the parser knows.

#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace command {

/// zlink(1) for an empty name, otherwise zlink-NAME(1).
std::string manual_page(CLI::App &root, CLI::App &about);

}  // namespace command
