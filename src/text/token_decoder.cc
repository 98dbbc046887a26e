#include "text/token_decoder.h"

#include "text/byte_level.h"

namespace firebrick {
namespace {

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t pos = 0;
  for (size_t found = text.find(from); found != std::string_view::npos; found = text.find(from, pos)) {
    out += text.substr(pos, found - pos);
    out += to;
    pos = found + from.size();
  }
  out += text.substr(pos);
  return out;
}

}  // namespace

TokenDecoder TokenDecoder::Build(const Vocabulary& vocabulary, DecoderOptions options) {
  TokenDecoder decoder;
  decoder.options_ = std::move(options);
  decoder.offsets_.reserve(static_cast<size_t>(vocabulary.size()) + 1);
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    decoder.offsets_.push_back(decoder.arena_.size());
    const std::string_view text = vocabulary.Text(id);
    if (decoder.options_.byte_fallback) {
      const auto byte = ParseByteToken(text);
      decoder.bytes_.push_back(byte.has_value() ? static_cast<int16_t>(*byte) : int16_t{-1});
    }
    decoder.arena_ += decoder.PieceOf(text, false);
  }
  decoder.offsets_.push_back(decoder.arena_.size());
  return decoder;
}

std::string TokenDecoder::FirstPiece(int32_t id, const Vocabulary& vocabulary) const {
  return options_.drop_in_first.empty() ? std::string(Piece(id)) : PieceOf(vocabulary.Text(id), true);
}

std::string TokenDecoder::PieceOf(std::string_view text, bool is_first) const {
  if (options_.kind == DecoderOptions::Kind::kByteLevel)
    return FromByteLevel(text).value_or(std::string(text));
  std::string piece(text);
  if (is_first && !options_.drop_in_first.empty()) piece = ReplaceAll(piece, options_.drop_in_first, "");
  for (const auto& [from, to] : options_.replacements) piece = ReplaceAll(piece, from, to);
  return piece;
}

}  // namespace firebrick
