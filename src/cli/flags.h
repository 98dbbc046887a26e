// FlagSet: the flags of one command: names, types, help text, and the source of each value. Only flags.cc
// sees CLI11, which is a heavy header. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/setting.h"

namespace firebrick {

// Names are written "-p,--prompt". A default that is not empty or zero is shown in the help. The targets are
// written by Parse and must outlive it.
class FlagSet {
 public:
  FlagSet(std::string command, std::string summary);
  ~FlagSet();
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  // Positional arguments, in order. The optional ones stay empty where they are left out.
  void Positional(const std::string& name, const std::string& help, std::string* target);
  void RequiredPositional(const std::string& name, const std::string& help, std::string* target);

  void Switch(const std::string& names, const std::string& help, bool* target);
  // Writes `given` where the switch is there: for switches that turn something off.
  void Switch(const std::string& names, const std::string& help, Setting<bool>* target, bool given);
  void Text(const std::string& names, const std::string& value_name, const std::string& help,
            std::string* target);
  void Text(const std::string& names, const std::string& value_name, const std::string& help,
            std::optional<std::string>* target);
  // May be given several times.
  void TextList(const std::string& names, const std::string& value_name, const std::string& help,
                std::vector<std::string>* target);
  void Integer(const std::string& names, const std::string& value_name, const std::string& help,
               int32_t* target, int64_t min = 0, int64_t max = std::numeric_limits<int32_t>::max());
  void Integer(const std::string& names, const std::string& value_name, const std::string& help,
               Setting<int32_t>* target, int64_t min = 0, int64_t max = std::numeric_limits<int32_t>::max());
  // Comma-separated.
  void IntegerList(const std::string& names, const std::string& value_name, const std::string& help,
                   std::vector<int32_t>* target, int64_t min = 0,
                   int64_t max = std::numeric_limits<int32_t>::max());
  void Unsigned(const std::string& names, const std::string& value_name, const std::string& help,
                std::optional<uint64_t>* target);
  void Real(const std::string& names, const std::string& value_name, const std::string& help,
            std::optional<double>* target, double min, double max);
  void Bytes(const std::string& names, const std::string& help, Setting<uint64_t>* target);
  void Choice(const std::string& names, const std::vector<std::string>& choices, const std::string& help,
              std::string* target);
  void Choice(const std::string& names, const std::vector<std::string>& choices, const std::string& help,
              Setting<std::string>* target);

  // A command line shown under the flags. Every command has one.
  void Example(std::string line);

  // kInvalidArgument: an unknown flag (with the nearest one), a missing or wrong value, a surplus argument.
  Status Parse(std::span<const std::string> arguments);
  // True after Parse where -h or --help was given; nothing else was checked then.
  bool help_requested() const { return help_requested_; }
  // Lines of at most 100 columns.
  std::string Help() const;

 private:
  struct Entry {
    std::string left;  // "-p, --prompt TEXT"
    std::string help;
  };
  struct Parser;  // CLI11

  using Store = std::function<Status(const std::string&)>;
  void AddValue(const std::string& names, const std::string& value_name, const std::string& help,
                Store store);
  void AddSwitch(const std::string& names, const std::string& help, std::function<void()> store);
  void AddPositional(const std::string& name, const std::string& help, std::string* target, bool required);
  Status UnknownArgument(const std::vector<std::string>& rest) const;

  std::string command_;
  std::string summary_;
  std::string usage_;
  std::string example_;
  std::vector<Entry> positionals_;
  std::vector<Entry> flags_;
  std::vector<std::string> names_;  // every flag's long and short names
  std::unique_ptr<Parser> parser_;
  Status store_error_;
  bool help_requested_ = false;
};

}  // namespace firebrick
