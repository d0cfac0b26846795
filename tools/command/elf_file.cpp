#include "elf_file.hpp"

#include "failure.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

namespace command {

#if __SIZEOF_POINTER__ == 8
constexpr unsigned char own_class = ELFCLASS64;
using elf_header = Elf64_Ehdr;
using elf_program_header = Elf64_Phdr;
using elf_section_header = Elf64_Shdr;
using elf_symbol = Elf64_Sym;
#else
constexpr unsigned char own_class = ELFCLASS32;
using elf_header = Elf32_Ehdr;
using elf_program_header = Elf32_Phdr;
using elf_section_header = Elf32_Shdr;
using elf_symbol = Elf32_Sym;
#endif

/// The header of this very program, which the linker knows.
extern "C" const elf_header __ehdr_start __attribute__((visibility("hidden")));

namespace {

/// A file in memory, of which every place is looked at before it is used: it may be cut or forged.
class mapped_file {
public:
    explicit mapped_file(const std::string &path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat about {};
        if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
            void *place = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (place != MAP_FAILED) {
                octets_ = {static_cast<const char *>(place), static_cast<size_t>(about.st_size)};
            }
        }
        if (file >= 0) {
            close(file);
        }
    }
    ~mapped_file() {
        if (!octets_.empty()) {
            munmap(const_cast<char *>(octets_.data()), octets_.size());
        }
    }
    mapped_file(const mapped_file &) = delete;
    mapped_file &operator=(const mapped_file &) = delete;

    std::string_view piece(std::uint64_t at, std::uint64_t size) const {
        return at <= octets_.size() && size <= octets_.size() - at ? octets_.substr(at, size)
                                                                   : std::string_view();
    }

    /// The n-th record of a table; none where it does not lie within the file.
    template <typename Record>
    std::optional<Record> record(std::uint64_t table, std::uint64_t n) const {
        const std::string_view found = piece(table + n * sizeof(Record), sizeof(Record));
        if (found.empty()) {
            return std::nullopt;
        }
        Record read;
        std::memcpy(&read, found.data(), sizeof read);
        return read;
    }

private:
    std::string_view octets_;
};

void look_at_symbols(const mapped_file &file, const elf_section_header &table,
                     const elf_section_header &names, elf_facts &facts) {
    const std::string_view strings = file.piece(names.sh_offset, names.sh_size);
    for (std::uint64_t i = 0; i < table.sh_size / sizeof(elf_symbol); ++i) {
        const auto symbol = file.record<elf_symbol>(table.sh_offset, i);
        if (!symbol) {
            return;
        }
        if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= strings.size()) {
            continue;
        }
        std::string_view name = strings.substr(symbol->st_name);
        name = name.substr(0, name.find('\0'));
        facts.defines_zmq |= name == "zmq_ctx_new";
        facts.is_zlink |= name == "zlink_version";
    }
}

constexpr std::string_view blanks = " \t";
constexpr size_t longest_first_line = 255;  // the kernel reads no further

/// Takes the first word off a text.
std::string_view take_word(std::string_view &text) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

bool changes_what_is_loaded(std::string_view variable) {
    return variable == "PATH" || variable.rfind("LD_", 0) == 0 || variable.rfind("ZLINK_", 0) == 0;
}

/// The program that `env` starts for the arguments behind its -S; none where that cannot be told.
std::optional<std::string> program_of_split(std::string_view text) {
    for (bool may_be_flag = true;;) {
        const std::string_view word = take_word(text);
        const size_t equals = word.find('=');
        if (word.empty() || word.find_first_of("'\"\\$#") != std::string_view::npos) {
            return std::nullopt;
        }
        if (may_be_flag && word[0] == '-') {
            // Others clear the environment, change the folder, or take a word that follows.
            if (word != "--" && word != "-v" && word != "--debug") {
                return std::nullopt;
            }
            may_be_flag = word != "--";
        } else if (equals == std::string_view::npos) {
            return found_in_path(std::string(word));
        } else if (changes_what_is_loaded(word.substr(0, equals))) {
            return std::nullopt;
        } else {
            may_be_flag = false;
        }
    }
}

/// The program that `env` starts for the argument that the kernel hands it: all of the line in one.
std::optional<std::string> program_of_env(std::string_view argument) {
    for (const std::string_view flag : {"-S", "-vS", "--split-string="}) {
        if (argument.rfind(flag, 0) == 0) {
            return program_of_split(argument.substr(flag.size()));
        }
    }
    return argument[0] == '-' || argument.find('=') != std::string_view::npos
               ? std::nullopt
               : found_in_path(std::string(argument));
}

std::string own_folder() {
    std::array<char, PATH_MAX> path{};
    if (readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0) {
        // There is no /proc: the kernel has told how it was started.
        const auto *const started = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
        if (!started || !realpath(started, path.data())) {
            return {};
        }
    }
    const std::string own = path.data();
    return own.substr(0, own.rfind('/'));
}

}  // namespace

