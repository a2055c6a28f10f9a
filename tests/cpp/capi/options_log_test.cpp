// Options as JSON, the log, timing marks.
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "capi/capi_fixture.h"

namespace pypto::capi {
namespace {

using ::testing::Contains;
using testing::Floats;
using ::testing::HasSubstr;
using testing::LastMessage;
using ::testing::StartsWith;

class OptionsLogTest : public testing::CapiTest {
 protected:
  template <typename Get>
  static std::string Text(Get&& get) {
    size_t needed = 0;
    EXPECT_EQ(get(nullptr, 0, &needed), PYPTO_OK) << LastMessage();
    std::string text(needed, '\0');
    EXPECT_EQ(get(text.data(), text.size(), &needed), PYPTO_OK);
    text.resize(needed - 1);
    return text;
  }
  static std::string Value(pypto_options* options, const char* key) {
    return Text([&](char* b, size_t c, size_t* n) { return pypto_options_get(options, key, b, c, n); });
  }
};

TEST_F(OptionsLogTest, ScopesOfOptions) {
  pypto_options* root = nullptr;
  ASSERT_EQ(pypto_options_create(nullptr, &root), PYPTO_OK) << LastMessage();
  const std::string key = "runtime.stitch_function_max_num";
  const std::string before = Value(root, key.c_str());
  pypto_options* child = nullptr;
  ASSERT_EQ(pypto_options_child(root, "mine", &child), PYPTO_OK);
  EXPECT_EQ(pypto_options_update(child, "{\"runtime.stitch_function_max_num\": 7}"), PYPTO_OK) << LastMessage();
  EXPECT_EQ(Value(child, key.c_str()), "7");
  EXPECT_EQ(Value(root, key.c_str()), before);
  EXPECT_THAT(Text([&](char* b, size_t c, size_t* n) { return pypto_options_get_json(child, b, c, n); }),
              HasSubstr("\"" + key + "\": 7"));
  EXPECT_THAT(Text([&](char* b, size_t c, size_t* n) { return pypto_options_describe(child, b, c, n); }),
              HasSubstr(key));
  // Nothing changes when one value is wrong.
  EXPECT_NE(pypto_options_update(child, "{\"runtime.stitch_function_max_num\": 9, \"runtime.run_mode\": \"x\"}"),
            PYPTO_OK);
  EXPECT_EQ(Value(child, key.c_str()), "7");
  EXPECT_EQ(pypto_options_update(child, "[1]"), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_options_update(child, "{"), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_options_get(child, "no.such_key", nullptr, 0, nullptr), PYPTO_ERROR_NOT_FOUND);
  EXPECT_EQ(pypto_options_get(child, nullptr, nullptr, 0, nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_options_reset(child), PYPTO_OK);
  EXPECT_EQ(Value(child, key.c_str()), before);
  EXPECT_EQ(pypto_options_release(root), PYPTO_OK);
  EXPECT_EQ(Value(child, key.c_str()), before);
  EXPECT_EQ(pypto_options_release(child), PYPTO_OK);
  EXPECT_EQ(pypto_options_create("/nowhere/defaults.json", &root), PYPTO_ERROR_IO);
}

TEST_F(OptionsLogTest, WhatGetGivesUpdateTakes) {
  pypto_options* options = nullptr;
  ASSERT_EQ(pypto_options_create(nullptr, &options), PYPTO_OK);
  const std::string all = Text([&](char* b, size_t c, size_t* n) { return pypto_options_get_json(options, b, c, n); });
  EXPECT_EQ(pypto_options_update(options, all.c_str()), PYPTO_OK) << LastMessage() << "\n" << all;
  EXPECT_EQ(Text([&](char* b, size_t c, size_t* n) { return pypto_options_get_json(options, b, c, n); }), all);
  EXPECT_EQ(pypto_options_release(options), PYPTO_OK);
}

TEST_F(OptionsLogTest, GlobalValues) {
  const char* json = "{\"a\": [1, 2.0, 0.5, true, null, \"q\\\"\\u0001\"]}";
  EXPECT_EQ(pypto_global_set("capi.test", json), PYPTO_OK) << LastMessage();
  EXPECT_EQ(Text([](char* b, size_t c, size_t* n) { return pypto_global_get("capi.test", b, c, n); }), json);
  EXPECT_EQ(pypto_global_get("capi.other", nullptr, 0, nullptr), PYPTO_ERROR_NOT_FOUND);
  EXPECT_EQ(pypto_global_set("capi.test", "{"), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_global_set(nullptr, "1"), PYPTO_ERROR_INVALID_ARGUMENT);
}

struct Heard {
  std::mutex mutex;
  std::vector<std::string> texts;
  pypto_status inside = PYPTO_OK;
  bool throws = false;
  static void Log(void* user, const pypto_log_record* record) {
    auto* self = static_cast<Heard*>(user);
    const std::lock_guard<std::mutex> lock(self->mutex);
    EXPECT_EQ(record->struct_size, sizeof(pypto_log_record));
    EXPECT_STREQ(record->module, "PYPTO");
    self->texts.emplace_back(record->text);
    if (self->throws) throw std::runtime_error("a callback must not throw");
  }
  static void Trace(void* user, const char* record) {
    auto* self = static_cast<Heard*>(user);
    const std::lock_guard<std::mutex> lock(self->mutex);
    self->texts.emplace_back(record);
    if (self->throws) throw 1;
  }
};

TEST_F(OptionsLogTest, LogCallbacks) {
  const int32_t level = pypto_log_get_level();
  Heard heard;
  uint64_t id = 0;
  ASSERT_EQ(pypto_log_add_callback(Heard::Log, &heard, PYPTO_LOG_INFO, &id), PYPTO_OK);
  EXPECT_EQ(pypto_log_set_level(PYPTO_LOG_INFO), PYPTO_OK);
  EXPECT_EQ(pypto_log_get_level(), PYPTO_LOG_INFO);
  EXPECT_EQ(pypto_worker_release(testing::OpenWorker()), PYPTO_OK);
  EXPECT_THAT(heard.texts, Contains(HasSubstr("opened worker a2a3sim:0")));
  heard.throws = true;
  heard.texts.clear();
  EXPECT_EQ(pypto_worker_release(testing::OpenWorker()), PYPTO_OK);
  EXPECT_FALSE(heard.texts.empty());
  EXPECT_EQ(pypto_log_remove_callback(id), PYPTO_OK);
  EXPECT_EQ(pypto_log_remove_callback(id), PYPTO_ERROR_NOT_FOUND);
  heard.texts.clear();
  EXPECT_EQ(pypto_worker_release(testing::OpenWorker()), PYPTO_OK);
  EXPECT_TRUE(heard.texts.empty());
  EXPECT_EQ(pypto_log_set_level(5), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_log_add_callback(nullptr, nullptr, PYPTO_LOG_INFO, &id), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_log_add_callback(Heard::Log, &heard, 9, &id), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_log_set_level(level), PYPTO_OK);
}

TEST_F(OptionsLogTest, PlaceOfTheLog) {
  const auto folder = std::filesystem::temp_directory_path() / ("pypto_capi_log_" + std::to_string(::getpid()));
  EXPECT_EQ(pypto_log_set_root(folder.c_str()), PYPTO_OK);
  EXPECT_EQ(pypto_log_set_root(nullptr), PYPTO_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pypto_log_set_stdout(0), PYPTO_OK);
  EXPECT_EQ(pypto_log_set_level(PYPTO_LOG_INFO), PYPTO_OK);
  EXPECT_EQ(pypto_worker_release(testing::OpenWorker()), PYPTO_OK);
  EXPECT_THAT(Text([](char* b, size_t c, size_t* n) { return pypto_log_get_file(b, c, n); }),
              StartsWith(folder.string()));
  EXPECT_EQ(pypto_log_reset_level(), PYPTO_OK);
  EXPECT_EQ(pypto_log_get_level(), PYPTO_LOG_ERROR);
  std::filesystem::remove_all(folder);
}

TEST_F(OptionsLogTest, HandlesCannotBeUsedInsideACallback) {
  static pypto_worker* worker = nullptr;
  static pypto_status inside = PYPTO_OK;
  worker = testing::OpenWorker();
  const int32_t level = pypto_log_get_level();
  uint64_t id = 0;
  ASSERT_EQ(pypto_log_add_callback([](void*, const pypto_log_record*) { inside = pypto_worker_check(worker); }, nullptr,
                                   PYPTO_LOG_INFO, &id),
            PYPTO_OK);
  EXPECT_EQ(pypto_log_set_level(PYPTO_LOG_INFO), PYPTO_OK);
  EXPECT_EQ(pypto_worker_close(worker), PYPTO_OK);
  EXPECT_EQ(pypto_worker_init(worker), PYPTO_OK);
  EXPECT_EQ(inside, PYPTO_ERROR_FAILED_PRECONDITION);
  EXPECT_EQ(pypto_worker_check(worker), PYPTO_OK);
  EXPECT_EQ(pypto_log_remove_callback(id), PYPTO_OK);
  EXPECT_EQ(pypto_log_set_level(level), PYPTO_OK);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
}

TEST_F(OptionsLogTest, TimingMarks) {
  pypto_program* program = testing::Load(testing::AddRowsFile());
  pypto_worker* worker = testing::OpenWorker();
  pypto_registration* registration = nullptr;
  ASSERT_EQ(pypto_worker_register(worker, program, &registration), PYPTO_OK);
  Floats x(4, 1.0F);
  Floats w(1, 1.0F);
  Floats out(4, 0.0F);
  const std::array<pypto_argument, 3> arguments = {x.Argument(), w.Argument(), out.Argument()};
  Heard heard;
  EXPECT_EQ(pypto_trace_set_callback(Heard::Trace, &heard), PYPTO_OK);
  EXPECT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(heard.texts.size(), 7u);
  EXPECT_THAT(heard.texts, ::testing::Each(StartsWith("[STRACE] v=1")));
  heard.throws = true;
  EXPECT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK) << LastMessage();
  EXPECT_EQ(pypto_trace_set_callback(nullptr, nullptr), PYPTO_OK);
  heard.texts.clear();
  EXPECT_EQ(pypto_registration_launch(registration, arguments.data(), 3, nullptr), PYPTO_OK);
  EXPECT_TRUE(heard.texts.empty());
  EXPECT_EQ(pypto_trace_set("/nowhere/trace"), PYPTO_ERROR_IO);
  EXPECT_EQ(pypto_trace_set("off"), PYPTO_OK);
  EXPECT_EQ(pypto_registration_release(registration), PYPTO_OK);
  EXPECT_EQ(pypto_worker_release(worker), PYPTO_OK);
  EXPECT_EQ(pypto_program_release(program), PYPTO_OK);
}

}  // namespace
}  // namespace pypto::capi
