// Looks at an operation and at where its operands come from.
#include "pypto/device/half_results.h"

#include <algorithm>
#include <bit>

namespace pypto::device {
namespace {

bool PicksOrTurns(const OpProgram& op) {
  switch (op.kernel) {
    case simd::kElementwiseNeg:
    case simd::kElementwiseAbs:
    case simd::kElementwiseRelu:
    case simd::kElementwiseMaximum:
    case simd::kElementwiseMinimum: return true;
    default: return op.selects;
  }
}

// FP16: normal ones only.
bool IsHalf(uint32_t bits, simd::Format half) {
  if (half == simd::kBf16) return (bits & 0xffffU) == 0;
  const uint32_t exponent = (bits >> 23) & 0xffU;
  return (bits << 1) == 0 || ((bits & 0x1fffU) == 0 && exponent >= 113 && exponent <= 142);
}

bool HoldsHalves(const LeafProgram& program, const OperandProgram& operand, simd::Format half) {
  switch (operand.source) {
    case Source::kAccess: return program.accesses[operand.index].format == half;
    case Source::kLocal:
      return std::all_of(program.ops.begin(), program.ops.end(), [&](const OpProgram& op) {
        const bool writes = op.output.source == Source::kLocal && op.output.index == operand.index;
        return !writes || op.result == half;
      });
    case Source::kNumber: break;
  }
  const NumberProgram& number = program.numbers[operand.index];
  return number.kind == NumberProgram::Kind::kConstant && !number.is_double &&
         IsHalf(static_cast<uint32_t>(number.bits), half);
}

// A product of a BF16 value with a power of two of at least 1: BF16 has the exponents of FP32.
bool Doubles(const LeafProgram& program, const OpProgram& op) {
  if (op.kernel != simd::kElementwiseMul || op.result != simd::kBf16) return false;
  return std::any_of(op.inputs.begin(), op.inputs.begin() + op.input_count, [&](const OperandProgram& operand) {
    if (operand.source != Source::kNumber) return false;
    const NumberProgram& number = program.numbers[operand.index];
    const auto magnitude = static_cast<uint32_t>(number.bits) & 0x7fffffffU;
    return number.kind == NumberProgram::Kind::kConstant && !number.is_double && (magnitude & 0x7fffffU) == 0 &&
           magnitude >= std::bit_cast<uint32_t>(1.0F) && magnitude < 0x7f800000U;
  });
}

}  // namespace

bool GivesHalves(const LeafProgram& program, const OpProgram& op) {
  const bool half = op.result == simd::kF16 || op.result == simd::kBf16;
  if (!half || op.action != Action::kCompute || op.kind != simd::kKindF32) return false;
  if (!PicksOrTurns(op) && !Doubles(program, op)) return false;
  for (int i = op.selects ? 1 : 0; i < op.input_count; ++i) {
    if (!HoldsHalves(program, op.inputs[i], op.result)) return false;
  }
  return true;
}

}  // namespace pypto::device
