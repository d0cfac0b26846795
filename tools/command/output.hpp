// Makes octets on stdout of messages, and messages of octets on stdin.

#pragma once

#include "sockets.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace command {

enum class format_kind { raw, line, quoted, hex, json, msgpack };

struct format_flags {
    format_kind kind = format_kind::line;
    std::optional<format_kind> input_kind;  // of what is sent, where it is not the same
    std::string custom;                     // of -F
    bool is_nul_ended = false;
    std::string separator;   // between the parts of a line
    bool has_id = false;     // the first part is the routing id of a ROUTER
    bool has_topic = false;  // the first part is what a SUB goes by
    bool is_for_terminal = false;
};

void add_format_flags(CLI::App &app, format_flags &flags, bool has_output);

/// The octets that are written for a message, its end included.
std::string formatted(const message &got, const format_flags &flags);

/// The parts of a piece of the input; throws `failure` where it cannot be understood.
std::vector<std::string> parts_of_input(const std::string &piece, const format_flags &flags);

/// Those of a message of the command line: beside JSON it may be a plain text.
std::vector<std::string> parts_of_argument(const std::string &text, const format_flags &flags);

/// Stdout: line by line to a terminal, otherwise by blocks, and what is left when it is asked.
class output {
public:
    explicit output(int descriptor = 1);
    bool is_terminal() const { return is_terminal_; }
    void write(const std::string &octets);
    void flush();

private:
    int descriptor_;
    bool is_terminal_;
    std::string waiting_;
};

/// Stdin, cut at newlines, at NULs, behind each object of MessagePack, or not at all.
class input {
public:
    explicit input(const format_flags &flags, int descriptor = 0) : flags_(flags), descriptor_(descriptor) {}

    int descriptor() const { return descriptor_; }
    bool has_ended() const { return has_ended_ && !has_piece(); }
    bool has_piece() const;
    std::string take_piece();

    /// Reads once; waits for it where nothing is there.
    void read_more();

private:
    format_kind kind() const { return flags_.input_kind.value_or(flags_.kind); }
    bool is_whole() const { return kind() == format_kind::raw && !flags_.is_nul_ended; }
    std::string_view rest() const { return std::string_view(octets_).substr(begin_); }
    char delimiter() const { return flags_.is_nul_ended ? '\0' : '\n'; }

    const format_flags &flags_;
    int descriptor_;
    std::string octets_;
    size_t begin_ = 0;
    mutable size_t searched_ = 0;  // no delimiter stands before it
    bool has_ended_ = false;
    bool whole_is_taken_ = false;
};

}  // namespace command
