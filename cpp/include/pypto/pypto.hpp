// The C++17 face of the C ABI: owning types, spans, errors. Header only; needs pypto/c_api.h and the standard library.
//
// How failures are told is the choice of each source file, before the first include:
//   default                      functions return their value and throw pypto::Error
//   #define PYPTO_HPP_RESULTS    functions return pypto::Result<T>, nothing throws; also without -fexceptions
// Files of both kinds may be linked together. Objects own their handle: they move, do not copy, and release it when
// they are destroyed; what a release reports then is dropped (call Close or Release to see it). Thread rule: that of
// the C ABI, except that one object must not be moved from or destroyed while another thread uses it.
#ifndef PYPTO_PYPTO_HPP_
#define PYPTO_PYPTO_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pypto/c_api.h"
#include "pypto/outcome.hpp"

namespace pypto {
inline namespace PYPTO_HPP_POLICY {

// pypto_dtype of a C++ type.
template <typename T>
constexpr pypto_dtype DTypeOf() noexcept {
  if constexpr (std::is_same_v<T, float>)
    return PYPTO_FP32;
  else if constexpr (std::is_same_v<T, int8_t>)
    return PYPTO_INT8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return PYPTO_INT16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return PYPTO_INT32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return PYPTO_INT64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return PYPTO_UINT8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return PYPTO_UINT16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return PYPTO_UINT32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return PYPTO_UINT64;
  else if constexpr (std::is_same_v<T, bool>)
    return PYPTO_BOOL;
  else
    static_assert(!sizeof(T), "no pypto_dtype is this C++ type: give the dtype as a number");
}

// Host memory with a shape of at most PYPTO_MAX_RANK dims; the memory stays the caller's.
class HostTensor {
 public:
  HostTensor(void* data, Shape shape, pypto_dtype dtype) noexcept : data_(data), dtype_(dtype) {
    // One dim too many is kept, so that the call that gets it refuses it.
    for (rank_ = 0; rank_ < shape.size() && rank_ < shape_.size(); ++rank_) shape_[rank_] = shape[rank_];
  }
  void* data() const noexcept { return data_; }
  const int64_t* shape() const noexcept { return shape_.data(); }
  size_t rank() const noexcept { return rank_; }
  pypto_dtype dtype() const noexcept { return dtype_; }

 private:
  void* data_;
  std::array<int64_t, PYPTO_MAX_RANK + 1> shape_{};
  size_t rank_ = 0;
  pypto_dtype dtype_;
};
// A const T* is only good for a parameter that the program reads.
template <typename T>
HostTensor Host(T* data, Shape shape) noexcept {
  using Element = std::remove_const_t<T>;
  return {const_cast<Element*>(data), shape, DTypeOf<Element>()};
}

class Argument;

// A compiled program, immutable.
class Program : public detail::Owner<pypto_program, pypto_program_release> {
 public:
  using Owner::Owner;
  static Outcome<Program> Load(const std::string& path) {
    pypto_program* made = nullptr;
    const pypto_status status = pypto_program_load(path.c_str(), &made);
    return detail::Finish(status, Program(made));
  }
  static Outcome<Program> Load(const void* data, size_t bytes) {
    pypto_program* made = nullptr;
    const pypto_status status = pypto_program_load_bytes(data, bytes, &made);
    return detail::Finish(status, Program(made));
  }
  // Out of a device binary that another compiler built.
  static Outcome<Program> FromBinary(const pypto_device_binary& binary, Span<const pypto_parameter> parameters) {
    pypto_program* made = nullptr;
    const pypto_status status = pypto_program_from_binary(&binary, parameters.data(), parameters.size(), &made);
    return detail::Finish(status, Program(made));
  }
  Done Save(const std::string& path) const { return detail::Finish(pypto_program_save(get(), path.c_str())); }
  Outcome<pypto_program_info> Info() const {
    pypto_program_info info = PYPTO_STRUCT(pypto_program_info);
    const pypto_status status = pypto_program_get_info(get(), &info);
    return detail::Finish(status, info);
  }
  Outcome<pypto_parameter> Parameter(size_t index) const {
    pypto_parameter parameter = PYPTO_STRUCT(pypto_parameter);
    const pypto_status status = pypto_program_get_parameter(get(), index, &parameter);
    return detail::Finish(status, parameter);
  }
  Outcome<std::string> Text() const {
    const char* text = "";
    const pypto_status status = pypto_program_get_text(get(), &text);
    return detail::Finish(status, std::string(text));
  }
  Outcome<pypto_budget> Budget(Span<const pypto_named_value> values = {}) const {
    pypto_budget budget = PYPTO_STRUCT(pypto_budget);
    const pypto_status status =
        pypto_program_get_budget(get(), values.data(), values.size(), &budget, nullptr, 0, nullptr);
    return detail::Finish(status, budget);
  }
  // Launches on this thread's current worker of the program's platform.
  Done Run(Span<const Argument> arguments) const;
};

// A tensor that stays on a worker. The memory goes with the last handle of the base and its views.
class Tensor : public detail::Owner<pypto_tensor, pypto_tensor_release> {
 public:
  using Owner::Owner;
  Outcome<pypto_tensor_info> Info() const {
    pypto_tensor_info info = PYPTO_STRUCT(pypto_tensor_info);
    const pypto_status status = pypto_tensor_get_info(get(), &info);
    return detail::Finish(status, info);
  }
  // Rows [begin, end) of the first dim; shares the memory.
  Outcome<Tensor> Rows(int64_t begin, int64_t end) const {
    pypto_tensor* made = nullptr;
    const pypto_status status = pypto_tensor_view_rows(get(), begin, end, &made);
    return detail::Finish(status, Tensor(made));
  }
  Done Upload(const void* source, size_t bytes) { return detail::Finish(pypto_tensor_upload(get(), source, bytes)); }
  Done Download(void* destination, size_t bytes) const {
    return detail::Finish(pypto_tensor_download(get(), destination, bytes));
  }
  template <typename T>
  Done Upload(Span<T> source) {
    return Upload(source.data(), source.size() * sizeof(T));
  }
  template <typename T>
  Done Download(Span<T> destination) const {
    return Download(destination.data(), destination.size() * sizeof(T));
  }
  // Frees the memory at once, which kills views; the object stays, dead.
  Done Free() { return detail::Finish(pypto_tensor_free(get())); }
};

// One argument of a launch: a Tensor, a HostTensor, a number. Refers to what it was made of.
class Argument {
 public:
  Argument(const Tensor& tensor) noexcept {
    raw_.kind = PYPTO_ARGUMENT_TENSOR;
    raw_.value.tensor = tensor.get();
  }
  Argument(const HostTensor& host) noexcept {
    raw_.kind = PYPTO_ARGUMENT_HOST;
    raw_.dtype = static_cast<uint32_t>(host.dtype());
    raw_.rank = static_cast<uint32_t>(host.rank());
    raw_.value.data = host.data();
    raw_.shape = host.shape();
  }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Argument(T number) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      raw_.kind = PYPTO_ARGUMENT_FLOAT;
      raw_.value.float_value = static_cast<double>(number);
    } else {
      raw_.kind = PYPTO_ARGUMENT_INT;
      raw_.value.int_value = static_cast<int64_t>(number);
    }
  }

