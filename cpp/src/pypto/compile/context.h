// Working state of one compilation: the steps of the kernel in program order, its control tree, its variables, and the
// plan as it grows.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pypto/base/status.h"
#include "pypto/program/plan.h"
#include "pypto/program/program.h"

namespace pypto::compile {

using program::DType;
using program::ExprId;
using program::kNoExpr;
using program::kNoTensor;
using program::OpCode;
using program::TensorClass;
using program::TensorId;

inline constexpr uint32_t kNone = UINT32_MAX;

enum class StepKind : uint8_t {
  kOp,       // output := code(inputs), a fresh temporary
  kView,     // output is a window or another shape of inputs[0]; no work unless the views pass turns it into a copy
  kDeclare,  // output begins a new life
  kStore,    // inputs[0] is written into output: whole, or at offsets
  kRead,     // a slot takes the cell of inputs[0] at offsets; done by control flow
  kSet,      // slots take new values; done by control flow
  kCheck,    // a fault unless a condition holds; done by control flow
};

// One statement that is not control flow.
struct Step {
  StepKind kind = StepKind::kOp;
  OpCode code = OpCode::kCopy;
  bool reshape = false;    // kView: another shape rather than a window
  bool region = false;     // kStore: at offsets
  bool zero_fill = false;  // kOp, a copy: the cells that it does not write are 0
  bool live = false;       // somebody reads what it writes
  std::vector<program::Operand> inputs;
  TensorId output = kNoTensor;
  program::OpAttributes attributes;
  std::vector<ExprId> offsets;
  uint32_t slot = 0;                               // kRead
  const program::SetStatement* set = nullptr;      // kSet
  const program::CheckStatement* check = nullptr;  // kCheck
  const program::TileShapes* tiles = nullptr;      // of the program's statement; null: none in force
  program::SourcePlace place;
  ExprId guard = kNoExpr;  // of branches inside the run, and-ed
  uint32_t scope = 0;      // index into Context::scopes
  uint32_t loop = 0;       // innermost loop, index into Context::loops
  uint32_t run = 0;        // index into Context::runs

  bool IsControl() const { return kind >= StepKind::kRead; }
};

// loops[0] stands for the kernel as a whole.
struct Loop {
  uint32_t parent = 0;
  uint32_t id = 0;  // ExprOp::kLoopIndex names it
  std::string name;
  ExprId start = kNoExpr;
  ExprId stop = kNoExpr;
  ExprId step = kNoExpr;
  bool parallel = false;
  bool submit_before = false;
  uint32_t first_step = 0;
  uint32_t end_step = 0;
  std::vector<uint32_t> fresh;  // outcasts declared in its body: they begin anew with each iteration
};

// Steps that make one root function, if any of them computes something.
struct Run {
  uint32_t first_step = 0;
  uint32_t end_step = 0;
  uint32_t loop = 0;
  uint32_t root = kNone;  // index into Plan::roots
};

// A branch inside a run. scopes[0] is outside of all branches and its own parent.
struct Scope {
  uint32_t parent = 0;
  uint32_t branch = 0;  // the two sides of one `if` have the same number
};

struct Control {
  enum class Kind : uint8_t { kRun, kLoop, kIf, kStep };
  Kind kind = Kind::kRun;
  uint32_t run = 0;            // kRun
  uint32_t loop = 0;           // kLoop
  uint32_t step = 0;           // kStep: one that control flow does
  ExprId condition = kNoExpr;  // kIf
  std::vector<Control> body;   // kLoop, and kIf where the condition is not 0
  std::vector<Control> otherwise;
  program::SourcePlace place;
};

// How a tensor lies in the memory of its variable. A variable is a tensor that is not a free view.
struct View {
  TensorId variable = kNoTensor;  // kNoTensor: not resolved yet
  ExprId offset = kNoExpr;        // in elements
  std::vector<ExprId> strides;    // in elements, one per dim of the tensor
  std::vector<ExprId> non_negative;
  std::vector<ExprId> starts;  // where it begins in each dim of the variable; empty unless made of windows only
  bool whole = false;          // every cell of the variable, in row-major order
};

// What is known of a variable; index: TensorId.
struct Variable {
  bool live = false;
  bool region_written = false;
  bool several = false;          // seen by more than one run
  bool single_instance = false;  // seen by one root instance only
  uint32_t run = kNone;          // first one that sees it
  uint32_t declared_loop = kNone;
  TensorClass tensor_class = TensorClass::kRootInner;
  uint32_t storage = kNone;  // index into Plan::storages; of parameters and outcasts
};

// What a run does to one outcast; made by the emitter, read by the workspace pass.
struct OutcastUse {
  uint32_t storage = 0;
  bool reads_old = false;   // reads what an earlier instance wrote
  bool begins_new = false;  // writes it whole before anything else sees it
};

// Owned by Compile. Thread rule: one thread.
struct Context {
  explicit Context(const program::Program& traced);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  program::ExprPool& exprs() { return plan.exprs; }
  bool IsView(TensorId id) const { return tensors[id].origin == program::TensorOrigin::kView; }
  const Variable& VariableOf(TensorId id) { return variables[ViewOf(id).variable]; }
  // The memory layout of a tensor; of a variable itself when it is no free view.
  const View& ViewOf(TensorId id);
  TensorId AddTensor(program::Tensor tensor);
  // Index of a place in DebugInfo::places.
  uint32_t PlaceIndex(const program::SourcePlace& place);
  // Adds the kernel's file and line.
  base::Status At(const program::SourcePlace& place, base::Status status) const;

  const program::Program& program;
  program::Plan plan;
  program::DebugInfo debug;
  // One per tensor: the program's, and those made here. References stay good while tensors are added.
  std::deque<program::Tensor> tensors;
  std::deque<View> views;
  std::deque<Variable> variables;  // count where ViewOf(id).variable == id
  std::vector<Step> steps;
  std::vector<Loop> loops;
  std::vector<Scope> scopes;
  std::vector<Run> runs;
  std::vector<Control> control;
  std::vector<std::vector<OutcastUse>> run_uses;  // one per run
  std::vector<ExprId> inner_bytes;                // one per root function: most RootInner bytes of an instance
  std::map<std::tuple<uint32_t, int32_t, int32_t>, uint32_t> place_index;
};

// Row-major strides of a shape, as expressions.
std::vector<ExprId> RowMajorStrides(program::ExprPool& exprs, const std::vector<ExprId>& shape);
// The extents when all of them are constants.
std::vector<int64_t> StaticExtents(const program::ExprPool& exprs, const std::vector<ExprId>& shape);
// Bytes of the storages together.
ExprId SumOfBytes(program::Plan& plan, const std::vector<uint32_t>& storages);

}  // namespace pypto::compile
