// Reads what stands in a program or a library, as far as it tells which libzmq it uses.

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace command {

struct elf_facts {
    bool is_of_this_machine = false;  // class and processor
    bool has_interpreter = false;     // a program that the dynamic linker loads
    bool defines_zmq = false;         // it has zmq_ctx_new of its own
    bool is_zlink = false;            // and zlink_version
    bool needs_libzmq = false;        // it names libzmq.so.5
};

/// None where the file is no ELF, or cannot be read.
std::optional<elf_facts> facts_of_elf(const std::string &path);

/// The file that is executed for that name, looked for in PATH where there is no slash in it; none
/// where there is no such file.
std::optional<std::string> found_in_path(const std::string &program);

/// The file that the system runs for that one: itself, or of a script what its first line names,
/// also by way of env. None where that cannot be told, or where it is env that changes what is
/// loaded.
std::optional<std::string> file_that_runs(const std::string &path);

/// Whether the system ignores LD_PRELOAD for it: setuid, setgid, or with capabilities.
bool has_rights_of_its_own(const std::string &path);

/// The files of libzmq that a process has mapped; throws `failure` where it cannot be asked.
std::vector<std::string> libraries_of_process(const std::string &pid);

/// zlink's libzmq.so.5, for other programs: ZLINK_LIBRARY, or beside this one, or where it is
/// installed. Throws `failure` where there is none.
std::string library_of_zlink();

}  // namespace command
