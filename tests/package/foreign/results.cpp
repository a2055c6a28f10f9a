// The other policy of the C++ face in the same program: results in place of exceptions.
#define PYPTO_HPP_RESULTS
#include <pypto/pypto.hpp>

int CheckResultsPolicy(pypto_worker* worker);

int CheckResultsPolicy(pypto_worker* worker) {
  auto missing = pypto::Program::Load("/nowhere/program.pto");
  if (missing || missing.error().status() != PYPTO_ERROR_IO) return 1;
  pypto::WorkerConfig config;
  config.platform = "a9";
  const auto wrong = pypto::Worker::Open(config);
  if (wrong.ok() || wrong.error().message().find("a9") == std::string::npos) return 2;
  auto opened = pypto::Worker::Open();
  if (!opened.ok()) return 3;
  if (!opened->Check().ok() || opened->get() == worker) return 4;
  auto options = pypto::Options::Create();
  if (!options || !options->Update("{\"runtime.stitch_function_max_num\": 3}")) return 5;
  const auto value = options->Get("runtime.stitch_function_max_num");
  if (!value || *value != "3") return 6;
  auto tensor = opened->Alloc({4, 4});
  if (!tensor || tensor->Info()->bytes != 64) return 7;
  if (opened->Alloc({0}).ok() || opened->Alloc({}).ok()) return 8;
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  float number = 0;
  if (opened->Alloc(pypto::Host(&number, nine)).ok()) return 9;
  auto rows = tensor->Rows(1, 3);
  if (!rows || !rows->Info()->is_view) return 10;
  if (!tensor->Free().ok() || rows->Upload(&number, 32).ok()) return 11;
  return opened->Close().ok() && opened->Release().ok() && !*opened ? 0 : 12;
}
