// A time limit in the session's own data; see tls_resumption.hpp.
#include "transport/tls_resumption.hpp"

#include <algorithm>
#include <cstring>

namespace zlink {

std::time_t wall_time() noexcept { return std::time(nullptr); }

std::time_t seconds_of(const ASN1_TIME *when) noexcept {
    std::tm parts{};
    return ASN1_TIME_to_tm(when, &parts) == 1 ? ::timegm(&parts) : 0;
}

namespace resumption_limit {

std::time_t after(const STACK_OF(X509) * chain, std::time_t lists_end, std::time_t now) noexcept {
    std::time_t limit = std::min(lists_end, now + longest_chain);
    for (int i = 0; i < sk_X509_num(chain); ++i)
        limit = std::min(limit, seconds_of(X509_get0_notAfter(sk_X509_value(chain, i))));
    return limit;
}

void note(SSL_SESSION *session, std::time_t limit) noexcept {
    (void)SSL_SESSION_set1_ticket_appdata(session, &limit, sizeof limit);
}

bool has_come(SSL_SESSION *session, std::time_t now) noexcept {
    void *octets = nullptr;
    std::size_t size = 0;
    std::time_t limit = 0;
    if (SSL_SESSION_get0_ticket_appdata(session, &octets, &size) != 1 || size != sizeof limit)
        return true;
    std::memcpy(&limit, octets, sizeof limit);
    return now > limit;
}

}  // namespace resumption_limit

}  // namespace zlink
