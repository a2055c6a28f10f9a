// Which part of a parameter a kernel is proven to write.
#pragma once

#include <optional>
#include <vector>

#include "pypto/compile/context.h"

namespace pypto::compile {

// Cells [low, high) per dim.
struct Box {
  std::vector<ExprId> low;
  std::vector<ExprId> high;
};

// A union of boxes, joined where they touch.
class Cover {
 public:
  void Add(program::ExprPool& exprs, Box box);
  // Every cell of `shape`.
  bool Covers(program::ExprPool& exprs, const std::vector<ExprId>& shape) const;
  const std::vector<Box>& boxes() const { return boxes_; }

 private:
  std::vector<Box> boxes_;
};

// What the store writes in one execution; nothing when that cannot be said.
std::optional<Box> BoxOfStore(Context& context, const Step& step);

// What is written over all iterations when each one writes `box`; nothing when that cannot be said. Holds for affine
// starts whose step does not exceed the extent written.
std::optional<Box> BoxOverLoop(program::ExprPool& exprs, const Loop& loop, const Box& box, bool has_slots);

}  // namespace pypto::compile
