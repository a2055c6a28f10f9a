// Random kernels over a few small parameters.
#include "compile/random_kernel.h"

#include <algorithm>

namespace pypto::compile::testing {

void RandomKernel::AddParameters() {
  constexpr int64_t kN = kRows;
  constexpr int64_t kM = kColumns;
  const std::vector<Kernel::Dims> read_only = {{kN, kM}, {kN, 1}, {kM}, {kM, kInner}, {1, kM}};
  const std::vector<Kernel::Dims> written = {{kN, kM}, {kN, kM}, {2 * kN, kM}, {kN, kInner}};
  int number = 0;
  for (const Kernel::Dims& dims : read_only) See(k_.Param("in" + std::to_string(number++), dims));
  for (const Kernel::Dims& dims : written) See(k_.Param("io" + std::to_string(number++), dims), true);
  dynamic_in_ = k_.Param("dynamic_in", {kDynamic, kM}, DType::kFp32, {"B", ""});
  dynamic_out_ = k_.Param("dynamic_out", {kDynamic, kM}, DType::kFp32, {"B", ""});
  table_ = k_.Param("table", {2, kInner}, DType::kInt32);
  counts_ = k_.Param("counts", {kInner}, DType::kInt32);
  scalar_ = k_.Int("s");
}

Memory RandomKernel::InitialMemory(uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<int64_t> counts = {kRows * kColumns,
                                       kRows,
                                       kColumns,
                                       kColumns * kInner,
                                       kColumns,
                                       kRows * kColumns,
                                       kRows * kColumns,
                                       2 * kRows * kColumns,
                                       kRows * kInner,
                                       (kRows + 1) * kColumns,
                                       (kRows + 1) * kColumns};
  Memory memory;
  for (const int64_t count : counts) {
    std::vector<double>& cells = memory.emplace_back();
    for (int64_t i = 0; i < count; ++i) cells.push_back(std::uniform_int_distribution<int>(-9, 9)(random) + 0.25);
  }
  for (const int64_t count : {2 * kInner, kInner}) {
    std::vector<double>& cells = memory.emplace_back();
    for (int64_t i = 0; i < count; ++i) cells.push_back(std::uniform_int_distribution<int>(0, 3)(random));
  }
  return memory;
}

void RandomKernel::See(TensorId id, bool writable) {
  std::vector<int64_t> shape;
  for (const ExprId dim : k_.builder.tensor(id).shape) shape.push_back(*k_.exprs().ConstantValue(dim));
  seen_.push_back({id, std::move(shape), writable});
}

// New tensors more often than old ones: chains grow.
const RandomKernel::Seen& RandomKernel::Any() {
  const int count = static_cast<int>(seen_.size());
  const int window = Chance(60) ? std::min(count, 6) : count;
  return seen_[static_cast<size_t>(count - 1 - Below(window))];
}

const RandomKernel::Seen* RandomKernel::AnyLike(const std::vector<int64_t>& shape, bool writable) {
  std::vector<const Seen*> fit;
  for (const Seen& seen : seen_) {
    if (seen.shape == shape && (!writable || seen.writable)) fit.push_back(&seen);
  }
  return fit.empty() ? nullptr : fit[static_cast<size_t>(Below(static_cast<int>(fit.size())))];
}

ExprId RandomKernel::AnyOffset(int64_t most) {
  if (!indices_.empty() && Chance(60)) {
    const ExprId index = indices_[static_cast<size_t>(Below(static_cast<int>(indices_.size())))];
    return Chance(70) ? index : k_.exprs().Add(index, k_.C(1));
  }
  if (Chance(10)) return scalar_;
  return k_.C(Below(static_cast<int>(most) + 1));
}

ExprId RandomKernel::AnyCondition() {
  const ExprId left = !indices_.empty() && Chance(70) ? indices_.back() : scalar_;
  return *k_.exprs().Make(program::ExprOp::kLt, left, k_.C(Below(4)));
}

void RandomKernel::Statements(int count, int depth) {
  for (int i = 0; i < count; ++i) OneStatement(depth);
}

void RandomKernel::OneStatement(int depth) {
  const int choice = Below(108);
  if (choice >= 104) {
    AddCount();
  } else if (choice >= 100) {
    AddRead();
  } else if (choice < 34) {
    AddElementWise();
  } else if (choice < 40) {
    AddReduction();
  } else if (choice < 45) {
    AddMatmul();
  } else if (choice < 55) {
    AddSlice();
  } else if (choice < 58) {
    AddReshape();
  } else if (choice < 61) {
    AddTranspose();
  } else if (choice < 70) {
    AddMove();
  } else if (choice < 81) {
    AddAssemble();
  } else if (choice < 86) {
    AddDeclare();
  } else if (choice < 90) {
    SetTiles();
  } else if (depth < 3) {
    Chance(60) ? AddLoop(depth) : AddIf(depth);
  }
}

void RandomKernel::AddElementWise() {
  const Seen a = Any();
  switch (Below(6)) {
    case 0: See(k_.Neg(a.id)); return;
    case 1: See(k_.Mul(a.id, 0.5)); return;
    case 2: See(k_.Full(Below(9), a.shape)); return;
    default: break;
  }
  for (int attempt = 0; attempt < 6; ++attempt) {
    const Seen b = Any();
    bool fits = true;
    for (size_t back = 1; back <= std::min(a.shape.size(), b.shape.size()); ++back) {
      const int64_t x = a.shape[a.shape.size() - back];
      const int64_t y = b.shape[b.shape.size() - back];
      fits = fits && (x == y || x == 1 || y == 1);
    }
    if (!fits) continue;
    const OpCode code = std::array{OpCode::kAdd, OpCode::kSub, OpCode::kMaximum}[static_cast<size_t>(Below(3))];
    See(k_.Op(code, {Kernel::T(a.id), Kernel::T(b.id)}));
    return;
  }
}

void RandomKernel::AddReduction() {
  const Seen a = Any();
  const int axis = Below(static_cast<int>(a.shape.size()));
  See(k_.Reduce(Chance(50) ? OpCode::kSum : OpCode::kAmax, a.id, axis, Chance(70)));
}

void RandomKernel::AddMatmul() {
  const Seen a = Any();
  for (int attempt = 0; attempt < 8 && a.shape.size() == 2; ++attempt) {
    const Seen b = Any();
    if (b.shape.size() != 2) continue;
    const bool a_trans = Chance(30);
    const bool b_trans = Chance(30);
    if (a.shape[a_trans ? 0 : 1] != b.shape[b_trans ? 1 : 0]) continue;
    See(k_.Mul(k_.Matmul(a.id, b.id, a_trans, b_trans), 0.125));
    return;
  }
}

void RandomKernel::AddSlice() {
  if (Chance(20)) {
    See(k_.Slice(dynamic_in_, {2, kColumns}, {AnyOffset(kRows), k_.C(0)}));
    return;
  }
  const Seen a = Any();
  std::vector<int64_t> shape;
  std::vector<ExprId> offsets;
  for (const int64_t extent : a.shape) {
    const bool whole = Chance(40);
    shape.push_back(whole ? extent : Below(static_cast<int>(extent)) + 1);
    offsets.push_back(whole ? k_.C(0) : AnyOffset(extent - shape.back()));
  }
  See(k_.Slice(a.id, shape, offsets));
}

void RandomKernel::AddReshape() {
  const Seen a = Any();
  // Only what is fully valid reshapes into anything.
  if (k_.builder.tensor(a.id).valid != k_.builder.tensor(a.id).shape) return;
  int64_t count = 1;
  for (const int64_t extent : a.shape) count *= extent;
  switch (Below(3)) {
    case 0: See(k_.Reshape(a.id, {count})); break;
    case 1: See(k_.Reshape(a.id, {count, 1})); break;
    default: {
      std::vector<int64_t> shape = a.shape;
      if (shape.size() < 4) shape.insert(shape.begin() + Below(static_cast<int>(shape.size()) + 1), 1);
      See(k_.Reshape(a.id, shape));
    }
  }
}

void RandomKernel::AddTranspose() {
  const Seen a = Any();
  if (a.shape.size() == 2) See(k_.Transpose(a.id, 0, 1));
}

void RandomKernel::AddMove() {
  const Seen from = Any();
  const Seen* to = AnyLike(from.shape, true);
  if (to != nullptr) k_.Move(to->id, from.id);
}

void RandomKernel::AddAssemble() {
  const Seen from = Any();
  if (from.shape.size() == 2 && from.shape[1] == kColumns && Chance(20)) {
    k_.Assemble(dynamic_out_, from.id, {AnyOffset(kRows), k_.C(0)});
    return;
  }
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Seen to = Any();
    if (!to.writable || to.shape.size() != from.shape.size()) continue;
    std::vector<ExprId> offsets;
    for (size_t i = 0; i < to.shape.size(); ++i) {
      offsets.push_back(to.shape[i] > from.shape[i] ? AnyOffset(to.shape[i] - from.shape[i]) : k_.C(0));
    }
    k_.Assemble(to.id, from.id, offsets);
    return;
  }
}

