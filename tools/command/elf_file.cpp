#include "elf_file.hpp"

#include "failure.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

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

namespace {

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

std::string found_in_path(const std::string &program) {
    if (program.find('/') != std::string::npos) {
        return program;
    }
    const char *path = std::getenv("PATH");
    std::string_view folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    while (true) {
        const size_t colon = folders.find(':');
        const std::string candidate = fmt::format("{}/{}", folders.substr(0, colon), program);
        struct stat about {};
        if (access(candidate.c_str(), X_OK) == 0 && stat(candidate.c_str(), &about) == 0 &&
            S_ISREG(about.st_mode)) {
            return candidate;
        }
        if (colon == std::string_view::npos) {
            throw failure(status::other, fmt::format("{}: there is no such program", program));
        }
        folders.remove_prefix(colon + 1);
    }
}

std::string own_folder() {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
    const std::string own(path.data(), size > 0 ? static_cast<size_t>(size) : 0);
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
    const mapped_file self("/proc/self/exe");
    const auto own = self.record<elf_header>(0, 0);
    facts.is_of_this_machine =
        header->e_ident[EI_CLASS] == own_class && own && header->e_machine == own->e_machine;
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

std::string file_that_runs(const std::string &program) {
    std::string path = found_in_path(program);
    for (int depth = 0; depth < 5; ++depth) {  // the kernel goes no deeper
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            throw failure(status::other, fmt::format("{}: {}", path, std::strerror(errno)));
        }
        std::string line;
        if (file.get() != '#' || file.get() != '!' || !std::getline(file, line)) {
            return path;
        }
        const std::string blanks = " \t\r";
        const size_t begin = line.find_first_not_of(blanks);
        const size_t end = line.find_first_of(blanks, begin);
        if (begin == std::string::npos) {
            return path;
        }
        path = line.substr(begin, end - begin);
        const size_t next = line.find_first_not_of(blanks, end);
        if (path.size() > 4 && path.substr(path.size() - 4) == "/env" && next != std::string::npos) {
            path = found_in_path(line.substr(next, line.find_first_of(blanks, next) - next));
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
