// The policy that a process is under, as its file has it now.
//
// File:     looked at, with the others that it names, by whoever binds or connects, and then once a
//           second by a thread of the policy's own. A file that has changed is read whole or not at
//           all: one that cannot be used refuses everything, until it can.
// Threads:  any. A look may wait for the disk, so it belongs to threads of the application and to
//           that thread; an I/O thread asks standing::holds(), which goes by what was read last.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/standing.hpp"
#include "policy/terms.hpp"

namespace zlink {

class policy {
public:
    /// `on_change` comes on the policy's thread, when what the file says has changed or it has come
    /// to be of no use. Throws std::bad_alloc.
    policy(std::string path, std::function<void()> on_change);
    /// on_change is not called afterwards.
    ~policy();
    policy(const policy &) = delete;
    policy &operator=(const policy &) = delete;

    /// Looks at the file. False where it is refused: `why`, with the file in front and, of an
    /// entry, its line. `lasts` tells from then on whether the same would be granted. Throws
    /// std::bad_alloc, and std::system_error where there can be no thread.
    bool judge(const endpoint_request &what, const settings &program, endpoint_terms &out,
               std::shared_ptr<standing> &lasts, std::string &why);

    /// Whether there is a usable file at `path`; if not, `why`.
    static bool is_usable(const std::string &path, std::string &why);

private:
    struct state;
    class admitted;
    class lasting;
    const std::shared_ptr<state> state_;
};

}  // namespace zlink
