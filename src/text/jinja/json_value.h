// JSON of a request as values of the template.
#pragma once

#include "base/json_fwd.h"
#include "text/jinja/context.h"

namespace firebrick::jinja {

// Every string and number counts as the user's.
Value FromJson(Context& context, const Json& json);
// The same for a list of messages, but the `role` of a message is the template's where it is one of the known
// roles: templates build control tokens from it ("<|" + role + "|>").
Value FromMessages(Context& context, const Json& messages);

}  // namespace firebrick::jinja
