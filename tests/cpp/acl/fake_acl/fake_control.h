// Side door of the fake ACL library of these tests: what it counted, and what it shall answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fake_acl {

// One per loaded library. Tests read and change it while no call is under way.
struct Control {
  int init_calls = 0;
  int finalize_calls = 0;
  int reference_finalize_calls = 0;
  bool initialised_by_others = false;
  uint32_t device_count = 2;
  int device_code = 0;  // of aclrtSetDevice
  std::map<int32_t, int> device_sets;
  std::map<void*, std::string> live;  // handle and kind
  std::string message;                // of aclGetRecentErrMsg
  std::string last_log;
  int destroy_code = 0;  // of every destroying call, when not 0
  size_t free_bytes = 1000;
  size_t total_bytes = 5000;
  uint32_t last_magic = 0;
  uint32_t stream_flags = 0;
  uint32_t event_flags = 0;
  bool busy = false;
};

extern "C" {
using ControlFunction = Control*();  // exported as fake_acl_control
}

}  // namespace fake_acl
