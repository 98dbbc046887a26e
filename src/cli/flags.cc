#include "cli/flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/nearest.h"
#include "config/parse.h"

namespace firebrick {
namespace {

constexpr size_t kHelpWidth = 100;
constexpr size_t kMaxLeftWidth = 34;

// "-p,--prompt" is {"-p", "--prompt"}.
std::vector<std::string> SplitNames(const std::string& names) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t comma = names.find(',', begin);
    parts.push_back(names.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

std::string_view WithoutDashes(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  return name;
}

void AppendWrapped(std::string_view text, size_t indent, std::string* out) {
  size_t column = indent;
  bool first = true;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!first && column + 1 + word.size() > kHelpWidth) {
      *out += '\n';
      out->append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      *out += ' ';
      ++column;
    }
    *out += word;
    column += word.size();
    first = false;
  }
  *out += '\n';
}

std::string WithDefault(const std::string& help, const std::string& shown) {
  return shown.empty() ? help : fmt::format("{} [{}]", help, shown);
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

// Stores a parsed value, or hands its error on.
template <typename T, typename Target>
Status Keep(Result<T> parsed, Target* target) {
  if (!parsed.ok()) return parsed.status();
  *target = static_cast<Target>(std::move(parsed).value());
  return OkStatus();
}

template <typename T>
Status KeepFlag(Status stored, Setting<T>* setting) {
  if (stored.ok()) setting->source = SettingSource::kFlag;
  return stored;
}

Status KeepChoice(const std::string& text, const std::vector<std::string>& choices, std::string* target) {
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    return InvalidArgument("'{}' is not one of {}", text, Join(choices, ", "));
  }
  *target = text;
  return OkStatus();
}

}  // namespace

struct FlagSet::Parser {
  CLI::App app;
};

FlagSet::FlagSet(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)), parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag();
  parser_->app.allow_extras();
  parser_->app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  parser_->app.add_flag("-h,--help", help_requested_);
  names_ = {"-h", "--help"};
}

FlagSet::~FlagSet() = default;

void FlagSet::AddPositional(const std::string& name, const std::string& help, std::string* target,
                            bool required) {
  parser_->app.add_option(name, *target)->required(required);
  usage_ += required ? " " + name : " [" + name + "]";
  positionals_.push_back({name, help});
}

void FlagSet::Positional(const std::string& name, const std::string& help, std::string* target) {
  AddPositional(name, help, target, false);
}

void FlagSet::RequiredPositional(const std::string& name, const std::string& help, std::string* target) {
  AddPositional(name, help, target, true);
}

void FlagSet::AddValue(const std::string& names, const std::string& value_name, const std::string& help,
                       Store store) {
  const std::vector<std::string> parts = SplitNames(names);
  const std::string& shown_name = parts.back();
  parser_->app.add_option_function<std::string>(
      names, [this, shown_name, store = std::move(store)](const std::string& text) {
        const Status status = store(text);
        if (!status.ok() && store_error_.ok()) store_error_ = status.WithContext(shown_name);
      });
  names_.insert(names_.end(), parts.begin(), parts.end());
  flags_.push_back({fmt::format("{} {}", Join(parts, ", "), value_name), help});
}

void FlagSet::AddSwitch(const std::string& names, const std::string& help, std::function<void()> store) {
  const std::vector<std::string> parts = SplitNames(names);
  parser_->app.add_flag_callback(names, std::move(store));
  names_.insert(names_.end(), parts.begin(), parts.end());
  flags_.push_back({Join(parts, ", "), help});
}

void FlagSet::Switch(const std::string& names, const std::string& help, bool* target) {
  AddSwitch(names, help, [target] { *target = true; });
}

void FlagSet::Switch(const std::string& names, const std::string& help, Setting<bool>* target, bool given) {
  AddSwitch(names, help, [=] {
    target->value = given;
    target->source = SettingSource::kFlag;
  });
}

void FlagSet::Text(const std::string& names, const std::string& value_name, const std::string& help,
                   std::string* target) {
  AddValue(names, value_name, WithDefault(help, *target), [target](const std::string& text) {
    *target = text;
    return OkStatus();
  });
}

void FlagSet::Text(const std::string& names, const std::string& value_name, const std::string& help,
                   std::optional<std::string>* target) {
  AddValue(names, value_name, help, [target](const std::string& text) {
    *target = text;
    return OkStatus();
  });
}

void FlagSet::TextList(const std::string& names, const std::string& value_name, const std::string& help,
                       std::vector<std::string>* target) {
  const std::vector<std::string> parts = SplitNames(names);
  parser_->app.add_option(names, *target)->take_all()->allow_extra_args(false);
  names_.insert(names_.end(), parts.begin(), parts.end());
  flags_.push_back({fmt::format("{} {}", Join(parts, ", "), value_name), help});
}

