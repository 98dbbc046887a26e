// The GGUF reader against files that are right and files that lie: field cases 114, 115 and 117.
#include "weights/gguf.h"

#include <cstring>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/file_layout.h"

namespace firebrick {
namespace {

using testing::HasSubstr;

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}
std::string Str(std::string_view text) { return Raw(uint64_t{text.size()}) + std::string(text); }
std::string Key(std::string_view key, uint32_t type, const std::string& value) {
  return Str(key) + Raw(type) + value;
}
std::string Info(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
  std::string bytes = Str(name) + Raw(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) bytes += Raw(dim);
  return bytes + Raw(type) + Raw(offset);
}

// A file put together by hand, so that each part can lie.
struct FileBytes {
  uint32_t version = 3;
  std::vector<std::string> keys = {};
  std::vector<std::string> infos = {};
  uint64_t num_tensors = UINT64_MAX;  // UINT64_MAX: the true number
  uint64_t num_keys = UINT64_MAX;
  size_t data_bytes = 0;

  std::string Build() const {
    std::string bytes = "GGUF" + Raw(version) + Raw(num_tensors == UINT64_MAX ? infos.size() : num_tensors) +
                        Raw(num_keys == UINT64_MAX ? keys.size() : num_keys);
    for (const std::string& key : keys) bytes += key;
    for (const std::string& info : infos) bytes += info;
    bytes.resize((bytes.size() + 31) / 32 * 32);
    return bytes + std::string(data_bytes, '\1');
  }
};

Result<GgufFile> Parse(const std::string& bytes) {
  return ParseGguf(std::as_bytes(std::span(bytes)), "test.gguf", 0);
}
std::string ErrorOf(const FileBytes& file) {
  const Result<GgufFile> parsed = Parse(file.Build());
  return parsed.ok() ? "no error" : parsed.status().ToString();
}
std::string ErrorOfInfo(const std::string& info, size_t data_bytes = 128) {
  return ErrorOf({.infos = {info}, .data_bytes = data_bytes});
}
std::string ErrorOfKey(const std::string& key) { return ErrorOf({.keys = {key}}); }

TEST(Gguf, ReadsWhatIsThere) {
  FileBytes file{.keys = {Key("general.architecture", 8, Str("llama")), Key("a.u8", 0, Raw(uint8_t{200})),
                          Key("a.i32", 5, Raw(int32_t{-5})), Key("a.f32", 6, Raw(0.5F)),
                          Key("a.bool", 7, "\1"), Key("a.u64", 10, Raw(uint64_t{UINT64_MAX})),
                          Key("a.strings", 9, Raw(uint32_t{8}) + Raw(uint64_t{2}) + Str("x") + Str("")),
                          Key("a.ints", 9, Raw(uint32_t{4}) + Raw(uint64_t{2}) + Raw(1U) + Raw(4000000000U)),
                          Key("a.bools", 9, Raw(uint32_t{7}) + Raw(uint64_t{1}) + "\1"),
                          Key("a.floats", 9, Raw(uint32_t{6}) + Raw(uint64_t{1}) + Raw(2.0F))},
                 .infos = {Info("m", {32, 2}, 8, 0), Info("v", {3}, 0, 96)},
                 .data_bytes = 96 + 12};
  for (const uint32_t version : {2U, 3U}) {
    file.version = version;
    const std::string bytes = file.Build();
    const Result<GgufFile> parsed = Parse(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    ASSERT_EQ(parsed->tensors.size(), 2U);
    const RawTensor& m = parsed->tensors[0];
    EXPECT_EQ(m.shape, (std::vector<int64_t>{2, 32}));
    EXPECT_EQ(m.type, WeightType::kQ8_0);
    EXPECT_EQ(m.data.size(), 68U);
    EXPECT_EQ(reinterpret_cast<const char*>(m.data.data()) - bytes.data(),
              static_cast<ptrdiff_t>(m.file_offset));
    EXPECT_EQ(m.file_offset, parsed->data_begin);
    const auto& metadata = parsed->metadata;
    EXPECT_EQ(metadata[0].second, GgufValue(std::string("llama")));
    EXPECT_EQ(metadata[1].second, GgufValue(uint64_t{200}));
    EXPECT_EQ(metadata[2].second, GgufValue(int64_t{-5}));
    EXPECT_EQ(metadata[3].second, GgufValue(0.5));
    EXPECT_EQ(metadata[4].second, GgufValue(true));
    EXPECT_EQ(metadata[5].second, GgufValue(uint64_t{UINT64_MAX}));
    EXPECT_EQ(metadata[6].second, GgufValue(std::vector<std::string>{"x", ""}));
    EXPECT_EQ(metadata[7].second, GgufValue(std::vector<int64_t>{1, 4000000000}));
    EXPECT_EQ(metadata[8].second, GgufValue(std::vector<bool>{true}));
    EXPECT_EQ(metadata[9].second, GgufValue(std::vector<double>{2.0}));
  }
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string whole = FileBytes{.keys = {Key("k", 8, Str("value"))},
                                      .infos = {Info("a", {4}, 0, 0), Info("b", {32}, 2, 32)},
                                      .data_bytes = 32 + 18}
                                .Build();
  ASSERT_TRUE(Parse(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    ASSERT_FALSE(Parse(cut).ok()) << "accepted after " << length << " of " << whole.size() << " bytes";
  }
}

TEST(Gguf, OtherFilesAreNamed) {
  EXPECT_THAT(Parse("PK\3\4 some zip archive").status().message(), HasSubstr("no GGUF file"));
  EXPECT_THAT(ErrorOf({.version = 1}), HasSubstr("version 1"));
  EXPECT_THAT(ErrorOf({.version = 4}), HasSubstr("version 4"));
  EXPECT_THAT(ErrorOf({.version = 0x03000000}), HasSubstr("big-endian"));
}

TEST(Gguf, CountsThatLieAreRefusedBeforeAnyAllocation) {
  for (const uint64_t count : {uint64_t{1} << 63, UINT64_MAX - 1, uint64_t{1} << 32, uint64_t{5000}}) {
    EXPECT_THAT(ErrorOf({.num_tensors = count}), HasSubstr("tensors"));
    EXPECT_THAT(ErrorOf({.num_keys = count}), HasSubstr("metadata keys"));
    EXPECT_THAT(ErrorOfKey(Key("k", 9, Raw(uint32_t{8}) + Raw(count))), HasSubstr("elements"));
    EXPECT_THAT(ErrorOfKey(Str("k") + Raw(uint32_t{8}) + Raw(count)), HasSubstr("past the end"));
    EXPECT_THAT(ErrorOf({.infos = {Raw(count)}, .num_tensors = 1}), HasSubstr("data_loss"));
  }
}

TEST(Gguf, BadMetadataIsRefused) {
  EXPECT_THAT(ErrorOfKey(Key("k", 13, Raw(0U))), HasSubstr("value type 13"));
  EXPECT_THAT(ErrorOfKey(Key("k", 9, Raw(uint32_t{9}) + Raw(uint64_t{0}) + Raw(0U))),
              HasSubstr("array of arrays"));
  EXPECT_THAT(ErrorOfKey(Key("k", 9, Raw(uint32_t{77}) + Raw(uint64_t{0}))), HasSubstr("element type 77"));
  EXPECT_THAT(ErrorOfKey(Key("k", 9, Raw(uint32_t{10}) + Raw(uint64_t{1}) + Raw(UINT64_MAX))),
              HasSubstr("above"));
  EXPECT_THAT(ErrorOfKey(Key("k", 7, "\2")), HasSubstr("boolean holds 2"));
  EXPECT_THAT(ErrorOfKey(Key("", 4, Raw(0U) + "padding")), HasSubstr("empty"));
  EXPECT_THAT(ErrorOfKey(Key("a\nb", 4, Raw(0U))), HasSubstr("control characters"));
  EXPECT_THAT(ErrorOf({.keys = {Key("twice", 4, Raw(0U)), Key("twice", 4, Raw(1U))}}),
              HasSubstr("'twice' is there"));
  for (const uint32_t alignment : {0U, 1U, 4U, 33U, 1U << 20}) {
    EXPECT_THAT(ErrorOfKey(Key("general.alignment", 4, Raw(alignment))), HasSubstr("power of two"));
  }
  EXPECT_THAT(ErrorOfKey(Key("general.alignment", 8, Str("32"))), HasSubstr("power of two"));
}

TEST(Gguf, BadTensorInfosAreRefusedByName) {
  EXPECT_THAT(ErrorOfInfo(Info("w", {4, 0}, 0, 0)), AllOf(HasSubstr("'w'"), HasSubstr("dimension 1 is 0")));
  EXPECT_THAT(ErrorOfInfo(Info("w", {}, 0, 0)), HasSubstr("has 0 dimensions"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {1, 1, 1, 1, 1}, 0, 0)), HasSubstr("has 5 dimensions"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {uint64_t{1} << 63}, 0, 0)), HasSubstr("dimension 0"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {uint64_t{1} << 62, 4}, 0, 0)), HasSubstr("overflows"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {uint64_t{1} << 61, 2}, 0, 0)), HasSubstr("overflows"));  // only in bytes
  EXPECT_THAT(ErrorOfInfo(Info("w", {33}, 2, 0)), HasSubstr("multiple of 32"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {4}, 4, 0)), HasSubstr("type id 4"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {256}, 16, 0)),
              AllOf(HasSubstr("iq2_xxs"), HasSubstr("use a file quantised")));
  EXPECT_THAT(ErrorOfInfo(Info("", {4}, 0, 0)), HasSubstr("empty"));
  EXPECT_THAT(ErrorOfInfo(Info(std::string(64, 'n'), {4}, 0, 0)), HasSubstr("longer than 63"));
  EXPECT_EQ(ErrorOfInfo(Info(std::string(63, 'n'), {4}, 0, 0)), "no error");
}