  static const pypto_argument* Raw(Span<const Argument> arguments) noexcept {
    return reinterpret_cast<const pypto_argument*>(arguments.data());
  }

 private:
  pypto_argument raw_{};
};
static_assert(sizeof(Argument) == sizeof(pypto_argument), "a list of Arguments is a list of pypto_arguments");

inline Done Program::Run(Span<const Argument> arguments) const {
  return detail::Finish(pypto_program_run(get(), Argument::Raw(arguments), arguments.size(), nullptr));
}

// A submitted launch; destroying an unfinished one waits for it.
class Completion : public detail::Owner<pypto_completion, pypto_completion_release> {
 public:
  using Owner::Owner;
  Done Wait(int64_t timeout_ms = PYPTO_FOREVER) { return detail::Finish(pypto_completion_wait(get(), timeout_ms)); }
  // Looks at the device; never blocks.
  Outcome<bool> Poll() {
    int32_t done = 0;
    const pypto_status status = pypto_completion_poll(get(), &done);
    return detail::Finish(status, done != 0);
  }
};

// A program loaded on a worker: call it to launch and wait.
class Registration : public detail::Owner<pypto_registration, pypto_registration_release> {
 public:
  using Owner::Owner;
  // Dispatches with all parameters in order: registration(x, weight, out).
  template <typename... Arguments>
  Done operator()(const Arguments&... arguments) const {
    const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
    return Launch(list);
  }
  Done Launch(Span<const Argument> arguments, const pypto_launch_options* options = nullptr) const {
    return detail::Finish(pypto_registration_launch(get(), Raw(arguments), arguments.size(), options));
  }
  // The same, and where the time went.
  Outcome<pypto_times> LaunchTimed(Span<const Argument> arguments) const {
    pypto_times times = PYPTO_STRUCT(pypto_times);
    pypto_launch_options options = PYPTO_STRUCT(pypto_launch_options);
    options.times = &times;
    const pypto_status status = pypto_registration_launch(get(), Raw(arguments), arguments.size(), &options);
    return detail::Finish(status, times);
  }
  // Host outputs are written by Wait, Poll or the destructor of the completion.
  Outcome<Completion> Submit(Span<const Argument> arguments) const {
    pypto_completion* made = nullptr;
    const pypto_status status = pypto_registration_submit(get(), Raw(arguments), arguments.size(), nullptr, &made);
    return detail::Finish(status, Completion(made));
  }
  // Rounds after warmup launches, aggregated.
  Outcome<pypto_benchmark> Benchmark(Span<const Argument> arguments, uint32_t rounds = 100, uint32_t warmup = 3) const {
    pypto_benchmark stats = PYPTO_STRUCT(pypto_benchmark);
    const pypto_status status =
        pypto_registration_benchmark(get(), Raw(arguments), arguments.size(), rounds, warmup, nullptr, nullptr, &stats);
    return detail::Finish(status, stats);
  }
  // Dispatches once with every leaf timed; see pypto_registration_profile.
  Outcome<std::vector<pypto_profile_line>> Profile(Span<const Argument> arguments,
                                                   pypto_profile* totals = nullptr) const {
    std::vector<pypto_profile_line> lines(256);
    size_t count = 0;
    pypto_profile profile = PYPTO_STRUCT(pypto_profile);
    const pypto_status status = pypto_registration_profile(get(), Raw(arguments), arguments.size(), nullptr, nullptr,
                                                           &profile, lines.data(), lines.size(), &count);
    if (count < lines.size()) lines.resize(count);
    if (totals != nullptr) *totals = profile;
    return detail::Finish(status, std::move(lines));
  }
  Outcome<pypto_workspace_report> Report() const {
    pypto_workspace_report report = PYPTO_STRUCT(pypto_workspace_report);
    const pypto_status status = pypto_registration_get_report(get(), &report);
    return detail::Finish(status, report);
  }
  Done Unregister() { return detail::Finish(pypto_registration_unregister(get())); }

