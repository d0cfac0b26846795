// Requests and replies of ZAP, frame by frame. See zap.hpp.
//
// Map: the frames of a request; a reply, checked frame by frame in their order.
#include "zmtp/zap.hpp"

#include "zmtp/command.hpp"
#include "zmtp/failure.hpp"

namespace zlink::zap {

namespace {

constexpr std::string_view version = "1.0";
constexpr std::size_t longest_user_id = 255;

verdict unusable(protocol_error detail) {
    verdict out;
    out.what = verdict::kind::unusable;
    out.detail = detail;
    return out;
}

/// 0 for what is no status code.
int parse_status(std::string_view text) noexcept {
    for (const int known : {200, 300, 400, 500})
        if (text.size() == 3 && text[0] == '0' + known / 100 && text.substr(1) == "00")
            return known;
    return 0;
}

}  // namespace

std::vector<std::string_view> frames_of(const authentication_request &what) {
    std::vector<std::string_view> out{"",           version,         request_id,          what.domain,
                                      what.address, what.routing_id, what.shown.mechanism};
    out.insert(out.end(), what.shown.items.begin(), what.shown.items.end());
    return out;
}

verdict read_reply(const std::vector<byte_span> &frames) {
    if (frames.size() != frames_of_reply || !frames[0].empty())
        return unusable(protocol_errors::zap_malformed_reply);
    if (as_text(frames[1]) != version)
        return unusable(protocol_errors::zap_bad_version);
    if (as_text(frames[2]) != request_id)
        return unusable(protocol_errors::zap_bad_request_id);
    const int status = parse_status(as_text(frames[3]));
    if (status == 0)
        return unusable(protocol_errors::zap_invalid_status_code);
    if (frames[5].size() > longest_user_id)
        return unusable(protocol_errors::zap_malformed_reply);
    property_list properties;
    if (!parse_properties(frames[6], properties))
        return unusable(protocol_errors::zap_invalid_metadata);
    verdict out;
    out.what = status == 200 ? verdict::kind::accepted : verdict::kind::refused;
    out.status = status;
    out.user_id = as_text(frames[5]);
    for (const auto &[name, value] : properties)
        out.metadata.emplace_back(name, as_text(value));
    return out;
}

}  // namespace zlink::zap