TEST(Gguf, PlacesThatLieAreRefusedByName) {
  EXPECT_THAT(ErrorOfInfo(Info("w", {4}, 0, 16)), HasSubstr("no multiple of the alignment 32"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {4}, 0, 128)), AllOf(HasSubstr("'w'"), HasSubstr("truncated")));
  EXPECT_THAT(ErrorOfInfo(Info("w", {1024}, 0, 0)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {4}, 0, UINT64_MAX - 31)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOfInfo(Info("w", {4}, 0, 64)), HasSubstr("belong to no tensor"));
  const auto two = [](uint64_t second) {
    return FileBytes{.infos = {Info("first", {16}, 0, 0), Info("second", {4}, 0, second)}, .data_bytes = 256};
  };
  EXPECT_EQ(ErrorOf(two(64)), "no error");
  EXPECT_THAT(ErrorOf(two(32)), AllOf(HasSubstr("'second'"), HasSubstr("overlaps")));
  EXPECT_THAT(ErrorOf(two(0)), HasSubstr("overlaps"));
  EXPECT_THAT(ErrorOf(two(128)), HasSubstr("belong to no tensor"));
}

TEST(Gguf, OrderOfInfosIsFree) {
  const std::string bytes =
      FileBytes{.infos = {Info("late", {4}, 0, 64), Info("early", {16}, 0, 0)}, .data_bytes = 80}.Build();
  const Result<GgufFile> parsed = Parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->tensors[0].name, "late");
}

TEST(Gguf, SplitNamesAreReadAndWritten) {
  const GgufSplitName name = ParseGgufSplitName("/models/big-00002-of-00005.gguf");
  EXPECT_EQ(name.prefix, "/models/big");
  EXPECT_EQ(name.index, 1U);
  EXPECT_EQ(name.count, 5U);
  EXPECT_EQ(FormatGgufSplitName(name.prefix, name.index, name.count), "/models/big-00002-of-00005.gguf");
  for (const char* other :
       {"big.gguf", "big-00006-of-00005.gguf", "big-00000-of-00005.gguf", "big-0001-of-00005.gguf",
        "big-00001-of-0000x.gguf", "-00001-of-00002.gguf", "big-00001-of-00005.bin"}) {
    EXPECT_EQ(ParseGgufSplitName(other).count, 0U) << other;
  }
}

}  // namespace
}  // namespace firebrick
