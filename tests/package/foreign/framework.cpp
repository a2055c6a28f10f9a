// Eight threads, two workers, two programs: every result is checked. Usage: framework add.pto scale.pto
// With an interpreter inside: embedding add.pto scale.pto <python> <script>; the script runs while the pool works.
#ifdef WITH_PYTHON
#include <Python.h>
#endif

#include <atomic>
#include <cstdio>
#include <memory>
#include <pypto/pypto.hpp>
#include <vector>

#include "pool.h"

int CheckResultsPolicy(pypto_worker* worker);  // of a file that is compiled without exceptions

namespace {

constexpr int64_t kColumns = 16;
std::atomic<int> failures{0};

void Expect(bool right, const char* what) {
  if (right) return;
  failures += 1;
  std::fprintf(stderr, "failed: %s\n", what);
}

// A device of the framework: a worker with both programs and a resident bias.
struct Unit {
  Unit(const pypto::Program& add_program, const pypto::Program& scale_program, float bias_value)
      : worker(pypto::Worker::Open()),
        add(worker.Register(add_program)),
        scale(worker.Register(scale_program)),
        bias_value(bias_value) {
    std::vector<float> values(kColumns, bias_value);
    bias = worker.Alloc(pypto::Host(values.data(), {1, kColumns}));
  }
  pypto::Worker worker;
  pypto::Registration add;
  pypto::Registration scale;
  pypto::Tensor bias;
  float bias_value;
};

bool All(const std::vector<float>& values, float expected) {
  for (const float value : values) {
    if (value != expected) return false;
  }
  return true;
}

void AddTask(const Unit& unit, int number) {
  const int64_t rows = 1 + number % 40;
  std::vector<float> x(static_cast<size_t>(rows * kColumns), static_cast<float>(number));
  std::vector<float> out(x.size());
  unit.add(pypto::Host(x.data(), {rows, kColumns}), unit.bias, pypto::Host(out.data(), {rows, kColumns}));
  Expect(All(out, static_cast<float>(number) + unit.bias_value), "add");
}

void ScaleTask(const Unit& unit, int number) {
  const int64_t rows = 1 + number % 25;
  std::vector<float> x(static_cast<size_t>(rows * kColumns), static_cast<float>(number));
  std::vector<float> out(x.size());
  pypto::Completion completion =
      unit.scale.Submit({pypto::Host(x.data(), {rows, kColumns}), pypto::Host(out.data(), {rows, kColumns}), 2.0});
  if (number % 3 == 0) {
    while (!completion.Poll()) std::this_thread::yield();
  } else {
    completion.Wait();
  }
  Expect(All(out, 2.0F * static_cast<float>(number)), "scale");
}

// A tensor of its own per task: made, filled by the device, read back, dropped.
void ResidentTask(Unit& unit, int number) {
  std::vector<float> x(8 * kColumns, static_cast<float>(number));
  const pypto::Tensor in = unit.worker.Alloc(pypto::Host(x.data(), {8, kColumns}));
  const pypto::Tensor out = unit.worker.Alloc({8, kColumns});
  unit.add(in, unit.bias, out);
  out.Download(pypto::Span<float>(x));
  Expect(All(x, static_cast<float>(number) + unit.bias_value), "resident add");
}

void Task(Unit& unit, int number) {
  try {
    switch (number % 3) {
      case 0: AddTask(unit, number); break;
      case 1: ScaleTask(unit, number); break;
      default: ResidentTask(unit, number); break;
    }
  } catch (const pypto::Error& error) {
    Expect(false, error.what());
  }
}

// Leaves the destructor of the pool to finish the tasks.
void Fill(Pool& pool, std::vector<std::unique_ptr<Unit>>& units) {
  for (int number = 0; number < 600; ++number) {
    Unit& unit = *units[static_cast<size_t>(number % 2)];
    pool.Add([&unit, number] { Task(unit, number); });
  }
}

#ifdef WITH_PYTHON
// An interpreter as the virtual environment of `python` would start it, running one script.
int RunScript(const char* python, const char* script, char** argv) {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, python);
  if (!PyStatus_Exception(status)) status = PyConfig_SetBytesArgv(&config, 3, argv);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return 1;
  std::FILE* file = std::fopen(script, "rb");
  if (file == nullptr) return 1;
  const int result = PyRun_SimpleFileEx(file, script, 1);
  return Py_FinalizeEx() != 0 ? 1 : result;
}
#endif

int Run(int argc, char** argv) {
  const pypto::Program add = pypto::Program::Load(argv[1]);
  const pypto::Program scale = pypto::Program::Load(argv[2]);
  std::vector<std::unique_ptr<Unit>> units;
  units.push_back(std::make_unique<Unit>(add, scale, 0.5F));
  units.push_back(std::make_unique<Unit>(add, scale, 100.0F));
  Expect(CheckResultsPolicy(units[0]->worker.get()) == 0, "the policy of results");
  {
    Pool pool(8);
    Fill(pool, units);
#ifdef WITH_PYTHON
    if (argc != 5) return 2;
    if (pypto_global_set("foreign.mark", "42") != PYPTO_OK) return 2;
    Expect(RunScript(argv[3], argv[4], argv) == 0, "the script");
    Fill(pool, units);  // the interpreter is gone
#endif
  }
  for (const auto& unit : units) {
    const pypto_counters counters = unit->worker.Counters();
    Expect(counters.program_loads == 2, "one load per program");
    Expect(unit->worker.MemoryInfo().resident_bytes <= 4096, "nothing but the bias is left");
    unit->bias.Release();
    unit->worker.Close();
  }
  std::printf("%d failures, %d arguments\n", failures.load(), argc - 1);
  return failures.load() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    return Run(argc, argv);
  } catch (const pypto::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
