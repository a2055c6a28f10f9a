// Cells that control flow reads.
#include <algorithm>
#include <cstring>
#include <string>

#include "pypto/device/stitcher.h"

namespace pypto::device {
namespace {

using program::DType;
using program::FaultKind;

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::string ListText(const std::vector<program::ExprId>& ids, const ExprFrame& frame) {
  std::string text;
  for (const program::ExprId id : ids) text += (text.empty() ? "[" : ", ") + std::to_string(frame[id]);
  return text + "]";
}

}  // namespace

int64_t LoadCell(DType dtype, const std::byte* from) noexcept {
  switch (dtype) {
    case DType::kInt8: return Load<int8_t>(from);
    case DType::kUint8: return Load<uint8_t>(from);
    case DType::kInt16: return Load<int16_t>(from);
    case DType::kUint16: return Load<uint16_t>(from);
    case DType::kInt32: return Load<int32_t>(from);
    case DType::kUint32: return Load<uint32_t>(from);
    default: return Load<int64_t>(from);
  }
}

// A parameter may share memory with another one that is written.
bool Stitcher::IsPending(uint32_t storage) const {
  if (pending_[storage] != 0) return true;
  const auto begin_of = [this](uint32_t id) {
    return reinterpret_cast<uintptr_t>(launch_->slots()[bindings_[id].before.slot]);
  };
  const auto bytes_of = [this](uint32_t id) {
    return static_cast<uint64_t>(launch_->storage_size(id).elements) *
           program::BytesOf(executable_->plan().storages[id].dtype);
  };
  const auto is_parameter = [this](uint32_t id) {
    return executable_->plan().storages[id].tensor_class == program::TensorClass::kParameter;
  };
  if (!is_parameter(storage)) return false;
  for (const uint32_t other : pending_list_) {
    const bool overlaps = is_parameter(other) && begin_of(other) < begin_of(storage) + bytes_of(storage) &&
                          begin_of(storage) < begin_of(other) + bytes_of(other);
    if (overlaps) return true;
  }
  return false;
}

// Whether a tensor comes with the launch and stays as it is.
bool Stitcher::IsGiven(uint32_t storage) const {
  const program::Storage& described = executable_->plan().storages[storage];
  if (described.tensor_class != program::TensorClass::kParameter) return false;
  const std::vector<uint32_t>& written = executable_->written_parameters();
  return std::find(written.begin(), written.end(), static_cast<uint32_t>(described.parameter)) == written.end();
}

// The element's place in its storage; a fault when the tensor does not have it.
bool Stitcher::CheckCell(const ControlProgram& node, int64_t* element) {
  const ExprFrame& frame = launch_->frame();
  const program::CellRead& read = node.read;
  const std::string& name = executable_->plan().storages[read.storage].name;
  for (const program::ExprId start : read.non_negative) {
    if (frame[start] >= 0) continue;
    return fault_->Set(
        FaultKind::kNegativeOffset, node.place, frame[start],
        "scalar read of '" + name + "': its view starts at " + std::to_string(frame[start]) + ", before its base");
  }
  *element = frame[read.offset];
  bool overflow = false;
  for (size_t i = 0; i < read.indices.size(); ++i) {
    const int64_t index = frame[read.indices[i]];
    if (index < 0 || index >= frame[read.valid[i]]) {
      return fault_->Set(FaultKind::kReadOutside, node.place, index,
                         "scalar read of '" + name + "' at index " + ListText(read.indices, frame) +
                             ": its valid extents are " + ListText(read.valid, frame));
    }
    int64_t distance = 0;
    overflow = __builtin_mul_overflow(index, frame[read.strides[i]], &distance) || overflow;
    overflow = __builtin_add_overflow(*element, distance, element) || overflow;
  }
  const int64_t elements = launch_->storage_size(read.storage).elements;
  if (!overflow && *element >= 0 && *element < elements) return true;
  return fault_->Set(FaultKind::kReadOutside, node.place, *element,
                     "scalar read of '" + name + "' at index " + ListText(read.indices, frame) +
                         " leaves a tensor of " + std::to_string(elements) + " elements");
}

bool Stitcher::ReadCell(const ControlProgram& node, int64_t* value) {
  int64_t element = 0;
  if (!CheckCell(node, &element)) return false;
  const uint32_t storage = node.read.storage;
  if (IsPending(storage) && !Submit()) return false;
  const Place& place = bindings_[storage].before;
  const std::byte* data = place.slot == kZeroSlot ? nullptr : launch_->slots()[place.slot] + place.offset;
  const DType dtype = executable_->plan().storages[storage].dtype;
  // A tensor that nothing has written yet reads as 0.
  const auto bytes = element * static_cast<int64_t>(program::BytesOf(dtype));
  *value = data == nullptr ? 0 : LoadCell(dtype, data + bytes);
  if (data != nullptr && IsGiven(storage)) {
    store_.Note({static_cast<int64_t>(place.offset) + bytes, *value, place.slot, dtype});
  } else if (data != nullptr) {
    store_.StopRecording();  // the launch made it
  }
  const bool fits = dtype != DType::kUint64 || *value >= 0;
  return fits || fault_->Set(FaultKind::kOverflow, node.place, *value,
                             "scalar read of '" + executable_->plan().storages[storage].name + "' at index " +
                                 ListText(node.read.indices, launch_->frame()) + " exceeds 63 bits");
}

}  // namespace pypto::device
