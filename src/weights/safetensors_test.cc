// The safetensors parser and the shard index against headers that lie: field case 118.
#include "weights/safetensors.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/safetensors_reader.h"

namespace firebrick {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Bytes(const std::string& header, size_t data_bytes, uint64_t claimed_header_bytes) {
  std::string bytes(reinterpret_cast<const char*>(&claimed_header_bytes), sizeof(claimed_header_bytes));
  return bytes + header + std::string(data_bytes, '\2');
}
Result<SafetensorsFile> Parse(const std::string& bytes) {
  return ParseSafetensors(std::as_bytes(std::span(bytes)), "test.safetensors", 0);
}
std::string ErrorOf(const std::string& header, size_t data_bytes) {
  const Result<SafetensorsFile> parsed = Parse(Bytes(header, data_bytes, header.size()));
  return parsed.ok() ? "no error" : parsed.status().ToString();
}
std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

TEST(Safetensors, ReadsWhatIsThere) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)" + Entry("b", "BF16", "[2,3]", "[4,16]") +
                             "," + Entry("a", "F32", "[]", "[0,4]") + "," +
                             Entry("none", "F16", "[0,5]", "[16,16]") + "," +
                             Entry("ids", "I64", "[1]", "[16,24]") + "}   ";
  const std::string bytes = Bytes(header, 24, header.size());
  const Result<SafetensorsFile> parsed = Parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  ASSERT_EQ(parsed->tensors.size(), 3U);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[0].data.size(), 4U);
  EXPECT_EQ(parsed->tensors[1].name, "b");
  EXPECT_EQ(parsed->tensors[1].type, WeightType::kBF16);
  EXPECT_EQ(parsed->tensors[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(parsed->tensors[1].file_offset, 8 + header.size() + 4);
  EXPECT_EQ(parsed->tensors[2].NumElements(), 0);
  ASSERT_EQ(parsed->opaque.size(), 1U);
  EXPECT_EQ(parsed->opaque[0].dtype, "I64");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string header = "{" + Entry("a", "F32", "[2]", "[0,8]") + "}";
  const std::string whole = Bytes(header, 8, header.size());
  ASSERT_TRUE(Parse(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    ASSERT_FALSE(Parse(cut).ok()) << length;
  }
  EXPECT_FALSE(Parse(whole + "x").ok());
}

TEST(Safetensors, HeaderLengthsThatLieAreRefused) {
  for (const uint64_t claimed :
       {uint64_t{0}, uint64_t{1}, uint64_t{100'000'001}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_FALSE(Parse(Bytes("{}", 0, claimed)).ok()) << claimed;
  }
}

TEST(Safetensors, PlacesThatLieAreRefusedByName) {
  const std::string a = "{" + Entry("a", "F32", "[2]", "[0,8]");
  EXPECT_THAT(ErrorOf(a + "," + Entry("b", "F32", "[1]", "[4,8]") + "}", 8),
              AllOf(HasSubstr("'b'"), HasSubstr("overlap")));
  EXPECT_THAT(ErrorOf(a + "," + Entry("b", "F32", "[1]", "[12,16]") + "}", 16), HasSubstr("leave a hole"));
  EXPECT_THAT(ErrorOf(a + "," + Entry("b", "F32", "[1]", "[8,12]") + "}", 8),
              AllOf(HasSubstr("'b'"), HasSubstr("truncated")));
  EXPECT_THAT(ErrorOf(a + "}", 12), HasSubstr("belong to none"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[2]", "[8,0]") + "}", 8), HasSubstr("'a'"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[3]", "[0,8]") + "}", 8),
              HasSubstr("does not take the 8 bytes"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[4611686018427387904,4]", "[0,8]") + "}", 8),
              HasSubstr("does not take"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[4611686018427387905]", "[0,4]") + "}", 4),
              HasSubstr("does not take"));
}

TEST(Safetensors, EntriesThatDoNotFitAreRefused) {
  EXPECT_THAT(
      ErrorOf("{" + Entry("a", "F32", "[2]", "[0,8]") + "," + Entry("a", "F32", "[2]", "[8,16]") + "}", 16),
      HasSubstr("there twice"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "Q99", "[2]", "[0,8]") + "}", 8), HasSubstr("unknown dtype 'Q99'"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F8_E4M3", "[8]", "[0,8]") + "}", 8),
              HasSubstr("use the model's BF16 files"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[-2]", "[0,8]") + "}", 8), HasSubstr("negative"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[2.0]", "[0,8]") + "}", 8), HasSubstr("no whole number"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[18446744073709551615]", "[0,8]") + "}", 8),
              HasSubstr("above 2^63"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]") + "}", 8),
              HasSubstr("8 dimensions"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[2]", "[0,8,8]") + "}", 8), HasSubstr("two numbers"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[2]", "[0]") + "}", 8), HasSubstr("two numbers"));
  EXPECT_THAT(ErrorOf("{" + Entry("a", "F32", "[[2]]", "[0,8]") + "}", 8), HasSubstr("array"));
  EXPECT_THAT(ErrorOf("{" + Entry("", "F32", "[2]", "[0,8]") + "}", 8), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[2]}})", 8), HasSubstr("lacks"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","dtype":"F16","shape":[2]}})", 8),
              HasSubstr("'dtype' is there twice"));
  EXPECT_THAT(ErrorOf(R"({"a":{"other":1}})", 8), HasSubstr("unknown member"));
  EXPECT_THAT(ErrorOf(R"({"a":7})", 8), HasSubstr("number where none"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":{"x":1}}})", 8), HasSubstr("object"));
  EXPECT_THAT(ErrorOf(R"({"__metadata__":{"x":1}})", 0), HasSubstr("number"));
  EXPECT_THAT(ErrorOf(R"([1])", 0), HasSubstr("does not begin with an object"));
  EXPECT_THAT(ErrorOf(R"({"a":)", 0), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf("{\"\xff\":{}}", 0), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf("{} {}", 0), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf("{\"a\":" + std::string(100000, '['), 0), HasSubstr("array where none"));
}