void RandomKernel::AddDeclare() {
  const Seen like = Any();
  const TensorId declared = k_.Declare("declared" + std::to_string(seen_.size()), like.shape);
  if (Chance(80)) k_.Move(declared, like.id);
  See(declared, true);
}

void RandomKernel::AddLoop(int depth) {
  const size_t seen = seen_.size();
  const int start = Below(3);
  // The scalar is 2: some loops run to a bound that is not known, some of those not at all.
  const ExprId stop = Chance(25) ? k_.exprs().Add(scalar_, k_.C(Below(4) - 1)) : k_.C(start + 1 + Below(4));
  const size_t indices = indices_.size();
  const bool carries = Chance(30);
  const uint32_t slot = carries ? k_.builder.AddSlot("carried", program::ScalarKind::kInt) : 0;
  if (carries) k_.Set(slot, indices_.empty() ? k_.C(Below(3)) : indices_.back());
  k_.LoopOver(k_.C(start), stop, 1 + Below(2), [&](ExprId index) {
    indices_.push_back(index);
    if (carries) indices_.push_back(*k_.exprs().Make(program::ExprOp::kMax, k_.exprs().Slot(slot), k_.C(0)));
    Statements(2 + Below(7), depth + 1);
    if (carries) {
      const ExprId next = k_.exprs().Add(k_.exprs().Slot(slot), k_.C(1));
      k_.Set(slot, *k_.exprs().Make(program::ExprOp::kMod, next, k_.C(4)));
    }
    indices_.resize(indices);
  });
  if (carries) indices_.push_back(*k_.exprs().Make(program::ExprOp::kMax, k_.exprs().Slot(slot), k_.C(0)));
  seen_.resize(seen);
}

