// The part of the DLPack 1.x ABI that reading a tensor needs: facts of the public standard, declared here.
#pragma once

#include <cstddef>
#include <cstdint>

struct _object;  // PyObject

namespace pypto::bindings::dlpack {

inline constexpr int32_t kDeviceCpu = 1;

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12,
  kFloat8E8m0fnu = 14
};

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means contiguous
  uint64_t byte_offset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* managed_tensor_allocator;
  void* managed_tensor_from_object;
  void* managed_tensor_to_object;
  // Fills a tensor that borrows from the object; non-zero and a Python error when it cannot.
  int (*tensor_from_object)(void* object, Tensor* out);
  void* current_work_stream;
};

static_assert(sizeof(Tensor) == 48 && offsetof(Tensor, shape) == 24 && offsetof(Tensor, byte_offset) == 40);
static_assert(offsetof(ExchangeApi, tensor_from_object) == 40);

}  // namespace pypto::bindings::dlpack
