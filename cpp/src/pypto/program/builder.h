// Builds a Program statement by statement; the one place where shapes, dtypes and valid extents are inferred.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pypto/program/program.h"

namespace pypto::program {

// Used by the front end while a kernel is traced, and by tests. Errors are kInvalidArgument, kTypeMismatch or
// kOutOfRange with the text of reference/frontend.md; the caller adds the source place (set with SetPlace).
// Thread rule: one thread.
class PYPTO_API Builder {
 public:
  explicit Builder(std::string name);
  // Open blocks are kept by address.
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Parameters, in signature order, before any statement. A dim is a static size, or nullopt: dynamic (a new symbol).
  // `symbol_names`: same length as dims or empty; equal non-empty names are one symbol.
  base::Result<TensorId> AddTensorParameter(const std::string& name, DType dtype,
                                            const std::vector<std::optional<int64_t>>& dims,
                                            const std::vector<std::string>& symbol_names);
  // An integer scalar is an expression; a floating one is an operand.
  base::Result<Operand> AddScalarParameter(const std::string& name, ScalarKind kind);

  void SetPlace(SourcePlace place) { place_ = place; }
  void SetTiles(TileShapes tiles) { tiles_ = std::move(tiles); }
  // Index for SourcePlace::file; the kernel's comes first.
  uint32_t AddFile(SourceFile file);

  base::Result<TensorId> Declare(const std::string& name, DType dtype, const std::vector<ExprId>& shape);
  base::Result<TensorId> Op(OpCode code, std::vector<Operand> inputs, OpAttributes attributes);
  // full/zeros: value is a number operand; attributes.dtype is the dtype.
  base::Result<TensorId> Fill(Operand value, DType dtype, const std::vector<int64_t>& shape,
                              const std::vector<ExprId>& valid);
  // Window of static extent; valid = clamp(valid of base - offset, 0, shape) unless given.
  base::Result<TensorId> Slice(TensorId base, const std::vector<int64_t>& shape, const std::vector<ExprId>& offsets,
                               const std::vector<ExprId>& valid);
  // One entry of shape may be -1.
  base::Result<TensorId> Reshape(TensorId base, const std::vector<int64_t>& shape, const std::vector<ExprId>& valid);
  // The same cells of a parameter, declared tensor or alias in another shape, which may have dynamic dims; one entry
  // may be kNoExpr: what is left.
  base::Result<TensorId> Alias(TensorId base, std::vector<ExprId> shape);
  base::Status Move(TensorId destination, TensorId source);
  base::Status Assemble(TensorId destination, TensorId source, const std::vector<ExprId>& offsets);

  // The cell of an integer tensor as a symbolic integer. Negative constants do not count from the end.
  base::Result<ExprId> ReadCell(TensorId tensor, const std::vector<ExprId>& indices);
  uint32_t AddSlot(const std::string& name, ScalarKind kind);
  base::Status SetSlots(std::vector<SlotValue> values);
  base::Status Check(ExprId condition, std::string text);

  // Opens a loop; statements go into its body until EndLoop. Returns the index expression.
  base::Result<ExprId> BeginLoop(const std::string& name, ExprId start, ExprId stop, ExprId step, bool parallel,
                                 bool submit_before);
  base::Status EndLoop();
  base::Status BeginIf(ExprId condition);
  base::Status BeginElse();
  base::Status EndIf();

  ExprPool& exprs() { return program_.exprs; }
  const Tensor& tensor(TensorId id) const { return program_.tensors[id]; }
  const Program& program() const { return program_; }
  // Verifies and hands the program over; the builder is empty afterwards. Open loops or branches: kFailedPrecondition.
  base::Result<Program> Finish();

 private:
  base::Result<TensorId> NewTensor(Tensor tensor);
  base::Status CheckTensor(TensorId id, const char* op) const;
  base::Status CheckExprs(const std::vector<ExprId>& ids, const char* op) const;
  base::Status CheckTarget(TensorId destination, TensorId source, const char* op) const;
  base::Status CheckOffsets(const std::vector<ExprId>& offsets, size_t rank, const char* op) const;
  base::Result<std::vector<ExprId>> GivenValid(const std::vector<ExprId>& valid, const std::vector<int64_t>& shape,
                                               const char* op);
  base::Result<ExprId> DimOf(const std::optional<int64_t>& dim, const std::string& symbol_name, uint32_t axis);
  void BoundLoop(uint32_t loop, ExprId start, ExprId stop, ExprId step);
  // Forgets cells that a write to the tensor, kNoTensor: anything that can be written, may change.
  void ForgetReads(TensorId written);
  // The parameter or declared tensor under an alias.
  TensorId RootOf(TensorId id) const {
    return program_.tensors[id].origin == TensorOrigin::kAlias ? program_.tensors[id].base : id;
  }
  void CloseBlock();
  Block& current() { return *open_.back(); }
  Program program_;
  SourcePlace place_;
  TileShapes tiles_;
  std::vector<Block*> open_;
  // What each open block belongs to: 'L' loop, 'T' then, 'E' else.
  std::vector<char> kinds_;  // of open blocks: loop L, loop that never runs N, branch T, other branch E
  size_t dead_ = 0;          // open loops that never run
  // Cells whose value is known to be that of a slot.
  struct KnownCell {
    TensorId tensor;
    std::vector<ExprId> indices;
    ExprId value;
    size_t depth;  // of the block that reads it
  };
  std::vector<KnownCell> known_cells_;
};

}  // namespace pypto::program
