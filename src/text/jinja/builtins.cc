#include "text/jinja/builtins.h"

#include <algorithm>
#include <ctime>

#include "text/jinja/filter_lists.h"
#include "text/jinja/objects.h"
#include "text/jinja/operations.h"

namespace firebrick::jinja {
namespace {

Value RangeFunction(Context& context, const Args& args) {
  const BoundArgs bound("range", args, {"", "", ""}, 1);
  const Int first = bound.Integer(0, 0);
  if (bound[1] == nullptr) return context.NewObject<Range>(0, first, 1);
  return context.NewObject<Range>(first, bound.Integer(1, 0), bound.Integer(2, 1));
}

// dict(mapping or pairs, name=value …), as items.
std::vector<Dict::Item> DictItems(Context& context, std::string_view name, const Args& args) {
  if (args.positional.size() > 1) Fail("{}() takes at most one argument without a name", name);
  std::vector<Dict::Item> items;
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is_dict()) {
      items = source.dict()->items;
    } else {
      for (const ListPtr list = Items(context, source); const Value& entry : list->items) {
        const ListPtr pair = Items(context, entry);
        if (pair->items.size() != 2) Fail("{}() needs pairs of a key and a value", name);
        items.emplace_back(pair->items[0], pair->items[1]);
      }
    }
  }
  for (const auto& [key, value] : args.keywords) items.emplace_back(context.Str(key), value);
  return items;
}

Value DictFunction(Context& context, const Args& args) {
  return context.NewDict(DictItems(context, "dict", args));
}

Value NamespaceFunction(Context& context, const Args& args) {
  auto made = std::make_shared<Namespace>();
  context.Own(made);
  for (const auto& [key, value] : DictItems(context, "namespace", args)) {
    if (!key.is_text()) Fail("namespace() needs names that are strings");
    made->Set(context, key.text()->bytes(), value);
  }
  return Value::Of(ObjectPtr(std::move(made)));
}

Value CyclerFunction(Context& context, const Args& args) {
  if (!args.keywords.empty()) Fail("cycler() takes no named arguments");
  return context.NewObject<Cycler>(args.positional);
}

Value JoinerFunction(Context& context, const Args& args) {
  const BoundArgs bound("joiner", args, {"sep"});
  return context.NewObject<Joiner>(bound[0] == nullptr ? context.Str(", ") : *bound[0]);
}

Value RaiseException(Context& context, const Args& args) {
  const BoundArgs bound("raise_exception", args, {"message"}, 1);
  Fail("the chat template refuses the request: {}", Str(context, *bound[0])->bytes());
}

Value StrftimeNow(Context& context, const Args& args) {
  const BoundArgs bound("strftime_now", args, {"format"}, 1);
  if (!bound[0]->is_text()) Fail("strftime_now() needs a string, not '{}'", bound[0]->TypeName());
  static constexpr size_t kMaxFormat = 256;
  std::string format(bound[0]->text()->bytes());
  if (format.size() > kMaxFormat) Fail("the format of strftime_now() is longer than {} bytes", kMaxFormat);
  // The time has no zone of its own and no fraction, as datetime.now() printed by Python.
  std::string expanded;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      expanded += format[i];
      continue;
    }
    const char c = format[++i];
    if (c == 'f') {
      expanded += "000000";
    } else if (c != 'z' && c != 'Z') {
      expanded += {'%', c};
    }
  }
  const auto now = static_cast<time_t>(context.now_seconds());
  tm local{};
  localtime_r(&now, &local);
  std::string out(4096, '\0');
  out.resize(std::strftime(out.data(), out.size(), expanded.c_str(), &local));
  return context.Str(out, bound[0]->FromUser());
}

struct Global {
  std::string_view name;
  FunctionFn function;
};

constexpr Global kGlobals[] = {{"range", RangeFunction},         {"dict", DictFunction},
                               {"namespace", NamespaceFunction}, {"cycler", CyclerFunction},
                               {"joiner", JoinerFunction},       {"raise_exception", RaiseException},
                               {"strftime_now", StrftimeNow}};

}  // namespace

FilterFn FindFilter(std::string_view name) {
  for (const auto list : {TextFilters(), SequenceFilters(), SelectionFilters(), NumberFilters()}) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [name](const NamedFilter& filter) { return filter.name == name; });
    if (found != list.end()) return found->function;
  }
  return nullptr;
}

Value FindGlobal(std::string_view name) {
  for (const Global& global : kGlobals) {
    if (global.name == name) return Value::Of(ObjectPtr(std::make_shared<Function>(global.function)));
  }
  return {};
}

}  // namespace firebrick::jinja
