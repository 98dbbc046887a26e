// How filters name what they look at: "name", "inner.0.name", 3.
#pragma once

#include <vector>

#include "text/jinja/context.h"

namespace firebrick::jinja {

class AttributePath {
 public:
  // None is the item itself. A path of text is read at the dots; parts of digits are indices.
  explicit AttributePath(const Value& attribute);
  // `otherwise`, where it is not null, stands in for each part of the path that is missing.
  Value Read(Context& context, const Value& item, const Value* otherwise = nullptr) const;

 private:
  std::vector<Value> parts_;
};

}  // namespace firebrick::jinja
