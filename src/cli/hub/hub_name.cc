#include "cli/hub/hub_name.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/ranges.h>
#include <fnmatch.h>

namespace firebrick {
namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxPartBytes = 255;
constexpr size_t kShownFiles = 12;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "model-00002-of-00003.gguf" without its number, so that all parts of a split file have one stem.
std::string SplitStem(std::string_view file) {
  constexpr std::string_view kMask = "-#####-of-#####.gguf";
  const auto fits = [](char c, char mask) { return mask == '#' ? c >= '0' && c <= '9' : c == mask; };
  if (file.size() <= kMask.size()) return std::string(file);
  const std::string_view tail = file.substr(file.size() - kMask.size());
  if (!std::equal(tail.begin(), tail.end(), kMask.begin(), fits)) return std::string(file);
  return std::string(file.substr(0, file.size() - kMask.size()));
}

// Whether `word` stands in `text` between characters that belong to no word.
bool HasWord(std::string_view text, std::string_view word) {
  const auto is_border = [&](size_t at) {
    return at >= text.size() || !IsNameChar(text[at]) || text[at] == '-' || text[at] == '.';
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || is_border(at - 1)) && is_border(at + word.size())) return true;
  }
  return false;
}

std::string ListOf(std::vector<std::string> files) {
  const size_t count = files.size();
  if (count > kShownFiles) files.resize(kShownFiles);
  return fmt::format("{}{}", fmt::join(files, ", "), count > kShownFiles ? ", ..." : "");
}

Result<std::vector<std::string>> SelectGguf(const std::vector<std::string>& gguf, std::string_view selector) {
  std::vector<std::string> chosen;
  for (const std::string& file : gguf) {
    if (file == selector || LastPart(file) == selector) chosen.push_back(file);
  }
  if (chosen.empty()) {
    for (const std::string& file : gguf) {
      if (HasWord(Lower(file), Lower(selector))) chosen.push_back(file);
    }
  } else if (SplitStem(chosen.front()) != chosen.front()) {  // one part named: all parts are needed
    const std::string stem = SplitStem(chosen.front());
    chosen.clear();
    std::copy_if(gguf.begin(), gguf.end(), std::back_inserter(chosen),
                 [&stem](const std::string& file) { return SplitStem(file) == stem; });
  }
  if (chosen.empty()) {
    return NotFound("the model has no GGUF file '{}'; it has: {}", selector,
                    gguf.empty() ? "no GGUF file" : ListOf(gguf));
  }
  std::set<std::string> stems;
  for (const std::string& file : chosen) stems.insert(SplitStem(file));
  if (stems.size() > 1) {
    return InvalidArgument("'{}' means several files: {}; name one of them", selector, ListOf(chosen));
  }
  return chosen;
}

bool IsModelFile(std::string_view file) {
  static constexpr std::array<std::string_view, 3> kEnds = {".safetensors", ".json", ".jinja"};
  static constexpr std::array<std::string_view, 5> kNames = {"tokenizer.model", "spiece.model", "merges.txt",
                                                             "vocab.txt", "LICENSE"};
  const bool in_folder = file.find('/') != std::string_view::npos;
  if (in_folder) return file.starts_with("additional_chat_templates/") && file.ends_with(".jinja");
  return std::any_of(kEnds.begin(), kEnds.end(), [file](auto end) { return file.ends_with(end); }) ||
         std::find(kNames.begin(), kNames.end(), file) != kNames.end();
}

}  // namespace

bool LooksLikeHubName(std::string_view text) {
  const std::string_view repo = text.substr(0, text.find(':'));
  const size_t slash = repo.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == repo.size() ||
      repo.size() > kMaxNameBytes) {
    return false;
  }
  const std::string_view parts[] = {repo.substr(0, slash), repo.substr(slash + 1)};
  return std::all_of(std::begin(parts), std::end(parts), [](std::string_view part) {
    return part.front() != '.' && part.find("..") == std::string_view::npos &&
           std::all_of(part.begin(), part.end(), IsNameChar);
  });
}

Result<HubName> ParseHubName(std::string_view text) {
  if (!LooksLikeHubName(text)) {
    return InvalidArgument(
        "'{}' is not the name of a hub model; write ORG/NAME, ORG/NAME:FILE or ORG/NAME:QUANT", text);
  }
  const size_t colon = std::min(text.find(':'), text.size());
  HubName name;
  name.repo = text.substr(0, colon);
  if (colon < text.size()) {
    name.selector = text.substr(colon + 1);
    if (!IsSafeHubPath(name.selector)) return InvalidArgument("'{}' names no file or quantisation", text);
  }
  return name;
}

std::string HubFolderName(std::string_view repo) {
  std::string name = "models--";
  name += repo;
  if (const size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return name;
}

bool IsSafeHubPath(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes) return false;
  const bool printable = std::all_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '\\' && c != 0x7F;
  });
  if (!printable) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxPartBytes) return false;
    begin = end + 1;
  }
  return true;
}

Result<std::vector<std::string>> SelectHubFiles(const std::vector<std::string>& files,
                                                std::string_view selector,
                                                const std::vector<std::string>& include) {
  std::vector<std::string> chosen;
  if (!include.empty()) {
    for (const std::string& file : files) {
      const std::string last(LastPart(file));
      const bool matches = std::any_of(include.begin(), include.end(), [&](const std::string& pattern) {
        return fnmatch(pattern.c_str(), file.c_str(), 0) == 0 ||
               fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
      });
      if (matches) chosen.push_back(file);
    }
    if (chosen.empty())
      return NotFound("no file of the model matches {}; it has: {}", ListOf(include), ListOf(files));
    return chosen;
  }
  std::vector<std::string> gguf;
  for (const std::string& file : files) {
    if (file.ends_with(".gguf") && !HasWord(Lower(file), "mmproj")) gguf.push_back(file);
  }
  if (!selector.empty()) return SelectGguf(gguf, selector);
  std::copy_if(files.begin(), files.end(), std::back_inserter(chosen), IsModelFile);
  const auto is_weight = [](const std::string& file) { return file.ends_with(".safetensors"); };
  const auto is_duplicate = [](const std::string& file) { return file.starts_with("consolidated"); };
  const bool has_weights = std::any_of(chosen.begin(), chosen.end(), [&](const std::string& file) {
    return is_weight(file) && !is_duplicate(file);
  });
  if (has_weights) {
    std::erase_if(chosen, [&](const std::string& file) { return is_weight(file) && is_duplicate(file); });
    return chosen;
  }
  if (std::any_of(chosen.begin(), chosen.end(), is_weight)) return chosen;
  if (!gguf.empty()) {
    return InvalidArgument(
        "the model has no safetensors but GGUF files; add ':FILE' or ':QUANT' for one of: {}", ListOf(gguf));
  }
  return NotFound("the model has neither safetensors nor GGUF files; it has: {}", ListOf(files));
}

}  // namespace firebrick
