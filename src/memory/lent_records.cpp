// Magazines of records, after Bonwick's vmem paper; see lent_records.hpp.
//
// Order:    magazines; the depot that all threads share; what each thread holds; allocating and
//           releasing.
#include "memory/lent_records.hpp"

#include <array>
#include <new>
#include <utility>

#include "memory/of_thread.hpp"
#include "memory/process.hpp"

namespace zlink::lent_records {

namespace {

constexpr std::size_t records_of_magazine = 62;  // 512 octets with the rest
// Full ones that no thread holds: 190 KiB of records.
constexpr std::size_t most_magazines = 64;

struct magazine {
    std::size_t count = 0;
    magazine *next = nullptr;
    std::array<void *, records_of_magazine> records;

    bool is_full() const noexcept { return count == records_of_magazine; }
};

void destroy(magazine *m) noexcept {
    if (!m)
        return;
    while (m->count > 0)
        ::operator delete(m->records[--m->count]);
    delete m;
}

/// The magazines that no thread holds. The heap is called without the lock.
class depot {
public:
    /// Takes `given`, which is empty, and may be null, for a full one. Null, and nothing taken,
    /// when there is none.
    magazine *full_for(magazine *given) noexcept {
        const holding mine;
        if (!full_)
            return nullptr;
        --full_count_;
        magazine *result = std::exchange(full_, full_->next);
        if (given)
            given->next = std::exchange(empty_, given);
        return result;
    }
    /// Takes `given`, which is full, and may be null, for an empty one. Null, and nothing taken,
    /// when memory is short, or there are enough full ones.
    magazine *empty_for(magazine *given) noexcept {
        if (magazine *found = take_empty(given, nullptr))
            return found;
        auto *made = new (std::nothrow) magazine;
        magazine *found = made ? take_empty(given, made) : nullptr;
        if (!found)
            delete made;
        return found;
    }

    std::size_t full_count() noexcept {
        const holding mine;
        return full_count_;
    }

private:
    /// When threads are simulated, they change places when a mutex is locked, and would share what
    /// the thread holds.
    class holding {
    public:
        holding() noexcept {
            if (!platform::locks.lent_records.try_lock())
                platform::locks.lent_records.lock();
        }
        ~holding() { platform::locks.lent_records.unlock(); }
        holding(const holding &) = delete;
        holding &operator=(const holding &) = delete;
    };

    /// Takes an empty record, or `made` where there is none.
    magazine *take_empty(magazine *given, magazine *made) noexcept {
        const holding mine;
        if ((given && full_count_ == most_magazines) || (!empty_ && !made))
            return nullptr;
        magazine *result = made ? made : std::exchange(empty_, empty_->next);
        if (given) {
            given->next = std::exchange(full_, given);
            ++full_count_;
        }
        return result;
    }

    // Guarded by that lock
    magazine *full_ = nullptr;
    magazine *empty_ = nullptr;
    std::size_t full_count_ = 0;
};

constinit depot shared;

/// The stock of one thread: two magazines, so that one who makes and drops in turn does not go to
/// the depot each time. Used until the very end of the thread, when the destructors of others may
/// still drop bodies.
struct holder {
    magazine *current = nullptr;
    magazine *other = nullptr;
    bool is_over = false;

    void *take() noexcept {
        if (current && current->count > 0)
            return current->records[--current->count];
        if (other && other->count > 0)
            std::swap(current, other);
        else if (magazine *full = may_hold() ? shared.full_for(current) : nullptr)
            current = full;
        else
            return nullptr;
        return current->records[--current->count];
    }
    bool put(void *record) noexcept {
        if (!current || current->is_full()) {
            if (other && !other->is_full())
                std::swap(current, other);
            else if (magazine *empty = may_hold() ? shared.empty_for(other) : nullptr) {
                other = current;
                current = empty;
            } else
                return false;
        }
        current->records[current->count++] = record;
        return true;
    }
    bool may_hold() noexcept;
    void end() noexcept {
        is_over = true;
        destroy(std::exchange(current, nullptr));
        destroy(std::exchange(other, nullptr));
    }
};

constinit thread_local holder mine;
constinit thread_local end_of_thread::duty end_of_mine{[]() noexcept { mine.end(); }};

/// Each thread keeps to the heap where fork() takes no locks: a child might find this one taken for
/// ever.
bool holder::may_hold() noexcept {
    return !is_over && platform::facts.has_locks && end_of_thread::awaits(end_of_mine);
}

}  // namespace

void *allocate() noexcept {
    void *record = mine.take();
    return record ? record : ::operator new(record_size, std::nothrow);
}

void release(void *record) noexcept {
    if (!mine.put(record))
        ::operator delete(record);
}

std::size_t idle_octets() noexcept { return shared.full_count() * records_of_magazine * record_size; }

}  // namespace zlink::lent_records