std::string IndexErrorOf(const std::string& text) {
  const Result<SafetensorsIndex> index = ParseSafetensorsIndex(text, "index.json");
  return index.ok() ? "no error" : index.status().ToString();
}

TEST(SafetensorsIndexFile, ReadsTheMap) {
  const Result<SafetensorsIndex> index = ParseSafetensorsIndex(
      R"({"metadata":{"total_size":5,"x":[{}]},"weight_map":{"b":"s2.safetensors","a":"s1.safetensors"}})",
      "i");
  ASSERT_TRUE(index.ok()) << index.status().ToString();
  EXPECT_EQ(*index, (SafetensorsIndex{{"a", "s1.safetensors"}, {"b", "s2.safetensors"}}));
}

TEST(SafetensorsIndexFile, RefusesPathsAndDoubles) {
  for (const char* shard : {"../x", "a/b", "a\\\\b", "/etc/passwd", "..", ".hidden", "", "a\\u0000b"}) {
    EXPECT_THAT(IndexErrorOf(std::string(R"({"weight_map":{"t":")") + shard + "\"}}"),
                HasSubstr("plain file name"));
  }
  EXPECT_THAT(IndexErrorOf(R"({"weight_map":{"t":"a","t":"b"}})"), HasSubstr("twice"));
  EXPECT_THAT(IndexErrorOf(R"({"weight_map":{}})"), HasSubstr("no 'weight_map'"));
  EXPECT_THAT(IndexErrorOf(R"({"weight_map":{"t":5}})"), HasSubstr("no file name"));
  EXPECT_THAT(IndexErrorOf(R"({"weight_map":{"t":["a"]}})"), HasSubstr("no file name"));
  EXPECT_THAT(IndexErrorOf(R"(["weight_map"])"), HasSubstr("no object"));
  EXPECT_THAT(IndexErrorOf(R"({"metadata":)" + std::string(100000, '[')), HasSubstr("too deeply"));
  EXPECT_THAT(IndexErrorOf("{"), HasSubstr("no valid JSON"));
}

}  // namespace
}  // namespace firebrick