 private:
  static const pypto_argument* Raw(Span<const Argument> arguments) noexcept { return Argument::Raw(arguments); }
};

struct WorkerConfig {
  std::string platform = "a2a3sim";
  int32_t device_id = 0;
  int64_t timeout_ms = 0;         // of every wait; 0: for ever
  std::string mock_library_path;  // empty: the one beside the library
};

// One device, one stream, its memory and its programs.
class Worker : public detail::Owner<pypto_worker, pypto_worker_release> {
 public:
  using Owner::Owner;
  static Outcome<Worker> Open(const WorkerConfig& config = {}) {
    pypto_worker_config raw = PYPTO_STRUCT(pypto_worker_config);
    raw.platform = config.platform.c_str();
    raw.device_id = config.device_id;
    raw.timeout_ms = config.timeout_ms;
    raw.mock_library_path = config.mock_library_path.empty() ? nullptr : config.mock_library_path.c_str();
    pypto_worker* made = nullptr;
    const pypto_status status = pypto_worker_open(&raw, &made);
    return detail::Finish(status, Worker(made));
  }
  Done Close() { return detail::Finish(pypto_worker_close(get())); }
  Done Init() { return detail::Finish(pypto_worker_init(get())); }
  Done Check() const { return detail::Finish(pypto_worker_check(get())); }
  Done Synchronize(int64_t timeout_ms = PYPTO_FOREVER) {
    return detail::Finish(pypto_worker_synchronize(get(), timeout_ms));
  }
  Done Trim() { return detail::Finish(pypto_worker_trim(get())); }