void FlagSet::Integer(const std::string& names, const std::string& value_name, const std::string& help,
                      int32_t* target, int64_t min, int64_t max) {
  const std::string shown = *target == 0 ? "" : std::to_string(*target);
  AddValue(names, value_name, WithDefault(help, shown),
           [=](const std::string& text) { return Keep(ParseInteger(text, min, max), target); });
}

void FlagSet::Integer(const std::string& names, const std::string& value_name, const std::string& help,
                      Setting<int32_t>* target, int64_t min, int64_t max) {
  const std::string shown = target->value == 0 ? "" : std::to_string(target->value);
  AddValue(names, value_name, WithDefault(help, shown), [=](const std::string& text) {
    return KeepFlag(Keep(ParseInteger(text, min, max), &target->value), target);
  });
}

void FlagSet::IntegerList(const std::string& names, const std::string& value_name, const std::string& help,
                          std::vector<int32_t>* target, int64_t min, int64_t max) {
  const std::string shown = fmt::format("{}", fmt::join(*target, ","));
  AddValue(names, value_name, WithDefault(help, shown),
           [=](const std::string& text) { return Keep(ParseIntegerList(text, min, max), target); });
}

void FlagSet::Unsigned(const std::string& names, const std::string& value_name, const std::string& help,
                       std::optional<uint64_t>* target) {
  AddValue(names, value_name, help,
           [=](const std::string& text) { return Keep(ParseUnsigned(text), target); });
}

void FlagSet::Real(const std::string& names, const std::string& value_name, const std::string& help,
                   std::optional<double>* target, double min, double max) {
  AddValue(names, value_name, help,
           [=](const std::string& text) { return Keep(ParseReal(text, min, max), target); });
}

void FlagSet::Bytes(const std::string& names, const std::string& help, Setting<uint64_t>* target) {
  AddValue(names, "SIZE", help,
           [=](const std::string& text) { return KeepFlag(Keep(ParseBytes(text), &target->value), target); });
}

void FlagSet::Choice(const std::string& names, const std::vector<std::string>& choices,
                     const std::string& help, std::string* target) {
  AddValue(names, Join(choices, "|"), WithDefault(help, *target),
           [=](const std::string& text) { return KeepChoice(text, choices, target); });
}

void FlagSet::Choice(const std::string& names, const std::vector<std::string>& choices,
                     const std::string& help, Setting<std::string>* target) {
  AddValue(names, Join(choices, "|"), WithDefault(help, target->value), [=](const std::string& text) {
    return KeepFlag(KeepChoice(text, choices, &target->value), target);
  });
}

void FlagSet::Example(std::string line) { example_ = std::move(line); }

Status FlagSet::UnknownArgument(const std::vector<std::string>& rest) const {
  const std::string help = fmt::format("see 'firebrick {} --help'", command_);
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& argument) {
    return argument.size() > 1 && argument.starts_with('-') && argument != "--";
  });
  if (flag == rest.end()) return InvalidArgument("surplus argument '{}'; {}", rest.front(), help);
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> bare;
  for (const std::string& known : names_) bare.emplace_back(WithoutDashes(known));
  const std::string nearest = NearestName(WithoutDashes(name), bare);
  if (nearest.empty()) return InvalidArgument("unknown flag '{}'; {}", name, help);
  const std::string dashes = nearest.size() == 1 ? "-" : "--";
  return InvalidArgument("unknown flag '{}': did you mean '{}{}'? ({})", name, dashes, nearest, help);
}

Status FlagSet::Parse(std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // the order that CLI11 wants
  std::string problem;
  try {
    parser_->app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    problem = error.what();
  }
  if (help_requested_) return OkStatus();
  const std::vector<std::string> rest = parser_->app.remaining();
  if (!rest.empty()) return UnknownArgument(rest);
  RETURN_IF_ERROR(store_error_);
  if (!problem.empty()) return InvalidArgument("{}; see 'firebrick {} --help'", problem, command_);
  return OkStatus();
}

std::string FlagSet::Help() const {
  std::string text = fmt::format("{}\n\nUsage: firebrick {}{} [flags]\n\n", summary_, command_, usage_);
  size_t widest = 0;
  for (const auto* entries : {&positionals_, &flags_}) {
    for (const Entry& entry : *entries) widest = std::max(widest, entry.left.size());
  }
  const size_t column = std::min(widest, kMaxLeftWidth) + 4;
  for (const auto* entries : {&positionals_, &flags_}) {
    for (const Entry& entry : *entries) {
      std::string line = "  " + entry.left;
      if (line.size() + 2 > column) {
        text += line + "\n";
        line.clear();
      }
      line.resize(column, ' ');
      text += line;
      AppendWrapped(entry.help, column, &text);
    }
  }
  if (!example_.empty()) text += fmt::format("\nExample:\n  {}\n", example_);
  return text;
}

}  // namespace firebrick
