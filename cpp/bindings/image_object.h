// What Python holds of a traced and of a compiled program: `_core.Program` and `_core.CompiledImage`. Other binding
// files take them as arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "pypto/program/image.h"
#include "pypto/program/program.h"

namespace pypto::bindings {

// Immutable once made. Any thread.
class TracedProgram {
 public:
  explicit TracedProgram(program::Program traced) : program_(std::make_unique<program::Program>(std::move(traced))) {}
  const program::Program& program() const noexcept { return *program_; }

 private:
  std::unique_ptr<program::Program> program_;
};

// Immutable; shares the image with every worker that has registered it. Any thread.
class CompiledImage {
 public:
  explicit CompiledImage(std::shared_ptr<const program::Image> image) : image_(std::move(image)) {}
  const program::Image& image() const noexcept { return *image_; }
  const std::shared_ptr<const program::Image>& pointer() const noexcept { return image_; }

 private:
  std::shared_ptr<const program::Image> image_;
};

std::vector<std::string> NamesOf(const std::vector<program::SourceFile>& files);

// One dict per device binary of the image.
nanobind::list BinariesOf(const program::Image& image);

}  // namespace pypto::bindings
