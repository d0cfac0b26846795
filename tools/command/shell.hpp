// Other programs.

#pragma once

#include <string>

namespace command {

/// What a command of the shell writes when it reads that. Throws `failure` where it cannot be run.
std::string output_of_shell(const std::string &line, const std::string &octets);

}  // namespace command