std::optional<elf_facts> facts_of_elf(const std::string &path) {
    const mapped_file file(path);
    const auto header = file.record<elf_header>(0, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
        return std::nullopt;
    }
    elf_facts facts;
    facts.is_of_this_machine =
        header->e_ident[EI_CLASS] == own_class && header->e_machine == __ehdr_start.e_machine;
    if (!facts.is_of_this_machine) {
        return facts;
    }
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        const auto segment = file.record<elf_program_header>(header->e_phoff, i);
        facts.has_interpreter |= segment && segment->p_type == PT_INTERP;
    }
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const auto section = file.record<elf_section_header>(header->e_shoff, i);
        if (!section) {
            break;
        }
        if (section->sh_type == SHT_DYNSYM || section->sh_type == SHT_SYMTAB) {
            if (const auto names = file.record<elf_section_header>(header->e_shoff, section->sh_link)) {
                look_at_symbols(file, *section, *names, facts);
            }
        } else if (section->sh_type == SHT_STRTAB) {
            const std::string_view strings = file.piece(section->sh_offset, section->sh_size);
            facts.needs_libzmq |=
                strings.find(std::string_view("\0libzmq.so.5\0", 13)) != std::string_view::npos;
        }
    }
    return facts;
}

std::optional<std::string> found_in_path(const std::string &program) {
    const auto is_program = [](const std::string &path) {
        struct stat about {};
        return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
    };
    if (program.find('/') != std::string::npos) {
        return access(program.c_str(), F_OK) == 0 ? std::optional(program) : std::nullopt;
    }
    const char *path = std::getenv("PATH");
    std::string_view folders = path ? path : "/bin:/usr/bin";
    while (true) {
        const size_t colon = folders.find(':');
        const std::string_view folder = folders.substr(0, colon);
        const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, program);
        if (is_program(candidate)) {
            return candidate;
        }
        if (colon == std::string_view::npos) {
            return std::nullopt;
        }
        folders.remove_prefix(colon + 1);
    }
}

std::optional<std::string> file_that_runs(const std::string &program) {
    std::string path = program;
    for (int depth = 0; depth < 5; ++depth) {  // the kernel goes no deeper
        std::ifstream file(path, std::ios::binary);
        std::string line;
        if (!file || file.get() != '#' || file.get() != '!' || !std::getline(file, line)) {
            return path;
        }
        std::string_view rest = line;
        path = take_word(rest);
        if (path.empty() || line.size() + 2 > longest_first_line) {
            return std::nullopt;
        }
        rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
        rest = rest.substr(0, rest.find_last_not_of(blanks) + 1);
        if (path.size() > 4 && path.substr(path.size() - 4) == "/env") {
            const auto named = rest.empty() ? std::nullopt : program_of_env(rest);
            if (!named) {
                return std::nullopt;
            }
            path = *named;
        }
    }
    return path;
}

bool has_rights_of_its_own(const std::string &path) {
    struct stat about {};
    return stat(path.c_str(), &about) == 0 && ((about.st_mode & (S_ISUID | S_ISGID)) != 0 ||
                                               getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

std::vector<std::string> libraries_of_process(const std::string &pid) {
    std::ifstream maps("/proc/" + pid + "/maps");
    if (!maps) {
        throw failure(status::other, fmt::format("process {}: {}", pid, std::strerror(errno)));
    }
    std::vector<std::string> paths;
    for (std::string line; std::getline(maps, line);) {
        const size_t at = line.find('/');
        const std::string path = at == std::string::npos ? "" : line.substr(at);
        if (path.substr(path.rfind('/') + 1).rfind("libzmq", 0) == 0 &&
            (paths.empty() || paths.back() != path)) {
            paths.push_back(path);
        }
    }
    return paths;
}

std::string library_of_zlink() {
    const std::string own = own_folder();
    const char *named = std::getenv("ZLINK_LIBRARY");
    const std::string multiarch = ZLINK_MULTIARCH;
    for (const std::string &candidate :
         {std::string(named ? named : ""), own + "/../lib/libzmq.so.5",
          own + "/../lib/" + multiarch + "/zlink/libzmq.so.5", own + "/../lib/" + multiarch + "/libzmq.so.5",
          own + "/libzmq.so.5", std::string(ZLINK_INSTALLED_LIBRARY)}) {
        std::array<char, PATH_MAX> whole{};
        // The name stays libzmq.so.5, so that what looks for this name finds it.
        const std::string folder = candidate.substr(0, candidate.rfind('/'));
        const auto facts = facts_of_elf(candidate);
        if (facts && facts->is_zlink && realpath(folder.c_str(), whole.data())) {
            return whole.data() + candidate.substr(candidate.rfind('/'));
        }
    }
    throw failure(status::other, "zlink's libzmq.so.5 is not found; ZLINK_LIBRARY may name it");
}

}  // namespace command
