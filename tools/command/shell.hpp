// Other programs.

#pragma once

#include <optional>
#include <string>

namespace command {

/// What a command of the shell writes when it reads that. Nothing where something can be read from
/// `interrupted` before: the command is ended then, and all that it has begun. Throws `failure`
/// where it cannot be run.
std::optional<std::string> output_of_shell(const std::string &line, const std::string &octets,
                                           int interrupted);

}  // namespace command