  Outcome<Registration> Register(const Program& program) {
    pypto_registration* made = nullptr;
    const pypto_status status = pypto_worker_register(get(), program.get(), &made);
    return detail::Finish(status, Registration(made));
  }
  // Launches without a registration of one's own: registers if needed, and keeps that until the worker is closed.
  Done Run(const Program& program, Span<const Argument> arguments) {
    return detail::Finish(pypto_worker_run(get(), program.get(), Argument::Raw(arguments), arguments.size(), nullptr));
  }
  Outcome<Tensor> Alloc(Shape shape, pypto_dtype dtype = PYPTO_FP32) {
    pypto_tensor* made = nullptr;
    const pypto_status status = pypto_tensor_alloc(get(), dtype, shape.data(), shape.size(), nullptr, &made);
    return detail::Finish(status, Tensor(made));
  }
  // Uploads once.
  Outcome<Tensor> Alloc(const HostTensor& init) {
    pypto_tensor* made = nullptr;
    const pypto_status status = pypto_tensor_alloc(get(), init.dtype(), init.shape(), init.rank(), init.data(), &made);
    return detail::Finish(status, Tensor(made));
  }

  Outcome<uint64_t> Malloc(int64_t bytes) {
    uint64_t address = 0;
    const pypto_status status = pypto_worker_malloc(get(), bytes, &address);
    return detail::Finish(status, address);
  }
  Done Free(uint64_t address) { return detail::Finish(pypto_worker_free(get(), address)); }
  Done CopyTo(uint64_t destination, const void* source, int64_t bytes) {
    return detail::Finish(pypto_worker_copy_to(get(), destination, source, bytes));
  }
  Done CopyFrom(void* destination, uint64_t source, int64_t bytes) {
    return detail::Finish(pypto_worker_copy_from(get(), destination, source, bytes));
  }

  Outcome<pypto_worker_info> Info() const {
    pypto_worker_info info = PYPTO_STRUCT(pypto_worker_info);
    const pypto_status status = pypto_worker_get_info(get(), &info);
    return detail::Finish(status, info);
  }
  Outcome<pypto_counters> Counters() const {
    pypto_counters counters = PYPTO_STRUCT(pypto_counters);
    const pypto_status status = pypto_worker_get_counters(get(), &counters);
    return detail::Finish(status, counters);
  }
  Outcome<pypto_memory_info> MemoryInfo() const {
    pypto_memory_info info = PYPTO_STRUCT(pypto_memory_info);
    const pypto_status status = pypto_worker_get_memory_info(get(), &info);
    return detail::Finish(status, info);
  }
};

// Makes a worker current in this thread for the life of the object, for Program::Run. The worker outlives
// it.
class CurrentWorker {
 public:
  explicit CurrentWorker(Worker& worker) : worker_(worker.get()), status_(pypto_worker_enter(worker_)) {
#if !defined(PYPTO_HPP_RESULTS)
    detail::Finish(status_);
#endif
  }
  CurrentWorker(const CurrentWorker&) = delete;
  CurrentWorker& operator=(const CurrentWorker&) = delete;
  ~CurrentWorker() {
    if (status_ == PYPTO_OK) static_cast<void>(pypto_worker_leave(worker_));
  }
  // Not PYPTO_OK when one of the same platform and device was current already.
  pypto_status status() const noexcept { return status_; }

 private:
  pypto_worker* worker_;
  pypto_status status_;
};

// A scope of option values, as JSON.
class Options : public detail::Owner<pypto_options, pypto_options_release> {
 public:
  using Owner::Owner;
  static Outcome<Options> Create(const std::string& defaults_path = {}) {
    pypto_options* made = nullptr;
    const pypto_status status = pypto_options_create(defaults_path.empty() ? nullptr : defaults_path.c_str(), &made);
    return detail::Finish(status, Options(made));
  }
  Outcome<Options> Child(const std::string& name) const {
    pypto_options* made = nullptr;
    const pypto_status status = pypto_options_child(get(), name.c_str(), &made);
    return detail::Finish(status, Options(made));
  }
  Done Update(const std::string& json) { return detail::Finish(pypto_options_update(get(), json.c_str())); }
  Outcome<std::string> Get(const std::string& key) const {
    std::string text;
    size_t needed = 0;
    pypto_status status = pypto_options_get(get(), key.c_str(), nullptr, 0, &needed);
    if (status == PYPTO_OK) {
      text.resize(needed);
      status = pypto_options_get(get(), key.c_str(), text.data(), needed, nullptr);
      text.resize(needed - 1);
    }
    return detail::Finish(status, std::move(text));
  }
};

}  // namespace PYPTO_HPP_POLICY
}  // namespace pypto

#undef PYPTO_HPP_POLICY

#endif  // PYPTO_PYPTO_HPP_
