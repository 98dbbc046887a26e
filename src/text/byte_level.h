// The byte-level alphabet (GPT-2): each byte is written as one printable character, so that vocabularies are
// text. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace firebrick {

// Appends the character that stands for `byte`.
void AppendByteLevel(unsigned char byte, std::string* out);
std::string ToByteLevel(std::string_view bytes);
// The bytes that a text in the alphabet stands for; nullopt where a character is not of the alphabet.
std::optional<std::string> FromByteLevel(std::string_view text);

// "<0x0A>" → 10; nullopt for any other text.
std::optional<uint8_t> ParseByteToken(std::string_view text);
std::string ByteToken(uint8_t byte);

}  // namespace firebrick
