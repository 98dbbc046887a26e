#include "engine/mailbox.h"

#include <utility>

namespace firebrick {

bool Mailbox::TryPush(Submission submission) {
  {
    const std::lock_guard lock(mutex_);
    if (mail_.is_closed || mail_.submissions.size() >= capacity_) return false;
    mail_.submissions.push_back(std::move(submission));
  }
  ready_.notify_one();
  return true;
}

void Mailbox::PushCancel(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    mail_.cancels.push_back(id);
  }
  ready_.notify_one();
}

void Mailbox::Close() {
  {
    const std::lock_guard lock(mutex_);
    mail_.is_closed = true;
  }
  ready_.notify_one();
}

void Mailbox::Take(SteadyTime deadline, Mail* mail) {
  mail->submissions.clear();
  mail->cancels.clear();
  std::unique_lock lock(mutex_);
  const auto has_mail = [&] {
    return mail_.is_closed || !mail_.submissions.empty() || !mail_.cancels.empty();
  };
  if (deadline == SteadyTime::max()) {
    ready_.wait(lock, has_mail);
  } else if (deadline != SteadyTime::min()) {
    ready_.wait_until(lock, deadline, has_mail);
  }
  mail->is_closed = mail_.is_closed;
  mail->submissions.swap(mail_.submissions);
  mail->cancels.swap(mail_.cancels);
}

}  // namespace firebrick
