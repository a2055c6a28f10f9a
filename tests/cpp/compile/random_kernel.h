// Random kernels over a few small parameters.
#pragma once

#include <random>
#include <vector>

#include "compile/kernel.h"
#include "compile/machine.h"

namespace pypto::compile::testing {

// Writes statements into a kernel; equal seeds give equal kernels.
class RandomKernel {
 public:
  RandomKernel(Kernel& kernel, uint32_t seed) : k_(kernel), random_(seed) {}

  void Build(int statements) {
    AddParameters();
    Statements(statements, 0);
  }

  // Small whole numbers, different in every cell.
  static Memory InitialMemory(uint32_t seed);
  static Bindings MakeBindings() { return {{kRows + 1}, {2}, {}}; }

  static constexpr int64_t kRows = 6;
  static constexpr int64_t kColumns = 5;
  static constexpr int64_t kInner = 4;

 private:
  struct Seen {
    TensorId id;
    std::vector<int64_t> shape;
    bool writable;
  };

  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool Chance(int percent) { return Below(100) < percent; }

  void AddParameters();
  void Statements(int count, int depth);
  void OneStatement(int depth);
  void See(TensorId id, bool writable = false);
  const Seen& Any();
  const Seen* AnyLike(const std::vector<int64_t>& shape, bool writable);
  ExprId AnyOffset(int64_t most);
  ExprId AnyCondition();
  void AddElementWise();
  void AddReduction();
  void AddMatmul();
  void AddSlice();
  void AddReshape();
  void AddTranspose();
  void AddMove();
  void AddAssemble();
  void AddDeclare();
  void AddLoop(int depth);
  void AddIf(int depth);
  void AddRead();
  void AddCount();
  void SetTiles();

  Kernel& k_;
  std::mt19937 random_;
  std::vector<Seen> seen_;
  std::vector<ExprId> indices_;  // loop indices, cells read and carried numbers: 0 to 3 or little more
  TensorId dynamic_in_ = 0;
  TensorId dynamic_out_ = 0;
  TensorId table_ = 0;   // whole numbers, only read
  TensorId counts_ = 0;  // whole numbers, written as well
  ExprId scalar_ = 0;
};

}  // namespace pypto::compile::testing
