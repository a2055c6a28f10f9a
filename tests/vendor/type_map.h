// From a vendor type to ours: pointers, const, arrays and functions by rule, named types through NAMED_TYPE. A vendor
// type that nobody named does not compile.
#pragma once

#include <type_traits>

namespace conformance {

template <typename Vendor>
struct Ours;

template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_void_v<T>)
struct Ours<T> {
  using type = T;
};
template <typename T>
using OursT = typename Ours<T>::type;

template <typename T>
struct Ours<T*> {
  using type = OursT<T>*;
};
template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_void_v<T> || std::is_class_v<T> || std::is_pointer_v<T>)
struct Ours<const T> {
  using type = const OursT<T>;
};
template <typename T, size_t n>
struct Ours<T[n]> {
  using type = OursT<T>[n];
};
template <typename R, typename... A>
struct Ours<R(A...)> {
  using type = OursT<R>(OursT<A>...);
};
template <typename R, typename... A>
struct Ours<R(A..., ...)> {
  using type = OursT<R>(OursT<A>..., ...);
};

}  // namespace conformance

#define NAMED_TYPE(vendor, ours)       \
  template <>                          \
  struct conformance::Ours<::vendor> { \
    using type = pypto::acl_abi::ours; \
  }