void RandomKernel::AddIf(int depth) {
  const size_t seen = seen_.size();
  const size_t indices = indices_.size();
  const auto body = [&] {
    Statements(1 + Below(4), depth + 1);
    seen_.resize(seen);
    indices_.resize(indices);
  };
  k_.If(AnyCondition(), body, Chance(60) ? std::function<void()>(body) : nullptr);
}

void RandomKernel::AddRead() {
  const ExprId column = indices_.empty() || Chance(40)
                            ? k_.C(Below(static_cast<int>(kInner)))
                            : *k_.exprs().Make(program::ExprOp::kMod, indices_.back(), k_.C(kInner));
  indices_.push_back(Chance(40) ? k_.Read(table_, {k_.C(Below(2)), column}) : k_.Read(counts_, {column}));
}

void RandomKernel::AddCount() {
  const TensorId value = k_.FillInt(
      indices_.empty() ? k_.C(Below(4)) : *k_.exprs().Make(program::ExprOp::kMod, indices_.back(), k_.C(4)), {1});
  k_.Assemble(counts_, value, {k_.C(Below(static_cast<int>(kInner)))});
}

void RandomKernel::SetTiles() {
  std::vector<int64_t> tile;
  for (int i = Below(4); i > 0; --i) tile.push_back(1 + Below(6));
  k_.VectorTile(tile);
  k_.CubeTile(Below(4), Below(4), Below(4));
}

}  // namespace pypto::compile::testing
