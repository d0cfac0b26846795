// Other programs.

#pragma once

#include <optional>
#include <string>

namespace command {

/// Returns what a command of the shell writes when it reads that. Nothing where a signal can be
/// read from `interrupted` before: the command is ended then, with what it has begun, and the
/// signal can still be read. A second one does not wait until the command has ended in peace.
/// Throws `failure` where it cannot be run.
std::optional<std::string> output_of_shell(const std::string &line, const std::string &octets,
                                           int interrupted);

}  // namespace command
