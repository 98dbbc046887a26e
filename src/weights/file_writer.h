// FileWriter: a model file under construction. Bytes go where the layout says, in any order; the file gets
// its name only in Finish, so that a reader never meets half a model. Holds no weights: memory is the
// caller's chunk. Thread: Create, Finish and the destructor by one thread; WriteAt by any number at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "weights/file_layout.h"

namespace firebrick {

class FileWriter {
 public:
  // Creates PATH.part beside `path`, with the layout's header and its full length.
  static Result<FileWriter> Create(const std::string& path, const FileLayout& layout);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  // Removes the unfinished file.
  ~FileWriter();

  // Writes `bytes` at a file offset.
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) const;
  // Gives the file its name.
  Status Finish();

 private:
  FileWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_ = -1;
};

}  // namespace firebrick
