// Mailbox: the only way into the engine thread. Submits are bounded; a cancel is never refused and never
// waits behind submits. Thread: any for Try/Push/Close; Take belongs to the engine thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "api/ids.h"
#include "api/request.h"
#include "sched/sequence.h"
#include "text/stop_matcher.h"

namespace firebrick {

struct Submission {
  GenerateRequest request;
  std::optional<StopMatcher> stops;  // made on the caller's thread, which also gets its errors
  SteadyTime submitted;
};

struct Mail {
  std::vector<Submission> submissions;
  std::vector<RequestId> cancels;  // to be handled after the submissions
  bool is_closed = false;
};

class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  bool TryPush(Submission submission);  // false: full or closed
  void PushCancel(RequestId id);
  void Close();
  // Moves all mail into `mail` (emptied first), waiting until `deadline` for the first piece (min: not at
  // all, max: for ever). Closed is mail.
  void Take(SteadyTime deadline, Mail* mail);

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable ready_;
  Mail mail_;
};

}  // namespace firebrick
