// Added tokens: texts that are cut out of the input before anything else happens to it. Thread: const after
// building; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/split_pattern.h"

namespace firebrick {

struct AddedToken {
  std::string text;
  int32_t id = -1;
  bool special = false;      // decode with skip_special drops it
  bool single_word = false;  // not inside of a word
  bool lstrip = false;       // takes the whitespace before it
  bool rstrip = false;       // takes the whitespace behind it
  bool normalized = false;   // looked for after normalisation, in its own normalised form
};

// True for what may steer a model: special tokens, and normal ones of the shape <|…|> or <｜…｜> (DeepSeek's
// turn markers are not special by their file).
bool IsControlToken(const AddedToken& token);

// One search over a text: which control tokens count where. `trusted` holds sorted, disjoint ranges.
struct AddedTokenPolicy {
  enum class Mode : uint8_t {
    kAll,         // every token
    kTrusted,     // control tokens only inside of one trusted range, the others everywhere
    kNotSpecial,  // special tokens are stepped over as text
  };
  Mode mode = Mode::kAll;
  const std::vector<TextRange>* trusted = nullptr;
};

// Finds tokens in a text: at each position the longest that the policy allows. O(n × longest token).
class AddedTokenTrie {
 public:
  struct Match {
    TextRange range;  // with the whitespace that it takes
    int32_t id = -1;
  };
  AddedTokenTrie() : nodes_(257) {}
  // `text` is what to look for (the token's text, or its normalised form); not empty.
  void Add(std::string_view text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }
  // Appends the matches in order.
  void FindAll(std::string_view text, const AddedTokenPolicy& policy, std::vector<Match>* matches) const;

 private:
  struct Node {
    uint32_t first_child = 0;  // 0: none
    uint32_t next_sibling = 0;
    int32_t token = -1;  // index into tokens_
    unsigned char byte = 0;
  };
  struct Token {
    int32_t id;
    bool special, control, single_word, lstrip, rstrip;
  };
  struct Candidate {
    const Token* token = nullptr;
    size_t end = 0;
    bool allowed = false;
  };
  uint32_t FindChild(uint32_t node, unsigned char byte) const;
  Candidate LongestAt(std::string_view text, size_t pos, const AddedTokenPolicy& policy) const;

  std::vector<Node> nodes_;  // node 1 + b stands for the first byte b, node 0 is unused
  std::vector<Token> tokens_;
};

}  // namespace firebrick
