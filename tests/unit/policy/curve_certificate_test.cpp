// Certificates of CURVE, as CZMQ and pyzmq write them. Pure.
#include "policy/curve_certificate.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

// The pair of zmq_curve(7).
const std::string public_key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
                  secret_key = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

std::string of_czmq(const std::string &keys) {
    return "#   ****  Generated on 2026-11-27 11:09:18 by CZMQ  ****\n#   ZeroMQ CURVE Certificate\n\n"
           "metadata\n    name = \"alice\"\n    role = boss\ncurve\n" +
           keys;
}
std::string line_of(const std::string &name, const std::string &key) {
    return "    " + name + " = \"" + key + "\"\n";
}

std::string fault_of_certificate(const std::string &text) {
    curve_certificate out;
    std::string why;
    EXPECT_FALSE(read_curve_certificate(text, "/c", out, why)) << text;
    return why;
}

TEST(curve_certificate, has_a_public_key) {
    curve_certificate out;
    std::string why;
    ASSERT_TRUE(read_curve_certificate(of_czmq(line_of("public-key", public_key)), "/c", out, why)) << why;
    EXPECT_EQ(out.public_key.substr(0, 4), "\x54\xfc\xba\x24");
    EXPECT_EQ(out.public_key.size(), 32u);
    EXPECT_TRUE(out.secret_key.empty());
    ASSERT_TRUE(
        read_curve_certificate("curve\r\n\tpublic-key='" + public_key + "'  # ours\r\n", "/c", out, why))
        << why;
    ASSERT_TRUE(read_curve_certificate("curve\n public-key=" + public_key, "/c", out, why)) << why;
}

#ifdef ZLINK_WITH_CURVE
TEST(curve_certificate, has_both_keys_that_belong_together) {
    curve_certificate out;
    std::string why;
    const std::string both = line_of("public-key", public_key) + line_of("secret-key", secret_key);
    ASSERT_TRUE(read_curve_certificate(of_czmq(both), "/c", out, why)) << why;
    EXPECT_EQ(out.secret_key.size(), 32u);
    EXPECT_EQ(std::string_view(out.secret_key).substr(0, 4), "\x8e\x0b\xdd\x69");
    const std::string others = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
    EXPECT_EQ(
        fault_of_certificate(of_czmq(line_of("public-key", others) + line_of("secret-key", secret_key))),
        "/c:9: its public-key is not that of its secret-key");
}
#endif

TEST(curve_certificate, that_is_none_is_refused_with_the_line) {
    EXPECT_EQ(fault_of_certificate(""), "/c:1: it holds no public-key in a section curve");
    EXPECT_EQ(fault_of_certificate("metadata\n    public-key = \"" + public_key + "\"\n"),
              "/c:2: it holds no public-key in a section curve");
    EXPECT_EQ(fault_of_certificate(of_czmq(line_of("secret-key", secret_key))),
              "/c:8: it holds no public-key in a section curve");
    const std::string no_section = "a section is expected, metadata or curve, at the begin of a line";
    EXPECT_EQ(fault_of_certificate("    public-key = \"" + public_key + "\"\n"), "/c:1: " + no_section);
    EXPECT_EQ(fault_of_certificate("-----BEGIN CERTIFICATE-----\n"), "/c:1: " + no_section);
    EXPECT_EQ(fault_of_certificate(of_czmq(line_of("public_key", public_key))),
              "/c:8: public-key or secret-key is expected");
    EXPECT_EQ(
        fault_of_certificate(of_czmq(line_of("public-key", public_key) + line_of("public-key", public_key))),
        "/c:9: this key stands there twice");
    for (const std::string &key : {std::string(), public_key.substr(1), public_key + "0",
                                   std::string(40, '~'), std::string(40, '#'), public_key + "\" \"x"})
        EXPECT_EQ(fault_of_certificate(of_czmq(line_of("public-key", key))),
                  "/c:8: a key of 40 characters of Z85 is expected")
            << key;
}

}  // namespace
}  // namespace zlink
